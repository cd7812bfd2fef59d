"""Models over HTTP: OpenAI's API for any of them (`openai_app`), and streams as server-sent events (`sse`)."""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket._runtime.stream import finish_streams

if TYPE_CHECKING:
    from hocket.serving.event_body import SSE_HEADERS, EventBody
    from hocket.serving.gateway.app import openai_app
    from hocket.serving.gateway.completion_events import openai_events
    from hocket.serving.hocket_events import OutgoingEvent, describe_item
    from hocket.serving.live.answers import LiveAnswers
    from hocket.serving.live.chat_routes import chat_app
    from hocket.serving.live.head import LiveState
    from hocket.serving.page_writer import StreamProtocol
    from hocket.serving.pages.chat_input import ChatInput, read_chat
    from hocket.serving.server_sent_events import sse

_HOMES = {
    "live.chat_routes": "chat_app",
    "pages.chat_input": "ChatInput read_chat",
    "event_body": "SSE_HEADERS EventBody",
    "gateway.app": "openai_app",
    "hocket_events": "OutgoingEvent describe_item",
    "live.answers": "LiveAnswers",
    "live.head": "LiveState",
    "gateway.completion_events": "openai_events",
    "page_writer": "StreamProtocol",
    "server_sent_events": "sse",
}

__all__ = [
    "SSE_HEADERS",
    "ChatInput",
    "EventBody",
    "LiveAnswers",
    "LiveState",
    "OutgoingEvent",
    "StreamProtocol",
    "chat_app",
    "describe_item",
    "finish_streams",
    "openai_app",
    "openai_events",
    "read_chat",
    "sse",
]

__getattr__: Loader = loader(__name__, _HOMES)
