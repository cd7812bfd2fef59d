"""Conversations with durable agents: each question of the page is a run, which goes on in whichever process.

Nothing of them is kept here. The runs of a conversation have the ids ``page-CHAT-1``, ``page-CHAT-2`` ..., so that every
process finds the last one; it has said all before, too, since each run is started with what was said and the question. A
run knows the request that it answers: the same request again is the same run.
"""

import json
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import TYPE_CHECKING

from hocket._pipeline.cache_key import hash_bytes
from hocket._runtime.mode import ASYNC
from hocket.agents.approval import Resume
from hocket.agents.events import AgentEvent
from hocket.errors import UnknownRun
from hocket.message_toolkit.repair import repair_history
from hocket.messages import BaseMessage, HumanMessage
from hocket.messages.content import FieldsView
from hocket.serving.durable_agents import check_work
from hocket.serving.refusals import Refusal

if TYPE_CHECKING:
    from hocket.durable import Durable, Run

__all__ = ["DurableChat"]

_BEFORE = "messages_before"
"""In a run's metadata: how many of its messages were said before the question."""


class DurableChat:
    """One conversation with a durable agent.

    Args:
        name: by which the page calls the agent.
        durable: it.
        whose: names the conversation, unlike that of any other user.

    Attributes:
        run: that answers now; None: there is none yet.
    """

    def __init__(self, name: str, durable: "Durable[object, object]", whose: str) -> None:
        self.run: Run[object] | None = None
        self._name = name
        self._durable = durable
        self._stem = f"page-{hash_bytes(json.dumps([name, whose]).encode())[:24]}"

    async def stream(self, asked: HumanMessage | Resume, facts: FieldsView) -> AsyncGenerator[AgentEvent]:
        """Yield what is recorded of the run that answers, until it ends or waits for a decision.

        Who leaves changes nothing: the run goes on.

        Args:
            asked: a question, which starts a run; or decisions, for the last one.
            facts: metadata of the run: "request_id" is that of the request.

        Raises:
            Refusal: nobody works on the runs here, or the last one has not ended.
            InvalidInput: a call that is decided does not wait.
            RunFailed, RunCanceled: it has ended so.
            EngineUnavailable: the store cannot be reached.
        """
        check_work(self._name, self._durable)
        after = await (self._decide(asked) if isinstance(asked, Resume) else self._ask(asked, facts))
        assert self.run is not None
        async with aclosing(self.run.astream(after=after, until_paused=True)) as events:
            async for event in events:
                yield event

    async def _decide(self, asked: Resume) -> int:
        """Decide calls of the last run, and return how many messages it has by now."""
        number = await self._count_runs()
        if number == 0:
            raise Refusal(status=400, message="nothing waits for a decision here")
        self.run = self._open(number)
        known = len(await self.run.amessages())
        await self.run.adecide(asked.decisions)
        return known

    async def _ask(self, question: HumanMessage, facts: FieldsView) -> int:
        """Start a run, unless this request has done so; return how many messages were said before the question."""
        number = await self._count_runs()
        before: list[BaseMessage] = []
        if number > 0:
            last = self._open(number)
            info = await last.ainfo()
            if info.metadata.get("request_id") == facts["request_id"]:
                self.run = last
                return int(info.metadata[_BEFORE])
            if info.status in ("queued", "running", "waiting"):
                busy = "the answer before is under way here, or waits for a decision: decide it, or stop it first"
                raise Refusal(status=409, message=busy, code="busy", words=busy)
            before = repair_history(await last.amessages())
        id, known = self._open(number + 1).id, {**facts, _BEFORE: len(before)}

        async def start() -> None:
            self.run = await self._durable.astart([*before, question], id=id, metadata=known)

        await ASYNC.run_shielded(start())  # who stops the answer meanwhile finds the run
        return len(before)

    async def _count_runs(self) -> int:
        """Return how many runs the conversation has had."""
        number = 0
        while True:
            try:
                await self._open(number + 1).ainfo()
            except UnknownRun:
                return number
            number += 1

    def _open(self, number: int) -> "Run[object]":
        return self._durable.runs.run(f"{self._stem}-{number}")
