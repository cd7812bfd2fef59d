"""A run by its id, from any process: its state, its result, and signals to it."""

from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar, cast

import anyio

from hocket._runtime.sync_twin import sync_twin
from hocket.agents import AgentResult
from hocket.agents.approval import Rerun, Resume, read_decisions
from hocket.agents.events import AgentEvent, EndEvent, MessageEvent, PausedEvent, ToolEndEvent
from hocket.agents.state import read_pending_calls
from hocket.chat_history import BaseChatMessageHistory, open_history
from hocket.durable.agent_runs import find_session, find_sessions
from hocket.durable.engine import Kind
from hocket.durable.store import ENDED, KnownRun, RunInfo, RunStore
from hocket.durable.values import ANY_VALUE, check_line
from hocket.errors import InvalidInput, RunCanceled, RunFailed
from hocket.messages import AIMessage, BaseMessage, ToolCall, ToolMessage
from hocket.messages.roles import calls_of

__all__ = ["ReadOutput", "Run"]

Output = TypeVar("Output")

ReadOutput = Callable[[KnownRun], Awaitable[Any]]
"""Returns what a run that is done has returned."""

_FIRST_LOOK, _LAST_LOOK = 0.02, 0.5
"""Seconds between two looks whether a run has ended: they grow."""


class Run(Generic[Output]):
    """A run, which may be executed anywhere, and need not exist. Made by `Runs.run`, and by `Durable.astart`.

    Each verb has a twin without the ``a``, for plain code. Each raises `EngineUnavailable` where the store cannot be
    reached, and `UnknownRun` where there is no such run.

    Attributes:
        id: of the run.
    """

    def __init__(self, id: str, store: RunStore, read_output: ReadOutput) -> None:
        self.id: str = id
        self._store = store
        self._read_output = read_output

    def __repr__(self) -> str:
        return f"<Run {self.id!r}>"

    async def ainfo(self) -> RunInfo:
        """Return the state of the run."""
        return (await self._store.find(self.id)).describe()

    async def aresult(self, timeout: float | None = None) -> Output:  # noqa: ASYNC109  # the run goes on
        """Return what the run returns, as soon as it is done: of an agent its `AgentResult`.

        Args:
            timeout: seconds to wait at most; the run goes on.

        Raises:
            RunFailed: it has failed.
            RunCanceled: it was called off.
            TimeoutError: it has not ended in time.
        """
        pause = _FIRST_LOOK
        with anyio.fail_after(timeout):
            while await self._store.is_open(self.id):
                await anyio.sleep(pause)
                pause = min(pause * 1.5, _LAST_LOOK)
            known = await self._store.find(self.id)
            if known.state.status == "cancelled":
                raise RunCanceled(f"the run {self.id!r} was called off")
            if known.state.status == "failed":
                kind, text = known.state.failure or ("Error", "of an unknown kind")
                raise RunFailed(f"the run {self.id!r} has failed: {kind}: {text}", self.id, kind)
            return cast(Output, await self._read_output(known))

    async def asignal(self, name: str, value: object = None) -> None:
        """Send a signal, which is kept until the run asks for it with `wait_for`.

        Args:
            name: of the signal.
            value: what `wait_for` returns.

        Raises:
            InvalidInput: the name will not do, the value cannot be stored, or the run has ended.
        """
        check_line("name", name)
        text = ANY_VALUE.dump(value, f"the value of the signal {name!r}")
        self._check_open(await self._store.find(self.id))
        await self._store.add_signals(self.id, [(name, text, None)])

    async def apending(self) -> list[ToolCall]:
        """Return the calls of agents that wait for a decision."""
        return [call for _, call in await self._find_pending(await self._store.find(self.id))]

    async def adecide(self, decisions: Mapping[str, str | Mapping[str, Any]]) -> None:
        """Decide calls that wait, all or none.

        Args:
            decisions: by the ids of calls, in the words of `Resume`.

        Raises:
            InvalidInput: a decision is none, or its call does not wait: it may have been decided already. Or the run has
                ended.
        """
        known = await self._store.find(self.id)
        self._check_open(known)
        pending = {call["id"] or "": key for key, call in reversed(await self._find_pending(known))}
        read_decisions(Resume(decisions), pending)
        signals = [
            ("", ANY_VALUE.dump(decision, f"the decision for {id!r}"), f"{pending[id]} {id}")
            for id, decision in decisions.items()
        ]
        if signals and not await self._store.add_signals(self.id, signals):
            raise InvalidInput(f"of the calls {', '.join(decisions)} one was decided just now, by another person")

    async def amessages(self) -> list[BaseMessage]:
        """Return the messages of the agent that this is a run of; of other runs there are none."""
        await self._store.find(self.id)
        return await self._open_history("").aget_messages()

    async def acancel(self) -> None:
        """Call the run off, wherever it is; one that has ended stays as it is. Its process sees it within a second."""
        await self._store.find(self.id)
        await self._store.engine.cancel(self.id)

    async def adelete(self) -> None:
        """Delete a run that has ended: its records, its signals, and its agents' messages; its id is free.

        A history that the code of the run gave an agent stays.

        Raises:
            InvalidInput: it has not ended.
        """
        known = await self._store.find(self.id)
        if known.state.status not in ENDED:
            raise InvalidInput(f"the run {self.id!r} is {known.describe().status}; call it off before you delete it")
        for session in find_sessions(self.id, await self._store.engine.keys(self.id)):
            await open_history(self._store.database.url, session_id=session).aclear()
        await self._store.call(lambda: self._store.database.tables.drop(self.id))
        await self._store.engine.delete(self.id)  # last: what fails before can be done again

    async def aresume(self, *, rerun: Rerun = "idempotent", version: str | None = None) -> None:
        """Have a run that has failed, or was called off, go on with all that it has recorded.

        Args:
            rerun: "always": calls and steps that began and have no recorded end are made again, too.
            version: to go on under this version of the code; None: under its own.

        Raises:
            InvalidInput: the run has not ended so, or there is no such word or version.
        """
        known = await self._store.find(self.id)
        if known.state.status not in ("failed", "cancelled"):
            status = known.describe().status
            raise InvalidInput(f"the run {self.id!r} is {status}; only one that failed or was called off is resumed")
        Resume(rerun=rerun)
        if version is not None:
            check_line("version", version, without="@")
        moved_to = version or known.standing.version
        await self._store.call(lambda: self._store.database.tables.set_orders(self.id, rerun, moved_to))
        await self._store.engine.resume(self.id, Kind(known.record.name, version or known.kind.version))

    async def astream(self, *, after: int = 0, until_paused: bool = False) -> AsyncGenerator[AgentEvent]:
        """Yield the recorded events of an agent's run, from the first message on, and then new ones, until its end.

        The events are those of `Agent.astream` that have no pieces: "message", "tool_end", "paused" and "end".

        Args:
            after: how many messages of the run are known: their events are left out, and steps are counted from there.
            until_paused: whether to end, too, when the run waits for a decision, after the "paused" events.

        Raises:
            InvalidInput: it is no run of an agent.
            RunFailed, RunCanceled: it has ended so, after all that it said.
        """
        seen, pause = _Seen(), _FIRST_LOOK
        while True:
            known = await self._store.find(self.id)
            messages = await self._open_history("").aget_messages()
            if seen.count < after:
                seen.skip(messages[:after])
            pending = [call for _, call in await self._find_pending(known)] if known.waiting else []
            events = [*seen.read(messages), *seen.pause(pending)]
            for event in events:
                yield event
            if until_paused and pending:
                return
            if known.state.status in ENDED:
                break
            pause = _FIRST_LOOK if events else min(pause * 1.5, _LAST_LOOK)
            await anyio.sleep(pause)
        result = await self.aresult()
        if not isinstance(result, AgentResult):
            raise InvalidInput(f"{self.id!r} is no run of an agent: there are no events but its result")
        yield EndEvent(step=seen.step, result=cast("AgentResult[Any]", result))

    # -- the sync twins

    info: Final = sync_twin(ainfo)
    result: Final = sync_twin(aresult)
    signal: Final = sync_twin(asignal)
    pending: Final = sync_twin(apending)
    decide: Final = sync_twin(adecide)
    messages: Final = sync_twin(amessages)
    cancel: Final = sync_twin(acancel)
    delete: Final = sync_twin(adelete)
    resume: Final = sync_twin(aresume)

    # -- inside

    def _open_history(self, key: str) -> BaseChatMessageHistory:
        return open_history(self._store.database.url, session_id=find_session(self.id, key))

    def _check_open(self, known: KnownRun) -> None:
        if known.state.status in ENDED:
            raise InvalidInput(f"the run {self.id!r} has ended ({known.state.status}): it takes no signals")

    async def _find_pending(self, known: KnownRun) -> list[tuple[str, ToolCall]]:
        """Return the calls that wait and are not decided, each with the key of its agent."""
        sessions = {one.get("session", ""): None for one in known.waiting if "call" in one}
        signals = await self._store.find_signals([self.id])
        decided = {signal.call for signal in signals}
        found: list[tuple[str, ToolCall]] = []
        for key in sessions:
            calls = read_pending_calls(await self._open_history(key).aget_messages())
            found += [(key, call) for call in calls if f"{key} {call['id']}" not in decided]
        return found


