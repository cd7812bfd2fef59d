"""Prompts that are conversations."""

from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage
from hocket.prompt_values import ChatPromptValue
from hocket.prompts import (
    AIMessagePromptTemplate,
    ChatMessagePromptTemplate,
    ChatPromptTemplate,
    DictPromptTemplate,
    HumanMessagePromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
    SystemMessagePromptTemplate,
)

made = ChatPromptTemplate.from_messages
human = HumanMessagePromptTemplate.from_template


@pytest.mark.parametrize(
    ("written", "message"),
    [
        ("Hi {x}", HumanMessage("Hi 1")),
        (("human", "Hi {x}"), HumanMessage("Hi 1")),
        (("user", "Hi {x}"), HumanMessage("Hi 1")),
        (("ai", "Hi {x}"), AIMessage("Hi 1")),
        (("assistant", "Hi {x}"), AIMessage("Hi 1")),
        (("system", "Hi {x}"), SystemMessage("Hi 1")),
        (["system", "Hi {x}"], SystemMessage("Hi 1")),
        ({"role": "ai", "content": "Hi {x}"}, AIMessage("Hi 1")),
        ((AIMessage, "Hi {x}"), AIMessage("Hi 1")),
        ((SystemMessagePromptTemplate, "Hi {x}"), SystemMessage("Hi 1")),
        (HumanMessage("Hi {x}"), HumanMessage("Hi {x}")),
        (human("Hi {x}"), HumanMessage("Hi 1")),
        (AIMessagePromptTemplate(prompt=PromptTemplate.from_template("{x}")), AIMessage("1")),
        (ChatMessagePromptTemplate.from_template("{x}", role="judge"), ChatMessage("1", role="judge")),
        (made([("ai", "Hi {x}")]), AIMessage("Hi 1")),
        (human("{x}", additional_kwargs={"k": 1}), HumanMessage("1", additional_kwargs={"k": 1})),
        (("human", ["{x}"]), HumanMessage([{"type": "text", "text": "1"}])),
    ],
)
def test_messages_are_written_in_many_ways(written: Any, message: BaseMessage) -> None:
    """Each alone, and behind another."""
    assert made([written]).format_messages(x=1) == [message]
    assert made(["a", written]).invoke({"x": 1}) == ChatPromptValue(messages=[HumanMessage("a"), message])


@pytest.mark.parametrize(
    "written",
    [
        ("judge", "x"),
        ("human", 1),
        ("human", [1]),
        ("human",),
        ("a", "b", "c"),
        {"role": "human"},
        1,
        None,
        ("placeholder", "history"),
        ("placeholder", ["{history}"]),
        ("placeholder", ["{history}", "yes"]),
        ("human", "{x.y}"),
        ("human", [{"type": "text", "text": "x", "cache": "{x[0]}"}]),
        ("human", [{"type": "image_url", "image_url": {"path": "{path}"}}]),
        (1, "x"),
    ],
)
def test_what_is_no_message_is_refused(written: Any) -> None:
    """When the prompt is made."""
    with pytest.raises(InvalidInput):
        made([written])


def test_parts_of_content_are_templates() -> None:
    """Texts, images and any other block, however deep; keys are not, and an empty text is left out."""
    prompt = made(
        [
            (
                "human",
                [
                    "What is {this}?",
                    {"type": "text", "text": "{nothing}"},
                    {"type": "image_url", "image_url": "{url}"},
                    {"type": "image_url", "image_url": {"url": "data:image/png;base64,{data}", "detail": "low"}},
                    {"type": "file", "{key}": [{"id": "{id}"}, "{id}", 1, None]},
                ],
            )
        ]
    )
    assert prompt.input_variables == ["data", "id", "nothing", "this", "url"]
    values = {"this": "{it}", "nothing": "", "url": "http://x/{y}", "data": "aGk=", "id": 7}
    assert prompt.format_messages(**values)[0].content == [
        {"type": "text", "text": "What is {it}?"},
        {"type": "image_url", "image_url": {"url": "http://x/{y}"}},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,aGk=", "detail": "low"}},
        {"type": "file", "{key}": [{"id": "7"}, "7", 1, None]},
    ]


def test_a_block_alone_is_a_prompt() -> None:
    """It needs its values, too."""
    block = DictPromptTemplate(template={"text": "{a}"})
    assert block.invoke({"a": 1}) == {"text": "1"}
    with pytest.raises(InvalidInput, match="no value for a"):
        block.invoke({})


