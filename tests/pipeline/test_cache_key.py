"""Cache keys: what changes the answer changes the key, what does not does not, and no key is ever right by accident."""

import copy
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import ConfigDict, Field, SecretBytes, SecretStr

from hocket._pipeline.cache_key import prompt_key
from hocket.language_models import BaseChatModel, FakeListChatModel, FakeListLLM
from hocket.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.outputs import ChatGeneration, ChatResult

CALL = {"name": "f", "args": {"x": 1, "y": [2]}, "id": "call_1", "type": "tool_call"}
BROKEN = {"name": "f", "args": "{", "id": "call_1", "error": None, "type": "invalid_tool_call"}
IMAGE = {"type": "image", "url": "https://example.org/a.png"}


class Provider(BaseChatModel):
    """A model with a field of every kind."""

    model_config = ConfigDict(arbitrary_types_allowed=True)

    model: str = "m"
    temperature: float | None = None
    api_key: SecretStr | None = None
    client: Any = None
    counter: int = Field(default=0, exclude=True)

    def _generate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        return ChatResult(generations=[ChatGeneration(message=AIMessage("hi"))])

    @property
    def _llm_type(self) -> str:
        return "provider"


class Other(Provider):
    """The same under another name."""


def key(stop: list[str] | None = None, /, model: BaseChatModel | None = None, **kwargs: Any) -> str:
    """Return the key of a call: everything but the conversation."""
    return (model or Provider())._get_llm_string(stop, **kwargs)


# -- conversations

DIFFERENT: list[Any] = [
    [HumanMessage("hi")],
    [HumanMessage("hi ")],
    [HumanMessage("")],
    [SystemMessage("hi")],
    [AIMessage("hi")],
    [ChatMessage("hi", role="user")],
    [ChatMessage("hi", role="critic")],
    [HumanMessage("hi", name="bob")],
    [HumanMessage("hi", name="eve")],
    [HumanMessage("hi", additional_kwargs={"a": 1})],
    [HumanMessage("hi", additional_kwargs={"a": 2})],
    [HumanMessage("hi", cache_control="x")],
    [HumanMessage("hi"), HumanMessage("hi")],
    [HumanMessage("hihi")],
    [HumanMessage("hi"), AIMessage("hi")],
    [HumanMessage(["hi"])],
    [HumanMessage(["h", "i"])],
    [HumanMessage([{"type": "text", "text": "hi"}])],
    [HumanMessage([{"type": "text", "text": "hi"}, IMAGE])],
    [HumanMessage([IMAGE, {"type": "text", "text": "hi"}])],
    [AIMessage("hi", tool_calls=[CALL])],
    [AIMessage("hi", tool_calls=[{**CALL, "args": {"x": 2, "y": [2]}}])],
    [AIMessage("hi", tool_calls=[{**CALL, "name": "g"}])],
    [AIMessage("hi", tool_calls=[{**CALL, "id": "call_2"}])],
    [AIMessage("hi", tool_calls=[CALL, CALL])],
    [AIMessage("hi", invalid_tool_calls=[BROKEN])],
    [AIMessage("hi", invalid_tool_calls=[{**BROKEN, "args": "{]"}])],
    [ToolMessage("hi", tool_call_id="1")],
    [ToolMessage("hi", tool_call_id="2")],
    [ToolMessage("hi", tool_call_id="1", status="error")],
    [HumanMessage('hi"},{"human","x')],
    [HumanMessage("human"), HumanMessage("hi")],
    [HumanMessage("\ud800")],
    [HumanMessage("\ud801")],
]


def test_different_conversations_have_different_keys() -> None:
    """Class, content, name, extras, tool calls, status, order, and where one message ends and the next begins."""
    assert len({prompt_key(messages) for messages in DIFFERENT}) == len(DIFFERENT)


def test_equal_conversations_have_equal_keys() -> None:
    """Made anew, they are the same."""
    for messages in DIFFERENT:
        assert prompt_key(copy.deepcopy(messages)) == prompt_key(messages)


