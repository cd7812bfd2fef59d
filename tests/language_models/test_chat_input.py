"""What a chat model takes as input, and how it comes to the hook."""

from collections.abc import Callable
from typing import Any

import anyio.to_thread
import pytest

from hocket import (
    BaseMessage,
    ChatOpenAI,
    ChatPromptValue,
    FakeListLLM,
    HumanMessage,
    StringPromptValue,
    SystemMessage,
)
from hocket.errors import InvalidInput
from tests.kit import HookCall, hook_model


def inputs_of(model: Any) -> list[list[BaseMessage]]:
    """Return what the hook was asked."""
    return [call.input for call in model.requests]


BRIEF = SystemMessage("Be brief.")
HI = HumanMessage("hi")


@pytest.mark.parametrize(
    ("given", "heard"),
    [
        ("hi", [HI]),
        ("", [HumanMessage("")]),
        (StringPromptValue(text="hi"), [HI]),
        (ChatPromptValue(messages=[BRIEF, HI]), [BRIEF, HI]),
        ([BRIEF, HI], [BRIEF, HI]),
        ((BRIEF, HI), [BRIEF, HI]),
        ([("system", "Be brief."), ("human", "hi")], [BRIEF, HI]),
        ([("system", "Be brief."), "hi"], [BRIEF, HI]),
        ([{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}], [BRIEF, HI]),
    ],
    ids=repr,
)
async def test_an_input_becomes_messages(given: Any, heard: list[BaseMessage]) -> None:
    """BCM-19, BLM-02: a text, a prompt value, or a sequence of message-likes in any of their forms; every verb alike."""
    model = hook_model()
    await model.ainvoke(given)
    [chunk async for chunk in model.astream(given)]
    await model.abatch([given])
    assert inputs_of(model) == [heard, heard, heard]


@pytest.mark.parametrize("given", [42, None, 3.5, b"hi", HI, {"role": "user", "content": "hi"}, object], ids=repr)
async def test_anything_else_is_refused(given: Any, recorder: Any) -> None:
    """BCM-19: the error names the type; no run was started, and no hook asked."""
    model = hook_model(callbacks=[recorder])
    kind = type(given).__name__
    with pytest.raises(InvalidInput, match=kind):
        await model.ainvoke(given)
    with pytest.raises(ValueError, match=kind):
        model.astream(given)
    with pytest.raises(InvalidInput, match=kind):
        await anyio.to_thread.run_sync(model.invoke, given)
    assert (inputs_of(model), recorder.events) == ([], [])


@pytest.mark.parametrize("given", [[], (), ChatPromptValue(messages=[])], ids=repr)
async def test_no_message_at_all_is_for_the_hook_to_judge(given: Any) -> None:
    """As in LangChain. A model behind HTTP refuses it before anything is sent, and before a run starts."""
    model = hook_model()
    await model.ainvoke(given)
    await model.agenerate([[HI], []])
    assert sorted(len(one) for one in inputs_of(model)) == [0, 0, 1]


async def test_a_model_behind_http_needs_a_message(recorder: Any) -> None:
    model = ChatOpenAI(model="m", api_key="k", callbacks=[recorder])
    with pytest.raises(InvalidInput, match="no messages"):
        await model.ainvoke([])
    with pytest.raises(InvalidInput, match="no messages"):
        await model.agenerate([[HI], []])
    assert recorder.events == []


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([("robot", "hi")], "unknown role 'robot'.*human"),
        ([{"role": "robot", "content": "hi"}], "unknown role 'robot'"),
        ([{"content": "hi"}], "role"),
        ([{"role": "user"}], "content"),
        ([42], "int 42"),
        ([HI, None], "NoneType"),
    ],
    ids=repr,
)
async def test_what_is_no_message_is_named(given: Any, why: str) -> None:
    """BCM-19: an unknown role, a mapping without one, a number among the messages."""
    with pytest.raises(InvalidInput, match=why):
        await hook_model().ainvoke(given)


