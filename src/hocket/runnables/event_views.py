"""The stream that `Runnable.astream_events` returns: the events of a run, and views of a part of it.

There is one run, and one stream behind all views. The reader of one view reads for all views that are in use.
"""

import collections
import functools
import weakref
from collections.abc import Awaitable, Callable, Iterable
from typing import Any, Generic, Self, TypeVar, cast

import anyio

from hocket._runtime.closing import AsyncClosing
from hocket._runtime.mode import ASYNC
from hocket._runtime.sinks import MappingSink, Sink
from hocket._runtime.stream import Stream
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage, ToolCall
from hocket.runnables.config import RunnableConfig, ensure_config, merge_configs
from hocket.runnables.stream_events import EventFilter, EventHandler, StreamEvent

__all__ = ["EventStream", "EventView"]

T = TypeVar("T")
Output = TypeVar("Output")

BOUND = 1000  # what one view may be behind the others


class _Piece:
    """A piece of the output of the run itself, among the events."""

    __slots__ = ("value",)

    def __init__(self, value: object) -> None:
        self.value: object = value


_Item = StreamEvent | _Piece


class EventView(Generic[T]):
    """An async iterator over what one sort of reader wants to know of a run, from the time that it was asked for.

    One that falls 1,000 items behind the other views is given up, and says so when it is read.
    """

    def __init__(
        self, pull: Callable[["EventView[T]"], Awaitable[None]], select: Callable[[_Item], Iterable[T]]
    ) -> None:
        self._pull = pull
        self._select = select
        self._ready: collections.deque[T] = collections.deque()
        self._is_late = False

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> T:
        while not self._ready:
            if self._is_late:
                raise InvalidInput(f"this view of a run was not read while others were, and fell {BOUND} items behind")
            await self._pull(self)
        return self._ready.popleft()

    @property
    def has_news(self) -> bool:
        """Whether there is something to read."""
        return bool(self._ready) or self._is_late

    def take(self, item: _Item) -> None:
        """Take what of ``item`` this view is about."""
        if not self._is_late:
            self._ready.extend(self._select(item))
            if len(self._ready) > BOUND:
                self._is_late = True
                self._ready.clear()


class EventStream(AsyncClosing, Generic[Output]):
    """The events of a run, and of the runs inside it: an async iterator, to be left at any point (see `Stream`).

    The run starts at the first pull. The views `text`, `reasoning`, `tool_calls` and `output` can be read instead, or
    beside it, from one task or several: ask for those that are wanted before the first is read.
    """

    def __init__(
        self, runnable: Any, input: Any, config: RunnableConfig | None, kwargs: dict[str, object], wanted: EventFilter
    ) -> None:
        given = ensure_config(config)

        async def produce(sink: Sink[Any]) -> None:
            listening = merge_configs(given, {"callbacks": [EventHandler(sink, wanted, input)]})
            await runnable._produce(ASYNC, input, listening, kwargs, MappingSink(sink, _Piece))

        self._stream = Stream(produce)
        self._views: weakref.WeakSet[EventView[Any]] = weakref.WeakSet()
        self._pulling = anyio.Lock(fast_acquire=True)
        self._events: EventView[StreamEvent] = self._view(_event)

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> StreamEvent:
        return await anext(self._events)

    @functools.cached_property
    def text(self) -> EventView[str]:
        """What models say: text, as it comes; of a model that does not stream, when it ends."""
        return self._view(_Said("text"))

    @functools.cached_property
    def reasoning(self) -> EventView[str]:
        """What models think, as far as they tell: text, as it comes; of a model that does not stream, when it ends."""
        return self._view(_Said("reasoning"))

    @functools.cached_property
    def tool_calls(self) -> EventView[ToolCall]:
        """The tool calls of models, each when its model has ended."""
        return self._view(_tool_calls)

    @functools.cached_property
    def output(self) -> EventView[Output]:
        """The pieces of the output of the run itself: what `astream` gives."""
        return self._view(_output)

    async def aclose(self) -> None:
        """Leave the stream: cancel the run and wait until it has ended. Safe to call twice, from any task."""
        await self._stream.aclose()

    def _view(self, select: Callable[[_Item], Iterable[T]]) -> EventView[T]:
        view = EventView(self._pull, select)
        self._views.add(view)
        return view

    async def _pull(self, reader: EventView[Any]) -> None:
        """Wait for what comes next, for all views; unless ``reader`` got something meanwhile."""
        async with self._pulling:
            if not reader.has_news:
                item = await anext(self._stream)
                for view in self._views:
                    view.take(item)


def _event(item: _Item) -> Iterable[StreamEvent]:
    return () if isinstance(item, _Piece) else (item,)


def _output(item: _Item) -> Iterable[Any]:
    return (item.value,) if isinstance(item, _Piece) else ()


def _tool_calls(item: _Item) -> Iterable[ToolCall]:
    if isinstance(item, _Piece) or item["event"] != "on_chat_model_end":
        return ()
    return tuple(getattr(item["data"]["output"], "tool_calls", ()))


class _Said:
    """Selects the texts of one kind that models say."""

    def __init__(self, kind: str) -> None:
        self._kind = kind
        self._streaming: set[str] = set()  # the runs whose text has come in pieces

    def __call__(self, item: _Item) -> Iterable[str]:
        if isinstance(item, _Piece) or not item["event"].startswith(("on_chat_model_", "on_llm_")):
            return ()
        run_id, data = item["run_id"], item["data"]
        if "chunk" in data:
            self._streaming.add(run_id)
            return self._texts(data["chunk"])
        if run_id in self._streaming:
            self._streaming.discard(run_id)
            return ()
        return self._texts(data.get("output"))

    def _texts(self, said: Any) -> list[str]:
        """Return the texts in a message, in a chunk of a text model, or in its result."""
        if isinstance(said, dict):
            texts = [one["text"] for several in cast("dict[str, Any]", said)["generations"][:1] for one in several[:1]]
            return [text for text in texts if text] if self._kind == "text" else []
        if self._kind == "text":
            return [str(said.text)] if said is not None and said.text else []
        blocks: Any = said.content_blocks if isinstance(said, BaseMessage) else ()
        return [block["reasoning"] for block in blocks if block["type"] == "reasoning" and block.get("reasoning")]
