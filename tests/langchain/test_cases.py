"""Small expressions come to the same with hocket's names as with LangChain's.

What LangChain's come to was written down (`tests.langchain.cases`). Each difference has its reason here, and in
docs/departures.md.
"""

# ruff: noqa: E501  # a case stands in one line

import json
from typing import Any

import pytest

from tests.langchain.cases import FILE, evaluate

WRITTEN: dict[str, Any] = json.loads(FILE.read_text())

# The beginning of a case: why it comes to something else.
DIFFERENT = {
    "messages: (C('', usage_metadata=U) + C('', usage_metadata=U))": "a running total is recognised, and the last counts",
    "messages: convert_to_messages([3])": "what is no message is InvalidInput, a ValueError",
    "messages: H([{'type': 'image_url', 'image_url': {'url': 'https://u'}}]).content_blocks": "no id is made up when one looks",
    "prompts: FewShotPromptWithTemplates": "variables are found in the prompts, and need not be listed",
    "parsers: JsonOutputParser().parse('1. a": "text after the value is refused",
    "parsers: JsonOutputToolsParser(first_tool_only=True).invoke(A(''))": "the first of no calls is None",
    **{
        f"parsers: {kind}OutputParser().get_format_instructions()": "instructions are hocket's own words"
        for kind in ("CommaSeparatedList", "MarkdownList", "NumberedList", "Json")
    },
    "tools: convert_to_openai_tool(add_tool)": "a tool refuses arguments that it does not know, and its schema says so",
    "tools: convert_to_openai_tool(add)": "a tool refuses arguments that it does not know, and its schema says so",
    "tools: indented.description": "a docstring is told without its indentation",
    "runnables: lam(lambda x: (y for y in [x, x])).invoke": "an iterator that a function returns is its output in pieces",
    "runnables: list(lam(lambda x: (y for y in [x, x])).stream": "an iterator that a function returns is its output in pieces",
    "runnables: list(RunnableGenerator(lambda it": "a function that returns an iterator will do",
    "models: model('a').bind_tools": "fakes can be given tools",
    "models: model('a').with_structured_output": "fakes can be given a schema",
    "OpenAI's blocks: convert_to_openai_data_block({'type': 'file', 'base64'": "no name is made up for a file",
    "OpenAI's blocks: convert_to_openai_data_block({'type': 'image', 'url': 'https://u', 'detail'": "detail is kept",
    "runs: [name for mixin in": "the third version of events is left out",
}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """What hocket's come to."""
    return evaluate("hocket")


def find_reason(case: str) -> str | None:
    """Return why a case may differ."""
    return next((reason for start, reason in DIFFERENT.items() if case.startswith(start)), None)


@pytest.mark.parametrize("case", [case for case in WRITTEN if find_reason(case) is None])
def test_a_case_comes_to_the_same(case: str, found: dict[str, Any]) -> None:
    assert found[case] == WRITTEN[case]


@pytest.mark.parametrize("start", DIFFERENT)
def test_a_reason_is_needed(start: str, found: dict[str, Any]) -> None:
    cases = [case for case in WRITTEN if case.startswith(start)]
    assert cases and all(found[case] != WRITTEN[case] for case in cases)


def test_five_hundred_cases_are_compared() -> None:
    assert len(WRITTEN) >= 550
