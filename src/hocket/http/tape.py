"""A recording of requests and replies as a file, read: a cassette, see `hocket.testing.cassettes`, which writes it.

It is read here since more than tests do so: an evaluation takes its cases out of one.
"""

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError

from hocket._version import __version__
from hocket.errors import ConnectionFailed, ConnectTimeout, InvalidInput, InvalidReply, LLMError, RequestTimeout

__all__ = ["FAILURES", "FORMAT", "BrokenOff", "RecordedExchange", "RecordedRequest", "Tape", "read_tape"]

FORMAT = 1
"""The version of the format; a later one is refused."""

FAILURES: Mapping[str, type[LLMError]] = {
    one.__name__: one for one in (ConnectTimeout, ConnectionFailed, RequestTimeout, InvalidReply)
}
"""What a transport raises."""


@dataclass(frozen=True, slots=True)
class RecordedRequest:
    """A request without its secrets. Its headers are not kept: they are keys, and what a client says of itself.

    Attributes:
        method: ``POST``, ``GET``.
        url: whole, for the reader of a cassette; the host does not count when requests are compared.
        body: as it was sent.
    """

    method: str
    url: str
    body: bytes


@dataclass(slots=True)
class BrokenOff:
    """How a reply ended that did not come whole.

    Attributes:
        after: seconds since what came last.
        failure: what the transport raised; None: it was given up by who had asked.
    """

    after: float
    failure: LLMError | None = None


@dataclass(slots=True)
class RecordedExchange:
    """A request, and what came of it.

    Attributes:
        request: what was sent.
        status: of the reply; None: there was none.
        headers: of the reply, those that are kept.
        after: seconds until the reply began.
        pieces: of the body as they came, each with the seconds since the one before.
        end: how it ended, if not properly.
    """

    request: RecordedRequest
    status: int | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    after: float = 0.0
    pieces: Sequence[tuple[float, bytes]] = ()
    end: BrokenOff | None = None

    @property
    def body(self) -> bytes:
        """The body of the reply, as far as it came."""
        return b"".join(piece for _, piece in self.pieces)


@dataclass
class Tape:
    """What a cassette's file says.

    Attributes:
        exchanges: in the order in which the requests were made.
        recorded: when the file was written.
        version: of the hocket that wrote it.
    """

    exchanges: list[RecordedExchange] = field(default_factory=list[RecordedExchange])
    recorded: datetime | None = None
    version: str = __version__


class _Base64(BaseModel):
    base64: str


_Bytes: TypeAlias = str | _Base64


class _Request(BaseModel):
    method: str
    url: str
    body: Any = Field(default=None, alias="json")
    text: _Bytes | None = None


class _Reply(BaseModel):
    status: int
    headers: dict[str, str] = {}
    after: float = 0
    pieces: list[tuple[Annotated[float, Field(ge=0)], _Bytes]] = []


class _End(BaseModel):
    after: Annotated[float, Field(ge=0)] = 0
    failure: Literal["left", "ConnectTimeout", "ConnectionFailed", "RequestTimeout", "InvalidReply"] = "left"
    message: str = ""
    retryable: bool = False


class _Exchange(BaseModel):
    request: _Request
    reply: _Reply | None = None
    end: _End | None = None


class _File(BaseModel):
    hocket: str
    recorded: datetime
    exchanges: list[_Exchange]


def read_tape(path: Path) -> Tape:
    """Read a cassette.

    Raises:
        InvalidInput: it cannot be read, is damaged, is something else, or is of a later version.
        FileNotFoundError: there is none.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError:
        raise
    except OSError as error:
        raise InvalidInput(f"the cassette {path} cannot be read: {error.strerror or error}") from error
    try:
        # Python's own parser: the strings of a request may hold what is no Unicode, as `\ud800`.
        data: Any = json.loads(content)
        version = data["cassette"]
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        raise _refuse(path, f"{type(error).__name__}: {error}") from error
    if not isinstance(version, int) or version > FORMAT:
        raise InvalidInput(
            f"the cassette {path} has the format {version!r}, and this hocket ({__version__}) knows those up to {FORMAT}: "
            "update hocket, or record it again"
        )
    try:
        file = _File.model_validate(data)
        exchanges = [_load_exchange(one) for one in file.exchanges]
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        raise _refuse(path, f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from error
    except ValueError as error:
        raise _refuse(path, str(error)) from error
    recorded = file.recorded if file.recorded.tzinfo else file.recorded.replace(tzinfo=UTC)
    return Tape(exchanges, recorded, file.hocket)


def _refuse(path: Path, why: str) -> InvalidInput:
    return InvalidInput(
        f"{path} is damaged, or no cassette ({why[:300]}): take it from version control again, or delete and record it"
    )


def _load_exchange(one: _Exchange) -> RecordedExchange:
    request = one.request
    if "body" in request.model_fields_set:
        body = json.dumps(request.body).encode()
    else:
        body = b"" if request.text is None else _load_bytes(request.text)
    exchange = RecordedExchange(RecordedRequest(request.method, request.url, body))
    if one.reply is not None:
        exchange.status, exchange.headers, exchange.after = one.reply.status, one.reply.headers, one.reply.after
        exchange.pieces = _load_pieces(one.reply.pieces)
    if one.end is not None:
        exchange.end = BrokenOff(one.end.after, _load_failure(one.end))
    if one.reply is None and one.end is None:
        raise ValueError(f"the request {request.method} {request.url} has neither a reply nor an end")
    return exchange


def _load_pieces(pieces: Sequence[tuple[float, _Bytes]]) -> list[tuple[float, bytes]]:
    return [(after, data) for after, piece in pieces if (data := _load_bytes(piece))]


def _load_bytes(data: _Bytes) -> bytes:
    return data.encode() if isinstance(data, str) else base64.b64decode(data.base64, validate=True)


def _load_failure(end: _End) -> LLMError | None:
    if end.failure == "left":
        return None
    return FAILURES[end.failure](end.message, retryable=end.retryable)
