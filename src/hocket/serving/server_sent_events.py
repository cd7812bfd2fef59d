"""Any stream as server-sent events, for a page or a program of one's own: `sse`."""

from collections.abc import AsyncIterable, Callable, Mapping
from typing import TypeVar, cast, get_args

from hocket._runtime.clock import new_run_id
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.serving.event_body import PING_SECONDS, EventBody
from hocket.serving.hocket_events import HocketWriter
from hocket.serving.page_writer import PageWriter, StreamProtocol, check_id
from hocket.serving.pages.ag_ui_events import AGUIEvents
from hocket.serving.pages.part_events import PartEvents
from hocket.serving.pages.part_writer import PartWriter
from hocket.serving.pages.vercel_events import VercelEvents

__all__ = ["make_writer", "sse"]

T = TypeVar("T")

_EVENTS: Mapping[str, type[PartEvents]] = {"vercel": VercelEvents, "ag-ui": AGUIEvents}


def sse(
    stream: AsyncIterable[T],
    *,
    encode: Callable[[T], object] | None = None,
    ping: float | None = PING_SECONDS,
    protocol: StreamProtocol = "hocket",
    id: str = "",
    thread: str = "",
) -> EventBody[T]:
    """Return the body of a reply that tells a stream as it comes, for a ``StreamingResponse`` or the like.

        return StreamingResponse(sse(model.astream(question)), headers=SSE_HEADERS)

    In hocket's own protocol each item is an event. After the last one comes ``event: end``, so that a client knows an answer
    that is whole from one that broke off; where the stream fails, ``event: error`` comes instead, with ``{"error":
    {"message", "type", "code", …}}``, and ``retry_after`` in seconds where that is known. Its words are hocket's, for
    anybody to read: what the model's server or the program said is in the log, of the logger "hocket.serving". In silence a
    comment is sent. The other protocols are those of pages that others have written, for ``useChat`` and for clients of
    AG-UI; ``headers`` of the body has the headers of the reply.

    A client that leaves closes the stream, as its consumer would: handlers hear ``on_llm_end`` with ``closed=True``, what a
    `Conversation` was told is kept, and nobody hears of a failure. So pass the stream itself; of a generator around one
    nobody can tell whether it was left or cancelled.

    Args:
        stream: what an ``astream`` returns, of a model, a chain, a conversation or an agent; or any async iterable.
        encode: what is sent of an item: a `OutgoingEvent`, a text, or anything that JSON has; None: nothing. By default
            `describe_item`.
        ping: seconds of silence after which a comment is sent; None: never.
        protocol: "hocket", "vercel" (UI message stream, version 1) or "ag-ui" (1.0).
        id: of the run, which Vercel calls ``messageId`` and AG-UI ``runId``; "": a new one.
        thread: of the conversation, as AG-UI's ``threadId``; "": that of the run.

    Raises:
        InvalidInput: ``stream`` is no async iterable, ``ping`` no number above 0, there is no such protocol, ``encode`` is
            given for one that is not hocket's own, or an id is not one line of at most 200 printable characters.

    Examples:
        >>> import asyncio
        >>> from hocket import FakeListChatModel
        >>> from hocket.serving import sse
        >>> async def main():
        ...     async for event in sse(FakeListChatModel(responses=["H"]).astream("Hi")):
        ...         print(event.decode().strip())
        >>> asyncio.run(main())
        data: {"text":"H"}
        event: end
        data: {}
    """
    writer = make_writer(protocol, id, thread, cast("Callable[[object], object] | None", encode))
    return EventBody(stream, writer, ping, writer.headers)


def make_writer(
    protocol: StreamProtocol, id: str = "", thread: str = "", encode: Callable[[object], object] | None = None
) -> PageWriter:
    """Return a writer of the events of one stream; see `sse` for what it takes, and what it raises."""
    if protocol not in get_args(StreamProtocol):
        raise InvalidInput(f"protocol is {excerpt(protocol)}; it is one of {', '.join(get_args(StreamProtocol))}")
    id = check_id("id", id or str(new_run_id()))
    thread = check_id("thread", thread or id)
    if protocol == "hocket":
        return HocketWriter(encode)
    if encode is not None:
        raise InvalidInput(f"encode is for hocket's own events; those of protocol={protocol!r} are as it has them")
    return PartWriter(_EVENTS[protocol](id, thread))
