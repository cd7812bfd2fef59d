"""A request that goes on as it came, and its reply as it comes: for a client that speaks the format of the model's server.

The call is a call as any other: retries, deadlines, limits, budgets and ledgers are those of the model, and its hook is
asked. But the hook sends the client's body, and the bytes of the reply go to the client. Of them only those events are
read that tell usage, an end or a failure. Of the rest, which are nearly all, the texts are cut out: a stream that breaks off
has told no usage, and is billed by what came of it.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextvars import ContextVar, Token
from typing import NamedTuple, cast

from pydantic_core import from_json

from hocket.errors import HocketError
from hocket.http.failures import has_failed
from hocket.http.request import HTTPRequest
from hocket.messages import AIMessage, AIMessageChunk, UsageMetadata
from hocket.messages.content import FieldsView
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.remote.stream_decoder import StreamDecoder

__all__ = ["Relay", "RelayDecoder", "RelayFormat", "find_relay", "match_texts", "read_usage"]


def match_texts(names: str) -> re.Pattern[bytes]:
    """Return what matches the text of each JSON field of one of ``names``, which stand with a ``|`` between them."""
    return re.compile(rb'"(?:%b)": ?"([^"\\]*+(?:\\.[^"\\]*+)*+)"' % names.encode(), re.DOTALL)


class RelayFormat(NamedTuple):
    """A format that a client and a model's server may have in common.

    Attributes:
        name: of the format.
        read_usage: returns what the ``usage`` of a reply says; None: nothing.
        is_plain: whether an event of a stream, as bytes, tells nothing but a piece of the answer.
        texts: matches what such events have of its text, its thoughts and the arguments of its calls (`match_texts`).
        is_summary: whether it tells nothing but usage, for which a client has to ask.
    """

    name: str
    read_usage: Callable[[object], UsageMetadata | None]
    is_plain: Callable[[bytes], bool]
    texts: re.Pattern[bytes]
    is_summary: Callable[[bytes], bool] = lambda event: False


class Relay:
    """One request on its way through a model.

    Args:
        model: that is asked; a call of another one is none of the relay's.
        format: of the body, and of the reply.
        request: what is sent, but for its key.
        shows_summary: whether the client has asked for the event that tells usage.
    """

    def __init__(self, model: object, format: RelayFormat, request: HTTPRequest, *, shows_summary: bool = True) -> None:
        self.model: object = model
        self.format = format
        self.request = request
        self.shows_summary = shows_summary
        self._reply: list[bytes] = []

    def use(self) -> Token["Relay | None"]:
        """Have calls of this task, and of those that it starts, go on as this request, until the token is given back."""
        return _relay.set(self)

    @staticmethod
    def end(token: Token["Relay | None"]) -> None:
        """Give a token back."""
        _relay.reset(token)

    def add(self, data: bytes) -> None:
        """Add bytes of the reply."""
        self._reply.append(data)

    def take(self) -> bytes:
        """Return the bytes that have come since this was asked last."""
        reply, self._reply = self._reply, []
        return b"".join(reply)

    def restart(self) -> None:
        """Forget the reply: there is another attempt."""
        self._reply.clear()


_relay: ContextVar[Relay | None] = ContextVar("hocket_relay", default=None)


def find_relay(model: object) -> Relay | None:
    """Return the relay that a call of ``model`` is of; None: it is a call as any other."""
    relay = _relay.get()
    return relay if relay is not None and relay.model is model else None


def read_usage(format: RelayFormat, content: bytes) -> ChatResult | None:
    """Return an answer that tells the usage of a whole reply, and no more; None: it has to be read to say what it is."""
    try:
        data: object = from_json(content)
    except ValueError:
        return None
    fields: FieldsView = cast(FieldsView, data) if isinstance(data, dict) else {}
    usage = format.read_usage(fields.get("usage"))
    if usage is None or has_failed(fields):
        return None
    return ChatResult(generations=[ChatGeneration(message=AIMessage("", usage_metadata=usage))])


class RelayDecoder(StreamDecoder[ChatGenerationChunk]):
    """Hands the events of a stream on to a relay, and has those read that tell more than a piece of the answer.

    Args:
        relay: where the bytes go.
        inner: reads them.
    """

    def __init__(self, relay: Relay, inner: StreamDecoder[ChatGenerationChunk]) -> None:
        super().__init__(inner.provider, inner.headers)
        self._relay = relay
        self._inner = inner
        self._waiting: list[bytes] = []  # of an event whose end has not come
        self._last = b""  # the last byte that came: the end of an event, or of a line, may be cut

    def read(self, data: Mapping[str, object], event: str) -> ChatGenerationChunk | None:
        return self._inner.read(dict(data), event)

    def feed(self, data: bytes) -> Iterator[ChatGenerationChunk]:
        before, self._last = self._last, data[-1:] or self._last
        if before == b"\r":  # it has ended a line already, of which a line feed may come now
            before, data = b"\n", data.removeprefix(b"\n")
        data = data.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        self._waiting.append(data)
        if b"\n\n" not in before + data:  # joined once, however small the pieces of an event are
            return
        whole, end, rest = b"".join(self._waiting).rpartition(b"\n\n")
        self._waiting = [rest]
        if not end:
            return
        told, pieces, read, failure = list[bytes](), list[bytes](), list[ChatGenerationChunk](), None
        for event in whole.split(b"\n\n"):
            if self._relay.format.is_plain(event):
                pieces += self._relay.format.texts.findall(event)
            else:
                try:
                    read += self._inner.feed(event + end)
                except HocketError as error:  # what came before it is told
                    failure = error
                    break
                self.done: bool = self._inner.done
                self.ended: bool = self._inner.ended
                if not self._relay.shows_summary and self._relay.format.is_summary(event):
                    continue
            told.append(event)
        self._relay.add(end.join((*told, b"")) if told else b"")
        if pieces or (told and not read):
            yield ChatGenerationChunk(message=AIMessageChunk(_read_text(b"".join(pieces))))
        yield from read
        if failure is not None:
            raise failure

    def close(self) -> Iterable[ChatGenerationChunk]:
        return self._inner.close()


def _read_text(escaped: bytes) -> str:
    """Return a text that is written as in JSON; one that is written wrongly nearly so: its length is what counts."""
    try:
        return cast(str, from_json(b'"%b"' % escaped))
    except ValueError:
        return escaped.decode(errors="replace")
