"""The calls of a message are all run and all answered: at once, in order, each on its own."""

import asyncio
import threading
from typing import Annotated, Any

import anyio
import pytest
from hypothesis import given, strategies as st
from pydantic import AliasChoices, BaseModel, ConfigDict, Field

from hocket import AIMessage, ScriptedChatModel, ToolMessage, Turn
from hocket.errors import InvalidInput
from hocket.testing import VirtualClock, virtual_clock
from hocket.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    RetryTool,
    StopRun,
    ToolException,
    arun_tool_calls,
    run_tool_calls,
    tool,
)
from tests.kit import AsyncRecorder


def call(name: str, id: str | None = "1", **args: Any) -> Any:
    return {"type": "tool_call", "name": name, "args": args, "id": id}


def asked(*calls: Any, invalid: Any = ()) -> AIMessage:
    return AIMessage("", tool_calls=list(calls), invalid_tool_calls=list(invalid))


@tool
async def act(how: str) -> str:
    """Act."""
    if how == "fail":
        raise KeyError("lost")
    if how == "refuse":
        raise ToolException("not today")
    if how == "retry":
        raise RetryTool("say it differently")
    if how == "stop":
        raise StopRun("enough", value=42)
    if how == "hang":
        await anyio.sleep_forever()
    if how == "stray":
        raise asyncio.CancelledError
    if how == "group":
        raise ExceptionGroup("many", [KeyError("one")])
    return how


@tool
def block(how: str) -> str:
    """Act, in a thread."""
    if how == "fail":
        raise KeyError("lost")
    return how


def outcome(message: ToolMessage) -> tuple[Any, ...]:
    return message.tool_call_id, message.status, message.content, message.response_metadata.get("tool_error")


ANSWERS: dict[str, tuple[str, str | None]] = {
    "done": ("done", None),
    "fail": ("act failed: KeyError: 'lost'", "failed"),
    "refuse": ("act failed: not today", "failed"),
    "retry": ("say it differently", "retry"),
    "group": ("act failed: ExceptionGroup: many (1 sub-exception)", "failed"),
}


@given(st.lists(st.sampled_from([*ANSWERS, "unknown", "invalid", "unreadable"]), max_size=8), st.integers(1, 9))
def test_every_call_is_answered_once_and_in_order(plan: list[str], at_once: int) -> None:
    """Whatever becomes of each, and however many run at once; the unreadable ones come last."""
    calls, invalid = list[Any](), list[Any]()
    for at, how in enumerate(plan):
        if how == "unreadable":
            invalid.append(
                {"name": "act", "args": "{", "id": str(at), "error": "not JSON", "type": "invalid_tool_call"}
            )
        else:
            args = {"why": 1} if how == "invalid" else {"how": how}
            calls.append(call("akt" if how == "unknown" else "act", str(at), **args))
    answers = run_tool_calls(asked(*calls, invalid=invalid), [act, block], max_concurrency=at_once)
    assert [one.tool_call_id for one in answers] == [one["id"] for one in (*calls, *invalid)]
    for answer in answers:
        how = plan[int(answer.tool_call_id)]
        text, kind = ANSWERS.get(how, ("", how))
        kinds = {"unknown": "unknown_tool", "invalid": "invalid_arguments", "unreadable": "invalid_arguments"}
        assert answer.status == ("success" if kind is None else "error")
        assert answer.response_metadata.get("tool_error") == kinds.get(how, kind)
        assert not text or answer.content == text


def test_what_the_model_is_told() -> None:
    """Of unknown tools, the ones there are; of arguments, what is wrong; of unreadable ones, why; always a way on."""
    answers = run_tool_calls(
        asked(
            call("akt", "1"),
            call("weather", "2", city="x"),
            call("act", "3", howe="x"),
            call("act", None, how=["x"]),
            invalid=[{"name": "act", "args": "{", "id": "5", "error": "EOF", "type": "invalid_tool_call"}],
        ),
        [act, block],
    )
    assert [answer.content for answer in answers] == [
        "There is no tool named 'akt'. Did you mean 'act'? The tools are: act, block.",
        "There is no tool named 'weather'. The tools are: act, block.",
        "Tool input validation error:\nhow: is required\nhowe: there is no such argument; did you mean 'how'?\n"
        "Call act again with arguments that fit.",
        "Tool input validation error:\nhow: Input should be a valid string; given was ['x']\n"
        "Call act again with arguments that fit.",
        "The arguments of act could not be read: EOF. Call it again with valid JSON.",
    ]
    assert answers[3].tool_call_id == ""


