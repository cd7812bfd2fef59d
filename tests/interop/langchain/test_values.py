"""Messages, prompt values, results and documents: there and back is where they were."""

from typing import Any
from uuid import uuid4

import langchain_core.documents as lc_documents
import langchain_core.messages as lc
import langchain_core.outputs as lc_outputs
import langchain_core.prompt_values as lc_prompts
import pytest
from hypothesis import given, strategies as st

from hocket import messages as own, outputs, prompt_values
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.interop.langchain import from_langchain, to_langchain

CALL = {"name": "add", "args": {"a": 1, "b": [2]}, "id": "c1", "type": "tool_call"}
USAGE = {"input_tokens": 3, "output_tokens": 2, "total_tokens": 5, "input_token_details": {"cache_read": 1}}
BLOCKS = [{"type": "text", "text": "a picture"}, {"type": "image", "url": "https://x/y.png"}, "loose"]


def make_messages(room: Any) -> list[Any]:
    """Return messages of every kind, of hocket or of LangChain: their constructors take the same."""
    return [
        room.HumanMessage("hi"),
        room.HumanMessage("hi", id="m1"),
        room.HumanMessage(BLOCKS, name="ann", additional_kwargs={"k": {"deep": [1]}}),
        room.SystemMessage("be brief"),
        room.AIMessage("said", usage_metadata=USAGE, response_metadata={"model_name": "m", "finish_reason": "stop"}),
        room.AIMessage("", tool_calls=[CALL], invalid_tool_calls=[
            {"name": "f", "args": "{", "id": "c2", "error": "cut", "type": "invalid_tool_call"}
        ]),
        room.AIMessage(content=[{"type": "reasoning", "reasoning": "hm"}, {"type": "text", "text": "so"}]),
        room.ToolMessage("3", tool_call_id="c1", artifact={"raw": 3}, status="error"),
        room.ChatMessage("order!", role="chair"),
        room.RemoveMessage(id="m1"),
        room.HumanMessage("with extras", mood="good", nested={"a": [1]}),
        room.HumanMessageChunk("h"),
        room.SystemMessageChunk("s"),
        room.ToolMessageChunk("t", tool_call_id="c1"),
        room.ChatMessageChunk("c", role="chair"),
        room.AIMessageChunk("a"),
        room.AIMessageChunk("", usage_metadata=USAGE, chunk_position="last", id="run"),
        room.AIMessageChunk("", tool_call_chunks=[{"name": "add", "args": '{"a": 1', "id": "c1", "index": 0,
                                                   "type": "tool_call_chunk"}]),
        room.AIMessageChunk("", tool_call_chunks=[{"name": None, "args": "nonsense", "id": None, "index": 0,
                                                   "type": "tool_call_chunk"}]),
        room.AIMessageChunk("", tool_calls=[CALL]),
        room.AIMessageChunk("a", more="extra") + room.AIMessageChunk("b", response_metadata={"finish_reason": "stop"}),
    ]  # fmt: skip


@pytest.mark.parametrize("message", make_messages(own), ids=lambda one: f"{type(one).__name__}")
def test_a_message_of_hockets_comes_back_equal(message: own.BaseMessage) -> None:
    there = to_langchain(message)
    assert type(there).__name__ == type(message).__name__
    assert isinstance(there, lc.BaseMessage)
    assert from_langchain(there) == message


@pytest.mark.parametrize("message", make_messages(lc), ids=lambda one: f"{type(one).__name__}")
def test_a_message_of_langchains_comes_back_equal(message: lc.BaseMessage) -> None:
    ours = from_langchain(message)
    assert type(ours).__name__ == type(message).__name__
    assert isinstance(ours, own.BaseMessage)
    back = to_langchain(ours)
    assert back == message
    if not getattr(message, "tool_call_chunks", None):  # LangChain assigns what it reads off them
        assert back.model_fields_set == message.model_fields_set
    assert back.model_dump() == message.model_dump()


@pytest.mark.parametrize("ours,theirs", [*zip(make_messages(own), make_messages(lc), strict=True)][:-1])
def test_a_message_is_what_the_other_library_would_have_made(ours: own.BaseMessage, theirs: lc.BaseMessage) -> None:
    """No field is left unset by the conversion, which does not validate. (A sum in LangChain drops extras.)"""
    made = to_langchain(ours)
    assert set(vars(made)) == set(vars(theirs))
    assert (made.content, made.text, made.id, made.type) == (theirs.content, theirs.text, theirs.id, theirs.type)
    assert lc.message_to_dict(made)["data"].keys() == lc.message_to_dict(theirs)["data"].keys()
    assert own.dump_message(from_langchain(theirs)) == own.dump_message(from_langchain(to_langchain(ours)))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
)


@given(
    st.text() | st.lists(st.text() | st.fixed_dictionaries({"type": st.just("text"), "text": st.text()})),
    st.dictionaries(st.text(), JSON),
    st.none() | st.text(),
)
def test_whatever_a_message_says_it_comes_back(content: Any, kwargs: dict[str, Any], id: str | None) -> None:
    for message in (own.HumanMessage(content, additional_kwargs=kwargs, id=id), own.AIMessage(content, id=id)):
        assert from_langchain(to_langchain(message)) == message


@given(st.lists(st.text(alphabet='{}"a:1, '), max_size=4))
def test_a_chunks_calls_are_those_that_its_library_reads(pieces: list[str]) -> None:
    """Sums go on in either library."""
    chunks = [
        own.AIMessageChunk("", tool_call_chunks=[{"name": "f" if not index else None, "args": piece, "id": None,
                                                  "index": 0, "type": "tool_call_chunk"}])
        for index, piece in enumerate(pieces)
    ]  # fmt: skip
    total = own.AIMessageChunk("")
    for chunk in chunks:
        assert to_langchain(chunk) == lc.AIMessageChunk(content="", tool_call_chunks=chunk.tool_call_chunks)
        total = total + chunk
    assert from_langchain(to_langchain(total)) == total
    made = to_langchain(total)
    assert made.tool_calls == lc.AIMessageChunk(content="", tool_call_chunks=made.tool_call_chunks).tool_calls


