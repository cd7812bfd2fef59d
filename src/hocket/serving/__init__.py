"""Models over HTTP: OpenAI's API for any of them (`openai_app`), and streams as server-sent events (`sse`)."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket._runtime.stream import finish_streams

if TYPE_CHECKING:
    from hocket.serving.event_body import SSE_HEADERS, EventBody
    from hocket.serving.gateway import openai_app
    from hocket.serving.openai_events import openai_events
    from hocket.serving.server_sent_events import OutgoingEvent, describe_item, sse

_HOMES = {
    "event_body": "SSE_HEADERS EventBody",
    "gateway": "openai_app",
    "openai_events": "openai_events",
    "server_sent_events": "OutgoingEvent describe_item sse",
}

__all__ = [
    "SSE_HEADERS",
    "EventBody",
    "OutgoingEvent",
    "describe_item",
    "finish_streams",
    "openai_app",
    "openai_events",
    "sse",
]

__getattr__: Loader = loader(__name__, _HOMES)
