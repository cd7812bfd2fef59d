"""The last runs of this process, as the page shows them.

A run may hold anything: images, documents, a whole book as a question. What is kept of each is short, and made when it
happens, so that nothing of a request lives on in here. Prices are looked up when somebody looks.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partialmethod
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from hocket._pipeline.answer import CACHE_HIT
from hocket._runtime import clock
from hocket._secrets import redact
from hocket.callbacks import BaseCallbackHandler
from hocket.callbacks.run_facts import AGENT_NAME
from hocket.messages import AIMessage, UsageMetadata
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatGeneration, LLMResult
from hocket.prices import price_of
from hocket.serving.console.fair_share import FairShare
from hocket.serving.console.run_texts import crop_text, describe_value
from hocket.serving.refusals import explain_failure

__all__ = ["MOST_RUNS", "RunRecorder", "RunWatcher"]

MOST_RUNS = 200
"""Runs that are kept of all tenants together, each with those inside it."""

_MOST_INSIDE = 500  # runs inside one
_MOST_TEXT = 500_000  # characters of a run and those inside it: each step of an agent repeats what was said before it
_TOO_MUCH: Fields = {"role": "", "text": "this run has said so much that no more of it is kept"}


_Event: TypeAlias = Any
"""A method that is told of an event: one does for several, of which each has names of its own for what it takes."""


class _Reply(NamedTuple):
    """What a reply used, and of which model it is."""

    usage: UsageMetadata | None
    model: str
    provider: str | None

    def find_cost(self) -> Decimal | None:
        price = price_of(self.model, self.provider) if self.model and self.usage else None
        return price.cost(self.usage) if price and self.usage else None


@dataclass(slots=True)
class _RecordedRun:
    id: str
    kind: str
    name: str
    at: float
    begun: float
    asked: list[Fields]
    said: list[Fields] = field(default_factory=list[Fields])
    inside: list["_RecordedRun"] = field(default_factory=list["_RecordedRun"])
    left_out: int = 0
    seconds: float | None = None
    first_word: float | None = None
    state: str = "running"
    error: str = ""
    replies: list[_Reply] = field(default_factory=list[_Reply])

    def walk(self) -> Iterator["_RecordedRun"]:
        """Yield this run and all inside it."""
        yield self
        for one in self.inside:
            yield from one.walk()

    def describe(self) -> Fields:
        """Return the run and those inside, without texts. Its usage and cost are those of all of them."""
        told: Fields = {name: getattr(self, name) for name in ("id", "kind", "name", "at", "seconds", "state", "error")}
        replies = [reply for run in self.walk() for reply in run.replies]
        usages = [reply.usage for reply in replies if reply.usage is not None]
        costs = [reply.find_cost() for reply in replies]
        first = (run.begun + run.first_word - self.begun for run in self.walk() if run.first_word is not None)
        return told | {
            "first_word": next(first, None),
            "input_tokens": sum(usage["input_tokens"] for usage in usages) if usages else None,
            "output_tokens": sum(usage["output_tokens"] for usage in usages) if usages else None,
            "cost": sum(cost for cost in costs if cost is not None)
            if any(cost is not None for cost in costs)
            else None,
            "unpriced": costs.count(None),
            "left_out": self.left_out,
            "inside": [one.describe() for one in self.inside],
        }


class RunRecorder:
    """The last runs, and whose they are.

    Args:
        in_full: whether errors are shown as they are; else in the words that clients are told.

    Attributes:
        version: another number whenever something has changed.
    """

    def __init__(self, *, in_full: bool) -> None:
        self.version: int = 0
        self.in_full: bool = in_full
        self._kept: FairShare[tuple[RunWatcher, _RecordedRun]] = FairShare(MOST_RUNS)

    def add(self, watcher: "RunWatcher", run: _RecordedRun) -> None:
        """Keep a run that is inside no other."""
        self._kept.put(watcher.tenant, run.id, (watcher, run))

    def describe(self, tenant: str | None, request: str | None = None) -> list[Fields]:
        """Return the runs of a tenant (None: keys have no names), or those of one request, the newest first.

        Prices may have to be loaded, which takes a while: call it in a thread.
        """
        return [
            {**run.describe(), "served": watcher.served, "request": watcher.request, "tenant": watcher.tenant}
            for watcher, run in reversed(self._kept.list_of(tenant))
            if request in (None, watcher.request)
        ]

    def find_texts(self, tenant: str | None, id: str) -> Fields | None:
        """Return what went into a run, and what came out; None: there is none of this id."""
        runs = (run for _, root in self._kept.list_of(tenant) for run in root.walk() if run.id == id)
        return next(({"id": id, "asked": run.asked, "said": run.said} for run in runs), None)


class RunWatcher(BaseCallbackHandler):
    """Writes down the run of one request, and those inside it.

    Args:
        recorder: keeps them.
        served, request, tenant: what is asked, by its name; the name of the request; who asks.
    """

    run_inline = True
    only_measures = True

    def __init__(self, recorder: RunRecorder, served: str, request: str, tenant: str | None) -> None:
        self.served: str = served
        self.request: str = request
        self.tenant: str | None = tenant
        self._recorder = recorder
        self._running: dict[UUID, _RecordedRun] = {}
        self._count = 0
        self._room = _MOST_TEXT

    def _begin(self, kind: str, serialized: FieldsView | None, asked: object, *, run_id: UUID, **facts: object) -> None:
        parent = self._running.get(cast(UUID, facts.get("parent_run_id")))
        if parent is not None and self._count >= _MOST_INSIDE:
            parent.left_out += 1
            return
        metadata = cast(FieldsView, facts.get("metadata") or {})
        name = facts.get("name") or metadata.get("ls_model_name") or (serialized or {}).get("name") or kind
        time = clock.current()
        kind = "agent" if AGENT_NAME in metadata else kind
        run = _RecordedRun(
            str(run_id), kind, str(name), time.time(), time.now(), self._keep(facts.get("inputs") or asked)
        )
        self._running[run_id] = run
        self._count += 1
        if parent is None:
            self._recorder.add(self, run)
        else:
            parent.inside.append(run)
        self._recorder.version += 1

    def _hear_first_token(self, seconds: float, *, run_id: UUID, **facts: object) -> None:
        if (run := self._running.get(run_id)) is not None:
            run.first_word = clock.current().now() - run.begun
            self._recorder.version += 1

    def _count_replies(self, response: object, run_id: UUID) -> None:
        """Note what was used, unless it was paid for before."""
        run = self._running.get(run_id)
        if run is None or not isinstance(response, LLMResult):
            return
        for one in (candidate for candidates in response.generations for candidate in candidates):
            message = one.message if isinstance(one, ChatGeneration) else None
            facts: FieldsView = {} if message is None else message.response_metadata
            if not facts.get(CACHE_HIT):
                usage = message.usage_metadata if isinstance(message, AIMessage) else None
                run.replies.append(_Reply(usage, str(facts.get("model_name") or ""), facts.get("model_provider")))

    def _retry(self, retry_state: object, *, run_id: UUID, response: object = None, **facts: object) -> None:
        self._count_replies(response, run_id)

    def _succeed(self, said: object, *, run_id: UUID, closed: bool = False, **facts: object) -> None:
        self._count_replies(said, run_id)
        self._end(run_id, said, "left" if closed else "done")

    def _fail(self, error: BaseException, *, run_id: UUID, response: object = None, **facts: object) -> None:
        self._count_replies(response, run_id)
        words = ""
        if isinstance(error, Exception):  # a cancellation is none
            in_full = f"{type(error).__name__}: {redact(str(error))}"
            words = in_full if self._recorder.in_full else explain_failure(error).message
        self._end(run_id, response, "failed" if words else "left", crop_text(words))

    def _end(self, id: UUID, said: object, state: str, error: str = "") -> None:
        run = self._running.pop(id, None)
        if run is not None:
            run.seconds = clock.current().now() - run.begun
            run.said, run.state, run.error = self._keep(said), state, error
            self._recorder.version += 1

    def _keep(self, value: object) -> list[Fields]:
        """Return the texts of a value, while there is room for them."""
        if self._room <= 0:
            return [_TOO_MUCH]
        texts = describe_value(value)
        self._room -= sum(len(one["text"]) for one in texts)
        return texts

    on_chat_model_start: _Event = partialmethod(_begin, "model")
    on_llm_start: _Event = partialmethod(_begin, "model")
    on_chain_start: _Event = partialmethod(_begin, "chain")
    on_tool_start: _Event = partialmethod(_begin, "tool")
    on_retriever_start: _Event = partialmethod(_begin, "retriever")
    on_first_token: _Event = _hear_first_token
    on_retry: _Event = _retry
    on_llm_end: _Event = _succeed
    on_chain_end: _Event = _succeed
    on_tool_end: _Event = _succeed
    on_retriever_end: _Event = _succeed
    on_llm_error: _Event = _fail
    on_chain_error: _Event = _fail
    on_tool_error: _Event = _fail
    on_retriever_error: _Event = _fail
