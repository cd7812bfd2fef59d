"""What happens in a run and in the runs inside it, as a stream of events: `Runnable.astream_events`.

A handler like any other puts them into the stream. It waits for the consumer where the run may wait, at starts and
pieces; ends must not be held up, and their number is bounded by that of the starts.
"""

import functools
from collections.abc import Awaitable, Sequence
from typing import Any, NamedTuple, TypeAlias, cast
from uuid import UUID

from anyio.lowlevel import current_token
from typing_extensions import TypedDict

from hocket._pipeline.chat_answer import as_chunk
from hocket._runtime.detached import call_soon
from hocket._runtime.stream import Sink
from hocket.callbacks import AsyncCallbackHandler
from hocket.outputs import ChatGeneration, ChatGenerationChunk, GenerationChunk, LLMResult

__all__ = [
    "BaseStreamEvent",
    "CustomStreamEvent",
    "EventData",
    "EventFilter",
    "EventHandler",
    "StandardStreamEvent",
    "StreamEvent",
]


_WHOLE = ("prompt", "retriever")
"""Kinds of runs whose output comes whole: their ends say it all."""


class EventData(TypedDict):
    """What an event of a run tells; it has only the keys of its kind, which ``event`` names.

    Keys:
        input: as far as it is known; of the first run as it was given, and at its start alone.
        chunk: a piece of a stream.
        output: of an end: of a chat model a message, or a chunk if it streamed, of a text model a dict with
            ``generations``.
        error: what the run failed with.
        tool_call_id: of a tool that failed, the call that it was asked by; None: none.
    """

    input: Any
    chunk: Any
    output: Any
    error: BaseException
    tool_call_id: str | None


class BaseStreamEvent(TypedDict):
    """What all events have.

    Keys:
        event: ``on_<kind>_start``, ``_stream``, ``_end`` or ``_error``, of a kind ``chain``, ``prompt``, ``parser``,
            ``chat_model``, ``llm``, ``tool`` or ``retriever``; or ``on_custom_event``.
        name: of what runs; of a custom event, its own.
        run_id: of the run.
        parent_ids: of the runs that it is inside, the outermost first. A custom event has the ids of the run that
            dispatched it.
        tags, metadata: of the run.
    """

    event: str
    name: str
    run_id: str
    parent_ids: list[str]
    tags: list[str]
    metadata: dict[str, Any]


class StandardStreamEvent(BaseStreamEvent):
    """Something that happened in a run, with ``data``."""

    data: EventData


class CustomStreamEvent(BaseStreamEvent):
    """What the application said of itself (`hocket.callbacks.dispatch_custom_event`): ``data`` is what was dispatched."""

    data: Any


StreamEvent: TypeAlias = StandardStreamEvent | CustomStreamEvent
"""Something that happened; the ``event`` of a `CustomStreamEvent` is ``on_custom_event``."""


class EventFilter(NamedTuple):
    """Which events are wanted: those that an ``include`` names, or all if there is none, less what ``exclude`` names."""

    include_names: Sequence[str] | None = None
    include_types: Sequence[str] | None = None
    include_tags: Sequence[str] | None = None
    exclude_names: Sequence[str] | None = None
    exclude_types: Sequence[str] | None = None
    exclude_tags: Sequence[str] | None = None

    def wants(self, event: StreamEvent, kind: str) -> bool:
        """Whether an event of a run of this kind is wanted."""
        include = (self.include_names, self.include_types, self.include_tags)
        if any(one is not None for one in include) and not _names(include, event, kind):
            return False
        return not _names((self.exclude_names, self.exclude_types, self.exclude_tags), event, kind)


def _names(given: tuple[Sequence[str] | None, ...], event: StreamEvent, kind: str) -> bool:
    names, types, tags = (one or () for one in given)
    return event["name"] in names or kind in types or any(tag in tags for tag in event["tags"])


class _Run(NamedTuple):
    """What the events of one run have in common."""

    kind: str
    name: str
    parent_ids: list[str]
    tags: list[str]
    metadata: dict[str, Any]
    input: Any


