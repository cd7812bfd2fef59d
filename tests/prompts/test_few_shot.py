"""Prompts with examples in them."""

import threading
from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.load import dumpd, load
from hocket.messages import AIMessage, HumanMessage
from hocket.prompts import (
    BaseExampleSelector,
    ChatPromptTemplate,
    FewShotChatMessagePromptTemplate,
    FewShotPromptTemplate,
    LengthBasedExampleSelector,
    PromptTemplate,
)

EXAMPLES = [{"q": "1+1", "a": "2"}, {"q": "{x}", "a": "}{"}]
EXAMPLE = PromptTemplate.from_template("{q} = {a}")
EXCHANGE = ChatPromptTemplate([("human", "{q}"), ("ai", "{a}")])


class Threaded(BaseExampleSelector):
    """A selector that may block: notes the thread in which it chose, and for what."""

    def __init__(self) -> None:
        self.threads: list[int] = []
        self.asked: list[dict[str, Any]] = []

    def add_example(self, example: dict[str, str]) -> None:
        self.threads.append(threading.get_ident())

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        self.threads.append(threading.get_ident())
        self.asked.append(input_variables)
        return EXAMPLES[:1]


def few(**kwargs: Any) -> FewShotPromptTemplate:
    """Return a prompt with a prefix, examples and a suffix."""
    return FewShotPromptTemplate(example_prompt=EXAMPLE, prefix="{task}:", suffix="{q} =", **kwargs)


def test_examples_stand_between_prefix_and_suffix() -> None:
    """As they are: braces in an example, or in a value, are braces."""
    prompt = few(examples=EXAMPLES, example_separator="\n")
    assert prompt.input_variables == ["q", "task"]
    assert prompt.format(task="Add {up}", q="2+2") == "Add {up}:\n1+1 = 2\n{x} = }{\n2+2 ="
    assert prompt.partial(task="t").invoke({"q": "x"}).to_string() == "t:\n1+1 = 2\n{x} = }{\nx ="


def test_an_empty_prefix_leaves_no_gap() -> None:
    """Separators stand between pieces that are there."""
    prompt = FewShotPromptTemplate(example_prompt=EXAMPLE, suffix="?", examples=[])
    assert prompt.format() == "?"
    assert "{q} = {a}" in prompt.pretty_repr()


def test_examples_as_messages() -> None:
    """In the middle of a chat prompt, whose values are not theirs."""
    middle = FewShotChatMessagePromptTemplate(examples=EXAMPLES, example_prompt=EXCHANGE)
    prompt = ChatPromptTemplate([middle, "{q}"])
    assert prompt.input_variables == ["q"]
    assert prompt.format_messages(q="?") == [
        HumanMessage("1+1"),
        AIMessage("2"),
        HumanMessage("{x}"),
        AIMessage("}{"),
        HumanMessage("?"),
    ]


async def test_a_selector_that_may_block_runs_in_a_thread_under_a_loop() -> None:
    """And only there: the prompt itself never leaves the loop's thread."""
    selector = Threaded()
    middle = FewShotChatMessagePromptTemplate(example_selector=selector, example_prompt=EXCHANGE, input_variables=["q"])
    prompt = ChatPromptTemplate([middle, "{q}"])
    value = await prompt.ainvoke({"q": "?"})

    assert [message.text for message in value.to_messages()] == ["1+1", "2", "?"]
    assert (await few(example_selector=selector).ainvoke({"task": "t", "q": "?"})).to_string().startswith("t:")
    await selector.aadd_example({})
    assert threading.get_ident() not in selector.threads
    assert selector.asked[0] == {"q": "?"}


def test_a_selector_runs_in_the_callers_thread_under_a_sync_verb() -> None:
    """Thread-bound objects just work."""
    selector = Threaded()
    few(example_selector=selector).invoke({"task": "t", "q": "?"})
    FewShotChatMessagePromptTemplate(example_selector=selector, example_prompt=EXCHANGE).format_messages()
    assert set(selector.threads) == {threading.get_ident()}


async def test_as_many_examples_as_fit() -> None:
    """Beside the values of the call, in words or in what is asked for."""
    selector = LengthBasedExampleSelector(examples=[EXAMPLES[0]], example_prompt=EXAMPLE, max_length=7)
    await selector.aadd_example(EXAMPLES[1])
    assert selector.select_examples({"q": "one"}) == EXAMPLES
    assert await selector.aselect_examples({"q": "one two"}) == EXAMPLES[:1]
    assert selector.select_examples({"q": "1 2 3 4 5", "n": 6}) == []  # type: ignore[dict-item]
    letters = LengthBasedExampleSelector(
        examples=EXAMPLES, example_prompt=EXAMPLE, get_text_length=len, max_length=len("1+1 = 2")
    )
    assert letters.select_examples({}) == EXAMPLES[:1]


@pytest.mark.parametrize("source", [{}, {"examples": [], "example_selector": Threaded()}])
def test_examples_come_from_one_place(source: dict[str, Any]) -> None:
    """Neither none nor two."""
    with pytest.raises(InvalidInput, match="one of the two"):
        few(**source)


def test_an_example_without_a_value_is_named() -> None:
    """As a call without one is."""
    with pytest.raises(InvalidInput, match="no value for 'a'"):
        few(examples=[{"q": "x"}]).format(task="t", q="?")


@pytest.mark.parametrize(
    "prompt",
    [
        few(examples=EXAMPLES),
        FewShotChatMessagePromptTemplate(examples=EXAMPLES, example_prompt=EXCHANGE),
        few(example_selector=LengthBasedExampleSelector(examples=EXAMPLES, example_prompt=EXAMPLE)),
    ],
    ids=["text", "chat", "by length"],
)
def test_examples_travel_as_data(prompt: Any) -> None:
    """With the prompt."""
    assert load(dumpd(prompt)) == prompt