async def test_calls_run_at_once_within_the_bound() -> None:
    """All of them, or as many as are allowed."""
    running = most = expected = 0
    full = anyio.Event()

    @tool
    async def count() -> None:
        """Count."""
        nonlocal running, most
        running += 1
        most = max(most, running)
        if running >= expected:
            full.set()
        await full.wait()
        await anyio.sleep(0.001)  # so that one too many would be seen
        running -= 1

    calls = asked(*(call("count", str(at)) for at in range(20)))
    for limit, expected in ((None, 20), (3, 3), (1, 1)):
        most, full = 0, anyio.Event()
        await arun_tool_calls(calls, [count], max_concurrency=limit)
        assert most == expected
    most, expected, full = 0, 2, anyio.Event()
    await arun_tool_calls(calls, [count], config={"max_concurrency": 2})
    assert most == 2


async def test_sync_tools_run_at_once_too() -> None:
    """Each in a worker thread."""
    barrier = threading.Barrier(4, timeout=20)

    @tool
    def meet() -> str:
        """Meet."""
        barrier.wait()
        return "met"

    answers = await arun_tool_calls(asked(*(call("meet", str(at)) for at in range(4))), [meet])
    assert [answer.content for answer in answers] == ["met"] * 4


@pytest.fixture
def clock() -> Any:
    with virtual_clock() as made:
        yield made


async def test_each_call_has_its_own_time(clock: VirtualClock) -> None:
    """One that hangs is given up, and the others go on; its run ends with the reason."""
    recorder = AsyncRecorder("on_tool_error")
    answers = await arun_tool_calls(
        asked(call("act", "1", how="hang"), call("act", "2", how="done")),
        [act],
        timeout=30,
        config={"callbacks": [recorder]},
    )
    assert [outcome(one) for one in answers] == [
        ("1", "error", "act failed: it took longer than 30 s. Try something smaller, or go on without it.", "timeout"),
        ("2", "success", "done", None),
    ]
    (error,) = recorder.firsts("on_tool_error")
    assert (type(error).__name__, str(error)) == ("ToolTimeout", "it took longer than 30 s")


def test_a_call_that_is_cancelled_on_its_own() -> None:
    """Something that a tool waited for was cancelled: that is its answer, and nobody else's business. (asyncio's alone.)"""
    answers = asyncio.run(arun_tool_calls(asked(call("act", "1", how="stray"), call("act", "2", how="done")), [act]))
    assert [outcome(one) for one in answers] == [
        ("1", "error", "act was cancelled before it was done.", "cancelled"),
        ("2", "success", "done", None),
    ]


async def test_cancelling_the_caller_cancels_all() -> None:
    """Every tool is told, and nothing is left running."""
    started, ended = 0, 0
    all_started = anyio.Event()

    @tool
    async def wait() -> None:
        """Wait."""
        nonlocal started, ended
        started += 1
        if started == 5:
            all_started.set()
        try:
            await anyio.sleep_forever()
        finally:
            ended += 1

    async with anyio.create_task_group() as group:
        group.start_soon(arun_tool_calls, asked(*(call("wait", str(at)) for at in range(5))), [wait])
        await all_started.wait()
        group.cancel_scope.cancel()
    assert (started, ended) == (5, 5)


async def test_stopping_the_run() -> None:
    """The others run to their end; the request comes out as itself, with all answers and what the tool wanted to hand on."""
    with pytest.raises(StopRun, match="enough") as caught:
        await arun_tool_calls(
            asked(call("act", "1", how="done"), call("act", "2", how="stop"), call("act", "3", how="fail")), [act]
        )
    assert caught.value.value == 42
    assert [outcome(one) for one in caught.value.results] == [
        ("1", "success", "done", None),
        ("2", "error", "enough", "stopped"),
        ("3", "error", "act failed: KeyError: 'lost'", "failed"),
    ]


def test_what_stops_the_program_stops_it() -> None:
    """Ctrl-C and the like in a tool are no answers, and come in no group."""

    @tool
    async def leave() -> None:
        """Leave."""
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        asyncio.run(arun_tool_calls(asked(call("leave")), [leave]))


def test_injected_arguments_are_the_applications() -> None:
    """What the model makes up of them is dropped; what is missing is said before anything runs."""
    ran: list[Any] = []

    @tool
    def ask(
        question: str,
        user: Annotated[str, InjectedToolArg],
        call_id: Annotated[str, InjectedToolCallId],
        shard: Annotated[int, InjectedToolArg] = 0,
    ) -> list[Any]:
        """Ask."""
        ran.append(question)
        return [question, user, call_id, shard]

    message = asked(call("ask", "7", question="q", user="root", call_id="0", shard=9))
    with pytest.raises(InvalidInput, match=r"ask needs injected arguments: pass injected=\{'user': \.\.\.\}"):
        run_tool_calls(message, [ask])
    assert ran == []
    (answer,) = run_tool_calls(message, [ask], injected={"user": "me", "other": 1})
    assert answer.content == '["q", "me", "7", 0]'


class Guarded(BaseModel):
    model_config = ConfigDict(populate_by_name=True)
    question: str
    user: Annotated[str, InjectedToolArg] = Field("nobody", validation_alias=AliasChoices("uid", "login"))
    shard: Annotated[str, InjectedToolArg] = Field("none", alias="part")


