"""What `ChatOpenAI` leaves to the one of OpenAI's two chat APIs that it speaks: chat completions, or responses.

The model asks, and is told, by the same hooks whichever it is. An API holds nothing: what a request depends on is passed.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

from hocket.http.request import HTTPReply
from hocket.messages import BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.providers.openai.dialects import Dialect
from hocket.providers.openai.options import ModelOptions
from hocket.remote.relay import RelayFormat
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["ChatAPI", "RequestFacts"]


@dataclass(frozen=True, slots=True)
class RequestFacts:
    """What a request depends on beside messages and options.

    Attributes:
        dialect: of the server.
        stream: whether the answer is to come in pieces.
        stream_usage: whether a stream is to report usage, for servers that have to be asked.
        can_reason: whether the model may reason, as far as is known.
    """

    dialect: Dialect
    stream: bool
    stream_usage: bool
    can_reason: bool


class ChatAPI(ABC):
    """One of the APIs.

    Attributes:
        path: of its requests.
        has_deployments: whether Azure's older URLs of it name the model.
        call_ids: what the ids of tool calls must look like.
        relay_format: the format of requests that may go on as they came.
    """

    path: ClassVar[str]
    has_deployments: ClassVar[bool]
    call_ids: ClassVar[re.Pattern[str]]
    relay_format: ClassVar[RelayFormat]

    @abstractmethod
    def list_refused(self, dialect: Dialect) -> frozenset[str]:
        """Return the names of the options that the API, or the server, has no word for."""

    @abstractmethod
    def is_native(self, part: FieldsView) -> bool:
        """Whether a part of a reply's content is of the API's own format."""

    @abstractmethod
    def encode(self, messages: Sequence[BaseMessage], options: ModelOptions, facts: RequestFacts) -> Fields:
        """Return the body of a request. Raises as `hocket.remote.RemoteChatModel._request`."""

    @abstractmethod
    def encode_count(self, messages: Sequence[BaseMessage], tools: Sequence[FieldsView], model: str) -> Fields | None:
        """Return the body of a request for a count of tokens, which goes to ``input_tokens``; None: there is none."""

    @abstractmethod
    def decode(self, reply: HTTPReply, provider: str, *, include_headers: bool) -> ChatResult:
        """Return what a whole reply says."""

    @abstractmethod
    def make_decoder(
        self, dialect: Dialect, headers: Mapping[str, str], *, include_headers: bool
    ) -> StreamDecoder[ChatGenerationChunk]:
        """Return a decoder for one stream."""
