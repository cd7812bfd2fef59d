"""An answer as it comes, in OpenAI's form, for a route of one's own."""

from collections.abc import AsyncIterable

from hocket.messages import AIMessage
from hocket.serving.event_body import PING_SECONDS, EventBody
from hocket.serving.gateway.chat_reply import CompletionWriter

__all__ = ["openai_events"]


def openai_events(
    stream: AsyncIterable[AIMessage | str],
    *,
    model: str = "hocket",
    include_usage: bool = False,
    ping: float | None = PING_SECONDS,
) -> EventBody[AIMessage | str]:
    """Return the body of a streamed chat completion, for a ``StreamingResponse`` or the like.

        StreamingResponse(openai_events(model.astream(messages), model="assistant"), headers=SSE_HEADERS)

    A stream that breaks off ends in an error event, on which OpenAI's clients raise, without a finish reason. A client that
    leaves closes the stream. See `openai_app` for all of OpenAI's API.

    Args:
        stream: an answer: what ``astream`` of a model, or of a chain that ends in one, returns.
        model: what the client is told about who answers.
        include_usage: whether the last event is to tell usage.
        ping: seconds of silence after which a comment is sent; None: never.

    Raises:
        InvalidInput: ``stream`` is no async iterable, or ``ping`` no number above 0.
    """
    return EventBody(stream, CompletionWriter(model, include_usage=include_usage), ping)