def test_nothing_is_shared() -> None:
    message = own.HumanMessage([{"type": "text", "text": "a"}], additional_kwargs={"k": [1]})
    there = to_langchain(message)
    there.content[0]["text"] = "b"
    there.additional_kwargs["k"].append(2)
    assert message.content == [{"type": "text", "text": "a"}]
    assert message.additional_kwargs == {"k": [1]}
    theirs = lc.AIMessage("", tool_calls=[CALL])
    ours = from_langchain(theirs)
    ours.tool_calls[0]["args"]["a"] = 7
    assert theirs.tool_calls[0]["args"]["a"] == 1


def test_a_message_of_a_users_class_is_its_bases() -> None:
    class Question(own.HumanMessage, init=False):
        weight: int = 1

    class Answer(lc.AIMessage):
        source: str = "book"

    there = to_langchain(Question("why?", weight=3))
    assert type(there) is lc.HumanMessage
    assert there.model_extra == {"weight": 3}
    ours = from_langchain(Answer("because"))
    assert type(ours) is own.AIMessage
    assert ours.model_extra == {"source": "book"}


@pytest.mark.parametrize(
    "value",
    [
        prompt_values.StringPromptValue(text="q"),
        prompt_values.ChatPromptValue(messages=[own.SystemMessage("s"), own.HumanMessage("q", mood="good")]),
        prompt_values.ChatPromptValueConcrete(messages=[own.HumanMessage("q")]),
        prompt_values.ImagePromptValue(image_url={"url": "https://x/y.png", "detail": "low"}),
        outputs.Generation(text="a", generation_info={"finish_reason": "stop"}),
        outputs.GenerationChunk(text="a"),
        outputs.ChatGeneration(message=own.AIMessage("a"), generation_info={"logprobs": [1]}),
        outputs.ChatGenerationChunk(message=own.AIMessageChunk("a")),
        outputs.ChatResult(
            generations=[outputs.ChatGeneration(message=own.AIMessage("a"))], llm_output={"token_usage": {"x": 1}}
        ),
        outputs.LLMResult(
            generations=[[outputs.ChatGeneration(message=own.AIMessage("a"))], [outputs.Generation(text="b")]],
            llm_output={"model_name": "m"},
            run=[outputs.RunInfo(run_id=uuid4()), outputs.RunInfo(run_id=uuid4())],
        ),
        Document("page", metadata={"source": "a.txt", "deep": {"x": [1]}}, id="d1"),
    ],
    ids=lambda one: type(one).__name__,
)
def test_other_values_come_back_equal(value: Any) -> None:
    there = to_langchain(value)
    assert type(there).__name__ == type(value).__name__
    assert type(there).__module__.startswith("langchain_core.")
    assert from_langchain(there) == value
    assert to_langchain(from_langchain(there)) == there
    if hasattr(value, "run"):
        assert from_langchain(there).run == value.run


def test_a_candidate_has_its_text() -> None:
    made = to_langchain(outputs.ChatGeneration(message=own.AIMessage([{"type": "text", "text": "a"}])))
    assert made.text == "a"
    assert made == lc_outputs.ChatGeneration(message=lc.AIMessage([{"type": "text", "text": "a"}]))


def test_lists_and_tuples_are_converted_element_by_element() -> None:
    there = to_langchain([own.HumanMessage("a"), (Document("p"), [own.AIMessage("b")])])
    assert there == [lc.HumanMessage("a"), (lc_documents.Document("p"), [lc.AIMessage("b")])]
    assert from_langchain(there) == [own.HumanMessage("a"), (Document("p"), [own.AIMessage("b")])]
    assert to_langchain([]) == []


@pytest.mark.parametrize("nonsense", ["text", None, 3, {"role": "user"}, object(), b"x", {own.HumanMessage}])
def test_what_has_no_other_form_is_refused_by_its_type(nonsense: object) -> None:
    for convert in (to_langchain, from_langchain):
        with pytest.raises(InvalidInput, match=type(nonsense).__name__):
            convert([nonsense])


def test_what_is_there_already_is_said_to_be() -> None:
    with pytest.raises(InvalidInput, match=r"HumanMessage cannot .* it is LangChain's already"):
        to_langchain(lc.HumanMessage("a"))
    with pytest.raises(InvalidInput, match="it is hocket's already"):
        from_langchain(own.HumanMessage("a"))


def test_a_message_of_no_known_kind_is_refused() -> None:
    class Shout(lc.BaseMessage):
        type: str = "shout"

    with pytest.raises(InvalidInput, match="Shout"):
        from_langchain(Shout(content="a"))


def test_what_is_nested_too_deep_is_refused() -> None:
    deep: Any = []
    for _ in range(200):
        deep = [deep]
    with pytest.raises(InvalidInput, match="deep"):
        from_langchain(lc.HumanMessage("a", additional_kwargs={"k": deep}))


def test_prompt_values_of_a_users_class_become_their_messages() -> None:
    class Own(lc_prompts.PromptValue):
        def to_string(self) -> str:
            return "q"

        def to_messages(self) -> list[lc.BaseMessage]:
            return [lc.HumanMessage("q")]

    assert from_langchain(Own()) == prompt_values.ChatPromptValue(messages=[own.HumanMessage("q")])
