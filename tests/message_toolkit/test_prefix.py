"""Why a request does not begin as the one before it: thirty breakers, each named, and all that is none."""

import random
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from hocket._secrets import remember_secret
from hocket.message_toolkit.prefix import PrefixBreak, SentPrompt, find_break
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage

SYSTEM = "It is 2026-11-28 10:05:01. You help, in session 5f2b6c1e-77aa-4c1d-9d2e-0d6a3f4b5c6d. Be brief."
CALL: Any = {"type": "tool_call", "name": "look", "args": {"n": 1}, "id": "c1"}
TALK: list[BaseMessage] = [
    SystemMessage(SYSTEM),
    HumanMessage("How is Paris?"),
    AIMessage("", tool_calls=[CALL]),
    ToolMessage("It rains in Paris.", tool_call_id="c1"),
    AIMessage("It rains."),
    HumanMessage("And Rome?"),
]


def tool(name: str, **more: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object"}, **more}}


BEFORE = SentPrompt(
    messages=TALK, tools=[tool("look"), tool("sum")], options={"temperature": 0}, model="claude-sonnet-5-5"
)


def changed(**fields: Any) -> SentPrompt:
    return replace(BEFORE, **fields)


def told(at: int, content: str) -> list[BaseMessage]:
    """The conversation with another text in one place."""
    return [*TALK[:at], TALK[at].model_copy(update={"content": content}), *TALK[at + 1 :]]


def with_system(old: str, new: str) -> SentPrompt:
    return changed(messages=told(0, SYSTEM.replace(old, new)))


def with_option(**options: Any) -> SentPrompt:
    return changed(options={"temperature": 0, **options})


BREAKERS: dict[str, tuple[SentPrompt, str, str]] = {
    "another model": (changed(model="claude-opus-5"), "model", "claude-sonnet-5-5 -> claude-opus-5"),
    "a tool more": (changed(tools=[*BEFORE.tools, tool("tide")]), "tools", "added: tide"),
    "a tool more, in front": (changed(tools=[tool("tide"), *BEFORE.tools]), "tools", "added: tide"),
    "a tool less": (changed(tools=[tool("look")]), "tools", "removed: sum"),
    "no tools": (changed(tools=()), "tools", "removed: look, sum"),
    "another order": (changed(tools=[tool("sum"), tool("look")]), "tools", "reordered"),
    "another description": (changed(tools=[tool("look", description="d"), tool("sum")]), "tools", "changed: look"),
    "another tool": (changed(tools=[tool("look"), tool("tide")]), "tools", "added: tide; removed: sum"),
    "a demanded call": (with_option(tool_choice="required"), "options", "tool_choice"),
    "a typed answer": (with_option(response_format={"type": "json_object"}), "options", "response_format"),
    "other reasoning": (with_option(reasoning_effort="low", thinking={}), "options", "reasoning_effort, thinking"),
    "a clock": (
        with_system("10:05:01", "10:05:02"),
        "system",
        "edited at character 24: '10:05:01. You help, in session 5f2b6c1e-' -> "
        "'10:05:02. You help, in session 5f2b6c1e-' (a clock?)",
    ),
    "a date": (
        with_system("2026-11-28", "2026-11-29"),
        "system",
        "'2026-11-28 10:05:01. You help, in sessio' -> '2026-11-29",
    ),
    "an id": (with_system("0d6a3f4b5c6d", "0d6a3f4b5c6e"), "system", "(an id?)"),
    "a word": (with_system("brief", "kind"), "system", "edited at character 89: 'brief.' -> 'kind.'"),
    "more at the end": (
        with_system("Be brief.", "Be brief. Or not."),
        "system",
        "edited at character 95: 'brief.' -> 'brief. Or not.'",
    ),
    "no system text": (changed(messages=TALK[1:]), "system", "removed"),
    "a second system text": (
        changed(messages=[TALK[0], SystemMessage("s"), *TALK[1:]]),
        "system",
        "message 1 inserted",
    ),
    "another question": (
        changed(messages=told(1, "How is Lyon?")),
        "messages",
        "message 1 edited at character 7: 'Paris?' -> 'Lyon?'",
    ),
    "no question": (changed(messages=[TALK[0], *TALK[2:]]), "messages", "message 1 removed"),
    "a question before": (changed(messages=[TALK[0], HumanMessage("Hi"), *TALK[1:]]), "messages", "message 1 inserted"),
    "other arguments": (
        changed(messages=[*TALK[:2], AIMessage("", tool_calls=[{**CALL, "args": {"n": 2}}]), *TALK[3:]]),
        "messages",
        "message 2 edited at character",
    ),
    "another result": (
        changed(messages=told(3, "It snows in Paris.")),
        "messages",
        "message 3 edited at character 3: 'rains in Paris.' -> 'snows in Paris.'",
    ),
    "a result inserted": (
        changed(messages=[*TALK[:3], ToolMessage("no", tool_call_id="c1"), *TALK[3:]]),
        "messages",
        "message 3 inserted",
    ),
    "a failed result": (
        changed(messages=[*TALK[:3], ToolMessage("It rains in Paris.", tool_call_id="c1", status="error"), *TALK[4:]]),
        "messages",
        "message 3 edited",
    ),
    "another speaker": (
        changed(messages=[*TALK[:4], HumanMessage("It rains."), TALK[5]]),
        "messages",
        "message 4 edited (ai -> human)",
    ),
    "the end cut off": (changed(messages=TALK[:4]), "messages", "message 4 removed"),
    "a clock in a question": (
        changed(messages=told(5, "And at 1790000000?")),
        "messages",
        "message 5 edited at character 4",
    ),
    "a short result": (changed(messages=told(3, "It …"), is_compacted=True), "compacted", "from message 3 on"),
    "an exchange left out": (changed(messages=[TALK[0], TALK[5]], is_compacted=True), "compacted", "from message 1 on"),
}


@pytest.mark.parametrize("name", BREAKERS)
def test_each_breaker_is_named(name: str) -> None:
    """With its cause, the place, and what is different there."""
    after, cause, detail = BREAKERS[name]
    found = find_break(BEFORE, after, step=7)
    assert found is not None
    assert (found.step, found.cause) == (7, cause)
    assert detail in found.detail
    assert 0 < found.lost_tokens < 200


@pytest.mark.parametrize("seed", range(20))
def test_the_first_difference_is_the_one_that_is_named(seed: int) -> None:
    """Whatever changes behind it: a conversation of a hundred messages, edited in three places."""
    draw = random.Random(seed)
    talk: list[BaseMessage] = [draw.choice([HumanMessage, AIMessage])(f"message {n} " * 20) for n in range(100)]
    places = sorted(draw.sample(range(100), 3))
    edited: list[BaseMessage] = [HumanMessage(f"other {at}") if at in places else one for at, one in enumerate(talk)]
    found = find_break(SentPrompt(messages=talk), SentPrompt(messages=edited), step=2)
    assert found is not None
    assert found.detail.startswith(f"message {places[0]} edited")


def marked(message: BaseMessage) -> BaseMessage:
    block = {"type": "text", "text": message.text, "cache_control": {"type": "ephemeral"}}
    return message.model_copy(update={"content": [block]})


NO_BREAKS: dict[str, Callable[[], SentPrompt]] = {
    "more at the end": lambda: changed(messages=[*TALK, AIMessage("Sun."), HumanMessage("Thanks.")]),
    "copies": lambda: changed(messages=[one.model_copy(deep=True) for one in TALK], tools=[*BEFORE.tools]),
    "another temperature": lambda: with_option(temperature=1, max_tokens=5, prompt_cache=True, prompt_cache_key="k"),
    "ids and metadata": lambda: changed(
        messages=[one.model_copy(update={"id": "i", "response_metadata": {"a": 1}}) for one in TALK]
    ),
    "a tool that loads later": lambda: changed(
        tools=[*BEFORE.tools, {**tool("tide"), "extras": {"defer_loading": True}}]
    ),
    "a marked tool": lambda: changed(tools=[tool("look"), {**tool("sum"), "cache_control": {"type": "ephemeral"}}]),
}


@pytest.mark.parametrize("name", NO_BREAKS)
def test_what_the_cache_does_not_see_is_no_break(name: str) -> None:
    """What is added behind, what providers are not shown, and marks."""
    assert find_break(BEFORE, NO_BREAKS[name](), step=2) is None


def test_a_mark_that_moves_is_no_break() -> None:
    """The same blocks, marked in one request and not in the next."""
    block = {"type": "text", "text": "How is Paris?"}
    before: list[BaseMessage] = [marked(TALK[1])]
    assert find_break(SentPrompt(messages=before), SentPrompt(messages=[HumanMessage([block])]), step=2) is None


def test_secrets_are_cut() -> None:
    """Those that look like one, and those that requests were signed with, also where a quote would have cut them."""
    remember_secret("correct-horse-battery")
    for old, new in (("sk-ant-api03-" + "a" * 40, "x"), ("correct-horse-battery", "correct-horse-batterz")):
        talk: list[BaseMessage] = [HumanMessage(f"The key is {old}, keep it.")]
        after = SentPrompt(messages=[HumanMessage(f"The key is {new}, keep it.")])
        found = find_break(SentPrompt(messages=talk), after, step=2)
        assert isinstance(found, PrefixBreak)
        assert old[:12] not in found.detail
        assert "**********" in found.detail


def test_a_conversation_that_did_not_change_costs_a_look_at_each_message() -> None:
    """Nothing of a message is read that is the same object."""

    class Unread(HumanMessage):
        def __getattribute__(self, name: str) -> Any:
            if name in ("content", "__dict__", "type"):
                raise AssertionError(f"{name} was read")
            return super().__getattribute__(name)

    kept = [Unread.model_construct() for _ in range(3)]
    assert find_break(SentPrompt(messages=kept), SentPrompt(messages=[*kept, HumanMessage("more")]), step=2) is None
