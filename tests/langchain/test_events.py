"""`astream_events` tells what LangChain's tells: the same events, in the same order, with the same data.

What LangChain tells was recorded, and so was each line in which hocket tells otherwise (`tests.langchain.events`): a
program that is not in that file is told alike, and one that is differs in these lines and in no other. Why it does is
listed here, and in docs/departures.md.
"""

import pytest

from tests.langchain.events import OTHERWISE, TOLD, compare, record
from tests.langchain.programs import PROGRAMS, make_names

make_names("hocket")  # now: imports look at the disk, which has no place in a loop

REASONS = {
    "the start of a first step, of a branch or of what is streamed in a function has its input": {
        "two_lambdas",
        "three_lambdas",
        "pick",
        "branch",
        "branch_default",
        "rag",
        "lambda_returns_chain",
        "nested_names",
        "metadata_inherited",
        "tool_in_chain",
        "lambda_with_a_dict",
    },
    "errors are events": {"lambda_fails", "chain_fails", "model_fails", "retriever_fails"},
    "errors are events, a start has its input, and the pieces of a step with fallbacks are told": {
        "fallbacks",
        "fallback_model",
    },
    "a piece is handed on before the next work begins, and the first start has its input": {"chain_pick"},
    "the pieces of a text model are told": {"text_model", "text_model_plain", "text_chain"},
    "a run with attempts is a run": {"retry", "retried_step"},
    "an input is that of its own run, also behind a filter": {"include_types", "include_names", "include_tags"},
    "a model that has streamed ends with a chunk, whichever verb had it stream": {"model_asked_to_stream"},
    "watching a model does not make it stream": {"model_in_lambda"},
    "a run may be ahead of its reader by a few pieces": {"model_streamed_in_lambda", "chain_streamed_in_lambda"},
    "numbers of partial JSON are shown when they are finished": {"model_json"},
    "an item of a list is shown when its line has ended": {"numbered_list"},
    "a model that cannot stream gives one chunk": {"tools_model", "model_generates"},
    "no chunk is made up": {"unmarked_chunks"},
    "a map can be watched": {"map_one"},
    "the config that a tool gets is its own run's": {"tool_with_a_custom_event", "model_streamed_in_tool"},
    "a history is one run, without steps of its own": {"history"},
}


@pytest.mark.parametrize("name", list(PROGRAMS))
async def test_the_same_is_told_but_for_what_is_listed(name: str) -> None:
    assert compare(TOLD[name], await record(name, "hocket")) == OTHERWISE.get(name, [])


def test_every_program_that_is_told_otherwise_has_its_reason() -> None:
    """And one reason: a program whose lines are gone is taken off the list."""
    listed = [name for names in REASONS.values() for name in sorted(names)]
    assert sorted(listed) == sorted(OTHERWISE)


def test_fifty_programs_are_told_alike() -> None:
    assert list(TOLD) == list(PROGRAMS)
    assert len(PROGRAMS) - len(OTHERWISE) >= 50