SAME: list[tuple[BaseMessage, BaseMessage]] = [
    (HumanMessage("hi"), HumanMessage("hi", id="1")),
    (AIMessage("hi", id="1"), AIMessage("hi", id="2")),
    (AIMessage("hi"), AIMessage("hi", response_metadata={"model_name": "m"})),
    (
        AIMessage("hi"),
        AIMessage("hi", usage_metadata={"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}),
    ),
    (ToolMessage("hi", tool_call_id="1"), ToolMessage("hi", tool_call_id="1", artifact=object())),
    (
        HumanMessage([{"type": "text", "text": "hi"}], additional_kwargs={"a": 1, "b": {"c": 1, "d": 2}}),
        HumanMessage([{"text": "hi", "type": "text"}], additional_kwargs={"b": {"d": 2, "c": 1}, "a": 1}),
    ),
    (
        AIMessage("hi", tool_calls=[CALL]),
        AIMessage("hi", tool_calls=[dict(reversed(CALL.items()))]),
    ),
]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_what_a_model_is_not_told_does_not_matter(one: BaseMessage, other: BaseMessage) -> None:
    """Ids, usage, response metadata, artifacts, the order of keys."""
    assert prompt_key([one]) == prompt_key([other])


text = st.text(max_size=8)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | text,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(text, inner, max_size=3),
    max_leaves=8,
)
messages = st.builds(
    lambda cls, content, name, extra: cls(content, name=name, additional_kwargs=extra),
    st.sampled_from([HumanMessage, AIMessage, SystemMessage]),
    text,
    st.none() | text,
    st.dictionaries(text, json_values, max_size=2),
)


def written(value: Any) -> str:
    """Tell values apart as JSON does: 1, 1.0 and true are three things."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{name!r}:{written(item)}" for name, item in sorted(value.items())) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(written, value)) + "]"
    return repr(value)


@given(st.lists(messages, max_size=3), st.lists(messages, max_size=3))
def test_keys_are_equal_when_and_only_when_conversations_are(one: list[Any], other: list[Any]) -> None:
    """Of any two conversations."""

    def told(conversation: list[Any]) -> str:
        return written([[m.type, m.content, m.name, m.additional_kwargs] for m in conversation])

    assert (prompt_key(one) == prompt_key(other)) == (told(one) == told(other))


@given(json_values, json_values)
def test_keys_are_equal_when_and_only_when_arguments_are(one: Any, other: Any) -> None:
    """Of any two values that JSON can say."""
    assert (key(argument=one) == key(argument=other)) == (written(one) == written(other))


@given(st.dictionaries(text, json_values, min_size=2))
def test_the_order_of_arguments_does_not_matter(arguments: dict[str, Any]) -> None:
    """On no level."""

    def turned(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: turned(item) for name, item in reversed(value.items())}
        return [turned(item) for item in value] if isinstance(value, list) else value

    assert key(options=arguments) == key(options=turned(arguments))


# -- models


def test_everything_that_changes_the_answer_changes_the_key() -> None:
    """Model class, its fields, stop words, the call's own arguments, tools."""
    tool = {"type": "function", "function": {"name": "f", "parameters": {}}}
    keys = [
        key(),
        key(model=Other()),
        key(model=Provider(model="n")),
        key(model=Provider(temperature=0)),
        key(model=Provider(temperature=1)),
        key(["x"]),
        key(["x", "y"]),
        key([]),
        key(temperature=0),
        key(temperature="0"),
        key(temperature=False),
        key(tools=[tool]),
        key(tools=[tool, tool]),
        key(tools=[{**tool, "strict": True}]),
        key(tool_choice="any"),
        key(n=2),
        key(model=FakeListChatModel(responses=["a"])),
        key(model=FakeListChatModel(responses=["b"])),
        FakeListLLM(responses=["a"])._get_llm_string(),
    ]
    assert len(set(keys)) == len(keys)


def test_a_field_that_is_changed_after_a_call_counts_at_the_next() -> None:
    """The key that is kept is of the state before."""
    model = Provider(temperature=0)
    before = key(model=model)
    model.temperature = 1.0
    assert key(model=model) != before
    model.temperature = 0.0
    assert key(model=model) == before


def test_what_is_left_out_of_a_models_dump_does_not_count() -> None:
    """Nor what is not the provider's: cache, callbacks, tags, how it streams."""
    assert key(model=Provider(counter=1)) == key(model=Provider(counter=2))
    assert key(model=Provider(cache=False, tags=["a"], metadata={"a": 1}, disable_streaming=True)) == key()


def test_namesakes_made_by_a_function_are_two_models() -> None:
    """Their code may differ, which nobody can see from outside."""

    def make() -> BaseChatModel:
        class Local(Provider):
            pass

        return Local()

    one, other = make(), make()
    assert key(model=one) != key(model=other)
    assert key(model=one) == key(model=one)
    assert key(model=one) == key(model=type(one)())


def test_extra_fields_count() -> None:
    """Of a model that allows them."""

    class Open(Provider):
        model_config = ConfigDict(extra="allow")

    assert key(model=Open(top_k=1)) != key(model=Open(top_k=2))  # type: ignore[call-arg]


def test_secrets_do_not_count_and_cannot_be_found_in_keys() -> None:
    """Another key to the same account gives the same answers; a hash does not tell what went in."""
    canary = "sk-canary-1234567890"
    keys = {key(model=Provider(api_key=SecretStr(secret))) for secret in (canary, "other")}
    keys |= {key(secret=SecretBytes(b"x")), key(secret=SecretBytes(b"y"))}
    assert len(keys) == 2
    for made in (*keys, key(api_key=canary), prompt_key([HumanMessage(canary)])):
        assert canary not in made
        assert len(made) == 32
        int(made, 16)