@pytest.mark.parametrize(
    "given", ["hi", [HI], ["hi"], HI, [StringPromptValue(text="hi")], [42], [{"role": "user"}]], ids=repr
)
async def test_generate_takes_conversations(given: Any) -> None:
    """BCM-21: one list too few is told: a text is not read letter by letter, nor a message field by field."""
    model = hook_model()
    with pytest.raises(InvalidInput, match="conversation"):
        await model.agenerate(given)
    with pytest.raises(InvalidInput, match="conversation"):
        await anyio.to_thread.run_sync(model.generate, given)
    assert inputs_of(model) == []


async def test_generate_reads_message_likes() -> None:
    """BCM-19: inside a conversation any message-like will do."""
    model = hook_model()
    await model.agenerate([[("system", "Be brief."), "hi"]])  # type: ignore[list-item]
    assert inputs_of(model) == [[BRIEF, HI]]


async def test_no_conversation_gives_no_answer() -> None:
    """BCM-33: nothing asked, nothing said, no run."""
    result = await hook_model().agenerate([])
    assert (result.generations, result.llm_output, result.run) == ([], {}, [])


OPENAI_FILE = {"type": "file", "file": {"file_data": "data:application/pdf;base64,AAAA", "filename": "a.pdf"}}
OPENAI_AUDIO = {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}


@pytest.mark.parametrize(("block", "kind"), [(OPENAI_FILE, "file"), (OPENAI_AUDIO, "audio")], ids=["file", "audio"])
async def test_content_comes_as_standard_blocks(block: dict[str, Any], kind: str) -> None:
    """BCM-29: the hook sees standard blocks, whatever dialect was given, and the caller's message stays as it was."""
    model = hook_model()
    message = HumanMessage([{"type": "text", "text": "look"}, dict(block)])
    await model.ainvoke([message])
    ((heard,),) = inputs_of(model)
    assert heard.content[1]["type"] == kind  # type: ignore[index]
    assert heard.content[1]["base64"] == "AAAA"  # type: ignore[index]
    assert message.content[1] == block


async def test_the_callers_list_is_not_the_hooks() -> None:
    """BCM-29: a hook that edits its list of messages does not edit the caller's."""

    def append(call: HookCall) -> str:
        call.input.append(HumanMessage("and?"))
        return "yes"

    model = hook_model(append)
    conversation = [HI]
    await model.ainvoke(conversation)
    await model.agenerate([conversation])
    await model.ainvoke(ChatPromptValue(messages=conversation))
    assert conversation == [HI]


async def test_stop_words_are_a_list() -> None:
    """A text given for the list of stop words would be read letter by letter; it is refused, and the form shown."""
    with pytest.raises(InvalidInput, match=r"it must be a list of texts: \['END'\]"):
        await hook_model().ainvoke("hi", stop="END")
    with pytest.raises(InvalidInput, match="list of texts"):
        await FakeListLLM(responses=["a"]).ainvoke("hi", stop="END")  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="list of texts"):
        await hook_model().agenerate([[HI]], stop="END")


@pytest.mark.parametrize(
    ("config", "why"),
    [
        ({"max_concurency": 3}, "unknown key 'max_concurency'.*max_concurrency"),
        ({"callback": []}, "unknown key 'callback'.*callbacks"),
        ({"temperature": 1}, "unknown key 'temperature'.*configurable"),
        (42, "int"),
        ("tags", "str"),
    ],
    ids=repr,
)
@pytest.mark.parametrize(
    "verb",
    [
        lambda model, config: model.invoke("hi", config),
        lambda model, config: model.stream("hi", config),
        lambda model, config: model.batch(["hi"], config),
        lambda model, config: model.with_config(config),
    ],
    ids=["invoke", "stream", "batch", "with_config"],
)
def test_a_config_with_an_unknown_key_is_refused(verb: Callable[..., Any], config: Any, why: str) -> None:
    """BCM-18: a typo in a config would otherwise do nothing, silently."""
    with pytest.raises(InvalidInput, match=why):
        verb(hook_model(), config)