class EventHandler(AsyncCallbackHandler):
    """Puts what it is told into a sink.

    Args:
        sink: takes the events. It belongs to the event loop that this is made on; it may be told on others.
        wanted: which.
        input: what the first run, whose events these are, was called with.
    """

    def __init__(self, sink: Sink[StreamEvent], wanted: EventFilter, input: object) -> None:
        self._sink = sink
        self._wanted = wanted
        self._input = input
        self._first: UUID | None = None
        self._token = current_token()
        self._runs: dict[UUID, _Run] = {}
        self._streamed: dict[UUID, str | None] = {}  # models that have given pieces, and the mark of the last one

    # -- what it is told

    async def on_chain_start(self, serialized: object, inputs: object, **details: Any) -> None:
        await self._start(details.get("run_type") or "chain", serialized, inputs, **details)

    async def on_chat_model_start(
        self, serialized: object, messages: Sequence[Sequence[object]], **details: Any
    ) -> None:
        await self._start("chat_model", serialized, {"messages": [list(one) for one in messages]}, **details)

    async def on_llm_start(self, serialized: object, prompts: object, **details: Any) -> None:
        await self._start("llm", serialized, {"prompts": prompts}, **details)

    async def on_tool_start(self, serialized: object, input_str: str, *, inputs: object = None, **details: Any) -> None:
        await self._start("tool", serialized, input_str if inputs is None else inputs, **details)

    async def on_retriever_start(self, serialized: object, query: str, **details: Any) -> None:
        await self._start("retriever", serialized, {"query": query}, **details)

    async def on_chain_chunk(self, chunk: Any, *, run_id: UUID, **details: object) -> None:
        run = self._runs.get(run_id)
        if run is not None and not (run.kind in _WHOLE or (run.kind == "parser" and run.input != "")):
            await self._tell(run_id, "stream", {"chunk": chunk})

    async def on_llm_new_token(self, token: str, *, run_id: UUID, chunk: Any = None, **details: object) -> None:
        shown = chunk.message if isinstance(chunk, ChatGenerationChunk) else chunk or GenerationChunk(text=token)
        self._streamed[run_id] = getattr(shown, "chunk_position", None)
        await self._tell(run_id, "stream", {"chunk": shown})

    async def on_chain_end(self, outputs: object, *, run_id: UUID, **details: object) -> None:
        self._end(run_id, "end", {"output": outputs}, **details)

    async def on_llm_end(self, response: LLMResult, *, run_id: UUID, **details: object) -> None:
        first = response.generations[0][0] if response.generations and response.generations[0] else None
        if not isinstance(first, ChatGeneration):
            self._end(run_id, "end", {"output": _describe_result(response)})
        elif run_id in self._streamed:
            whole = as_chunk(first.message).model_copy(update={"chunk_position": self._streamed[run_id]})
            self._end(run_id, "end", {"output": whole})
        else:
            self._end(run_id, "end", {"output": first.message})

    async def on_tool_end(self, output: object, *, run_id: UUID, **details: object) -> None:
        self._end(run_id, "end", {"output": output})

    async def on_retriever_end(self, documents: object, *, run_id: UUID, **details: object) -> None:
        self._end(run_id, "end", {"output": documents})

    async def on_chain_error(self, error: BaseException, *, run_id: UUID, **details: object) -> None:
        self._end(run_id, "error", {"error": error})

    async def on_llm_error(self, error: BaseException, *, run_id: UUID, **details: object) -> None:
        await self.on_chain_error(error, run_id=run_id)

    async def on_tool_error(self, error: BaseException, *, run_id: UUID, **details: object) -> None:
        self._end(run_id, "error", {"error": error, "tool_call_id": details.get("tool_call_id")})

    async def on_retriever_error(self, error: BaseException, *, run_id: UUID, **details: object) -> None:
        await self.on_chain_error(error, run_id=run_id)

    async def on_custom_event(self, name: str, data: object, *, run_id: UUID, **details: Any) -> None:
        run = self._runs.get(run_id)
        parents = run.parent_ids if run is not None else []
        own = _Run("custom", name, parents, details.get("tags") or [], details.get("metadata") or {}, None)
        await self._put(_event("on_custom_event", own, run_id, data), own.kind)

    # -- events of them

    async def _start(self, kind: str, serialized: object, input: object, *, run_id: UUID, **details: Any) -> None:
        parent_id = details.get("parent_run_id")
        parent = self._runs.get(parent_id) if parent_id is not None else None
        parents = [*parent.parent_ids, str(parent_id)] if parent is not None else []
        name = details.get("name") or _get_class_name(serialized) or kind
        run = _Run(kind, name, parents, details.get("tags") or [], details.get("metadata") or {}, input)
        self._runs[run_id] = run
        if self._first is None:
            self._first, input = run_id, self._input
        await self._put(_event(f"on_{kind}_start", run, run_id, _input_data(input)), kind)

    async def _tell(self, run_id: UUID, what: str, data: dict[str, Any]) -> None:
        run = self._runs.get(run_id)
        if run is not None:
            await self._put(_event(f"on_{run.kind}_{what}", run, run_id, data), run.kind)

    def _end(self, run_id: UUID, what: str, data: dict[str, Any], *, inputs: object = None, **details: object) -> None:
        run = self._runs.pop(run_id, None)
        self._streamed.pop(run_id, None)
        if run is not None:
            if run_id != self._first or what == "error":  # of the first, the caller knows it
                data.update(_input_data(run.input if inputs is None else inputs))
            waiting = self._put(_event(f"on_{run.kind}_{what}", run, run_id, data), run.kind)
            close = getattr(waiting, "close", None)
            if close is not None:  # a coroutine that will not be awaited
                close()

    def _put(self, event: StreamEvent, kind: str) -> Awaitable[None]:
        """Put an event at once, and return something to await before the next."""
        if not self._wanted.wants(event, kind):
            return _nothing()
        if current_token().native_token is not self._token.native_token:  # a sync verb's, on hocket's own loop
            call_soon(self._token, functools.partial(self._post, event))
            return _nothing()
        return self._sink.put(event) or _nothing()

    def _post(self, event: StreamEvent) -> None:
        close = getattr(self._sink.put(event), "close", None)
        if close is not None:
            close()


def _describe_result(response: LLMResult) -> dict[str, Any]:
    """Return the answers of a text model as data."""
    candidates = [
        [{"text": one.text, "generation_info": one.generation_info, "type": one.type} for one in several]
        for several in response.generations
    ]
    return {"generations": candidates, "llm_output": response.llm_output}


def _get_class_name(serialized: object) -> str | None:
    return cast("dict[str, str]", serialized).get("name") if isinstance(serialized, dict) else None


async def _nothing() -> None:
    """Wait for nothing."""


def _input_data(input: object) -> dict[str, Any]:
    """Return the input, unless it comes in pieces and is told at the end."""
    return {} if input == "" else {"input": input}


def _event(name: str, run: _Run, run_id: UUID, data: object) -> StreamEvent:
    event = {
        "event": name,
        "name": run.name,
        "run_id": str(run_id),
        "parent_ids": list(run.parent_ids),
        "tags": list(run.tags),
        "metadata": dict(run.metadata),
        "data": data,
    }
    return cast(StreamEvent, event)