@pytest.mark.parametrize("name", ["user", "uid", "login", "shard", "part"])
def test_injected_arguments_have_no_back_door(name: str) -> None:
    """A model cannot give them by another name either; the application can, by the names of the schema."""

    @tool(args_schema=Guarded)
    def ask(question: str, user: str, shard: str) -> str:
        """Ask."""
        return f"{user} {shard}"

    message = asked(call("ask", question="q", **{name: "root"}))
    assert run_tool_calls(message, [ask])[0].content == "nobody none"
    (answer,) = run_tool_calls(message, [ask], injected={"uid": "ada", "part": "7"})
    assert answer.content == "ada 7"


def test_what_is_injected_arrives_by_either_name() -> None:
    """Where a field has an alias, and pydantic would pass over its own name: the default would stand for the user."""

    class Aliased(BaseModel):
        question: str
        user: Annotated[str, InjectedToolArg] = Field("nobody", alias="userId")

    @tool(args_schema=Aliased)
    def ask(question: str, user: str) -> str:
        """Ask."""
        return user

    for name in ("user", "userId"):
        message = asked(call("ask", question="q", user="root", userId="root"))
        assert run_tool_calls(message, [ask], injected={name: "ada"})[0].content == "ada"


def test_limits_that_will_not_do() -> None:
    """A bound or a time that is not above 0 is refused before anything runs."""
    with pytest.raises(InvalidInput, match="max_concurrency is 0"):
        run_tool_calls([call("act", how="done")], [act], max_concurrency=0)
    with pytest.raises(InvalidInput, match="timeout is 0"):
        run_tool_calls([call("act", how="done")], [act], timeout=0)


def test_tools_that_answer_with_messages() -> None:
    """Their message answers the call, whatever id they gave it; several cannot."""

    @tool
    def give(many: bool) -> Any:
        """Give."""
        own = ToolMessage("mine", tool_call_id="9", artifact=1)
        return [own, own] if many else own

    one, several = run_tool_calls(asked(call("give", "1", many=False), call("give", "2", many=True)), [give])
    assert (one.content, one.artifact, one.tool_call_id) == ("mine", 1, "1")
    assert (several.status, several.content) == (
        "error",
        "give failed: it returned 2 messages; a call is answered by one",
    )


def test_what_can_be_run() -> None:
    """Tools and functions, each under a name of its own; calls as a list, too."""

    def double(x: int) -> int:
        """Double."""
        return 2 * x

    assert [one.content for one in run_tool_calls([call("double", x=2)], [double])] == ["4"]
    with pytest.raises(InvalidInput, match="two tools are called 'act'"):
        run_tool_calls(asked(), [act, act])
    with pytest.raises(InvalidInput, match="cannot be run"):
        run_tool_calls(asked(), [{"name": "x"}])  # type: ignore[list-item]
    assert run_tool_calls(asked(), []) == []


class Own(BaseTool):
    name: str = "own"
    description: str = "Handles its errors its own way."
    handle_tool_error: Any = "never mind"
    handle_validation_error: Any = "what?"

    async def _arun(self, x: int) -> None:
        raise ToolException("secret")


def test_a_tool_that_handles_its_errors() -> None:
    """Its way is kept."""
    answers = run_tool_calls(asked(call("own", "1", x=1), call("own", "2", x="y")), [Own()])
    assert [(one.content, one.status) for one in answers] == [("never mind", "error"), ("what?", "error")]


async def test_a_conversation_with_tools() -> None:
    """Asked, called, answered, told: the model sees every answer, in order."""
    model = ScriptedChatModel(
        script=[Turn(tool_calls=[call("act", "1", how="done"), call("act", "2", how="retry")]), "All done."]
    ).bind_tools([act], tool_choice="auto")
    messages: list[Any] = ["go"]
    reply = await model.ainvoke(messages)
    while reply.tool_calls:
        messages += [reply, *await arun_tool_calls(reply, [act])]
        reply = await model.ainvoke(messages)
    assert reply.content == "All done."
    assert [one.content for one in messages[2:]] == ["done", "say it differently"]


async def test_a_long_name_that_a_model_made_up_is_cut() -> None:
    """A megabyte from a model is not stored again, nor paid again with each turn."""
    (answer,) = await arun_tool_calls(asked(call("x" * 1_000_000, "1")), [act])
    assert len(str(answer.content)) < 300
    assert "xxx…" in answer.content
    assert len(answer.name or "") <= 100


async def test_long_arguments_that_do_not_fit_are_cut() -> None:
    """Names and values that a model made up, one long or many, come to a short explanation."""
    many = {f"argument{at}": "v" * 1_000 for at in range(1_000)}
    answers = await arun_tool_calls(asked(call("act", "1", **many), call("act", "2", **{"x" * 1_000_000: 1})), [act])
    assert [one.response_metadata["tool_error"] for one in answers] == ["invalid_arguments"] * 2
    assert max(len(str(one.content)) for one in answers) < 2_300