@pytest.mark.parametrize(
    ("place", "values", "texts"),
    [
        (MessagesPlaceholder("past"), {"past": [("human", "{a}"), AIMessage("b")]}, ["{a}", "b"]),
        (MessagesPlaceholder("past", n_messages=1), {"past": ["a", "b"]}, ["b"]),
        (MessagesPlaceholder("past", optional=True), {}, []),
        (MessagesPlaceholder("past", optional=True), {"past": ("a",)}, ["a"]),
        (("placeholder", "{past}"), {}, []),
        (("placeholder", ["{past}", False]), {"past": []}, []),
    ],
)
def test_messages_may_be_given_by_the_call(place: Any, values: dict[str, Any], texts: list[str]) -> None:
    """All or the last; or none, where the place is optional."""
    assert [message.text for message in made([place]).format_messages(**values)] == texts


@pytest.mark.parametrize("value", ["text", None, HumanMessage("x"), {"role": "human"}])
def test_what_is_no_list_of_messages_is_refused(value: Any) -> None:
    """By name; and a place that is not optional needs a value."""
    with pytest.raises(InvalidInput, match="past"):
        made([MessagesPlaceholder("past")]).format_messages(past=value)
    with pytest.raises(InvalidInput, match="past"):
        made([MessagesPlaceholder("past")]).format_messages()
    for error in (InvalidInput, KeyError):
        with pytest.raises(error, match="past"):
            MessagesPlaceholder("past").format_messages()


def test_prompts_add_up() -> None:
    """With all that a prompt is made of, on either side."""
    prompt: Any = SystemMessage("s") + human("{a}") + "{b}" + MessagesPlaceholder("c") + [("ai", "{d}")] + made(["{e}"])
    assert prompt.input_variables == ["a", "b", "c", "d", "e"]
    texts = [message.text for message in prompt.format_messages(a=1, b=2, c=["3"], d=4, e=5)]
    assert texts == ["s", "1", "2", "3", "4", "5"]
    assert [message.text for message in ("x" + made(["y"])).format_messages()] == ["x", "y"]


def test_a_prompt_is_a_list_of_its_messages() -> None:
    """Appended to, extended, cut; its variables follow, and what was given beforehand stays."""
    prompt = made([("system", "{a}")]).partial(a=1)
    prompt.append("{b}")
    prompt.extend([("ai", "{c}"), ("placeholder", "{d}")])

    assert len(prompt) == 4
    assert prompt.input_variables == ["b", "c"]
    assert prompt.optional_variables == ["d"]
    assert prompt[0] == SystemMessagePromptTemplate.from_template("{a}")
    assert prompt[1:3].input_variables == ["b", "c"]
    assert prompt[:1].format_messages() == [SystemMessage("1")]
    assert len(prompt[:1] + prompt[1:]) == len(prompt)


def test_prompts_derived_from_one_do_not_change_it() -> None:
    """Nor does it change them."""
    prompt = made(["{a}"])
    longer, cut, filled = prompt + "{b}", prompt[:], prompt.partial(a=1)
    prompt.append("{c}")
    assert (longer.input_variables, cut.input_variables, filled.input_variables) == (["a", "b"], ["a"], [])
    assert len(filled) == 1


def test_missing_values_are_named_once_for_all_messages() -> None:
    """Before any message is made."""
    with pytest.raises(InvalidInput, match="no value for 'a', 'b'; given: nothing"):
        made([("system", "{a}"), "{b}"]).invoke({})


def test_variables_are_checked_on_request() -> None:
    """Against what the messages say."""
    assert ChatPromptTemplate(["{a}"], input_variables=["a"], validate_template=True).input_variables == ["a"]
    with pytest.raises(InvalidInput, match="input_variables"):
        ChatPromptTemplate(["{a}"], input_variables=["b"], validate_template=True)


def test_a_template_of_one_message() -> None:
    """The user's; as text, with its role."""
    assert ChatPromptTemplate.from_template("Hi {x}").format(x=1) == "Human: Hi 1"
    assert ChatPromptTemplate(["{{ x }}"], template_format="jinja2").format_messages(x=1) == [HumanMessage("1")]


def test_a_prompt_can_be_read() -> None:
    """With its variables in braces, whatever they would be."""
    shown = made([("system", "{a:.2f}"), MessagesPlaceholder("past"), ("human", ["{b}", {"image_url": "{c}"}])])
    for text in ("System Message", "{a:.2f}", "Messages Placeholder", "{past}", "{b}", "{c}"):
        assert text in shown.pretty_repr()


@given(st.text(), st.lists(st.text()))
def test_values_and_given_messages_are_never_read_as_templates(value: str, past: list[str]) -> None:
    """A stranger's text comes out as it went in, in texts, blocks and given messages."""
    prompt = made([MessagesPlaceholder("past"), ("system", "{x}"), ("human", [{"type": "t", "deep": ["{x}"]}])])
    *given_messages, text, block = prompt.format_messages(x=value, past=past)
    assert [message.content for message in given_messages] == past
    assert text.content == value
    assert block.content == [{"type": "t", "deep": [value]}]