class _Seen:
    """What of a history was told as events."""

    def __init__(self) -> None:
        self.step = 0
        self.count = 0  # of the messages
        self._calls: dict[str, ToolCall] = {}
        self._paused: set[str | None] = set()

    def read(self, messages: Sequence[BaseMessage]) -> "Sequence[AgentEvent]":
        """Return the events of the messages that are new."""
        events: list[AgentEvent] = []
        for message in messages[self.count :]:
            if isinstance(message, AIMessage):
                self.step += 1
                self._calls |= {call["id"] or "": cast(ToolCall, call) for call in calls_of(message)}
                events.append(MessageEvent(step=self.step, message=message))
            elif isinstance(message, ToolMessage) and message.tool_call_id in self._calls:
                call = self._calls[message.tool_call_id]
                events.append(ToolEndEvent(step=self.step, call=call, result=message, seconds=0.0))
        self.count = max(self.count, len(messages))
        return events

    def skip(self, messages: Sequence[BaseMessage]) -> None:
        """Take messages for seen, and count the steps from here."""
        self.read(messages)
        self.step = 0

    def pause(self, pending: Sequence[ToolCall]) -> "Sequence[AgentEvent]":
        """Return the events of the calls that wait and were not told."""
        new = [call for call in pending if call["id"] not in self._paused]
        self._paused |= {call["id"] for call in new}
        return [PausedEvent(step=self.step, call=call) for call in new]
