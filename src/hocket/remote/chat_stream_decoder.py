"""The stream of a chat model's answer, read event by event: what its decoders share beyond the framing.

What is learnt of an answer is told with the next chunk, whichever event that comes of.
"""

from abc import ABC
from collections.abc import Mapping

from hocket._metering.listeners import opening_listener
from hocket.messages import UsageMetadata
from hocket.messages.content import Fields
from hocket.messages.fast_chunk import fast_chunk
from hocket.messages.tool_calls import ToolCallChunk
from hocket.outputs import ChatGenerationChunk
from hocket.remote.reply import read_headers
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["ChatStreamDecoder"]


class ChatStreamDecoder(StreamDecoder[ChatGenerationChunk], ABC):
    """Reads one stream of a chat model's answer. A provider defines `read`, which makes chunks with `make_chunk`.

    Args:
        provider: its name.
        headers: of the reply.
        include_headers: whether to tell all of them.

    Attributes:
        facts: what the next chunk says about the answer (``response_metadata``).
        usage: what it says of the tokens, where it is told none of its own; None: nothing.
        id: of the message; None: not known yet.
    """

    def __init__(
        self, provider: str, headers: Mapping[str, str] | None = None, *, include_headers: bool = False
    ) -> None:
        super().__init__(provider, headers)
        self.facts: Fields = {"model_provider": provider, **read_headers(self.headers, include_headers)}
        self.usage: UsageMetadata | None = None
        self.id: str | None = None

    def tell_opening(self) -> None:
        """Have it known what was said before the answer, should nothing follow: the next chunk says it all the same."""
        if (listener := opening_listener.get()) is not None:
            message = fast_chunk("", self.id, response_metadata={**self.facts}, usage_metadata=self.usage)
            listener(ChatGenerationChunk(message=message))

    def make_chunk(
        self,
        content: str | list[str | Fields],
        *,
        beside: Fields | None = None,
        calls: list[ToolCallChunk] | None = None,
        usage: UsageMetadata | None = None,
        finish: Mapping[str, str] | None = None,
    ) -> ChatGenerationChunk:
        """Return a chunk with these and with the facts so far, which are not told again.

        It is marked as the last one if the stream is over, or if the answer is and it tells what that has cost.

        Args:
            content: a text, or parts.
            beside: ``additional_kwargs``.
            calls: pieces of tool calls.
            usage: so far, as a running total, or since it was told last.
            finish: why the answer has ended (`normalize_finish`), if it has.
        """
        facts, self.facts = self.facts, {}
        usage, self.usage = usage or self.usage, None
        message = fast_chunk(
            content,
            self.id,
            additional_kwargs=beside,
            response_metadata={**facts, **finish} if finish else facts,
            tool_call_chunks=calls,
            usage_metadata=usage,
            is_last=self.done or (self.ended and usage is not None),
        )
        if finish:
            return ChatGenerationChunk(message=message, generation_info=dict(finish))
        return ChatGenerationChunk(message=message)
