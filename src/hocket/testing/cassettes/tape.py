"""A cassette as a file: JSON that a person can read, and review in a diff.

Requests are JSON where they are JSON. Replies are the pieces as they came, each with the seconds before it, since the
parsers are to be given again what they were given: a text where a piece is one, else base64.
"""

import base64
import contextlib
import json
import os
import secrets
import tempfile
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal, TypeAlias

from pydantic import BaseModel, Field, ValidationError
from pydantic_core import from_json

from hocket._version import __version__
from hocket.errors import ConnectionFailed, ConnectTimeout, InvalidInput, InvalidReply, LLMError, RequestTimeout
from hocket.testing.cassettes.exchanges import BrokenOff, RecordedExchange, RecordedRequest

__all__ = ["FORMAT", "Tape", "check_writable", "read_tape", "write_tape"]

FORMAT = 1
"""The version of the format; a later one is refused."""

_FAILURES: Mapping[str, type[LLMError]] = {
    one.__name__: one for one in (ConnectTimeout, ConnectionFailed, RequestTimeout, InvalidReply)
}
"""What a transport raises."""


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


def write_tape(path: Path, exchanges: Iterable[RecordedExchange]) -> None:
    """Write a cassette, as a whole or not at all.

    Raises:
        InvalidInput: it cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _replace(path) as file:
            for part in _write(exchanges):
                file.write(part.encode())
    except OSError as error:
        raise _refuse_writing(path, error) from error


def check_writable(path: Path) -> None:
    """Make sure that a cassette can be written, before anything is paid for.

    Raises:
        InvalidInput: it cannot.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.is_dir():
            raise IsADirectoryError(None, "it is a directory")
        with tempfile.TemporaryFile(dir=path.parent):
            pass
    except OSError as error:
        raise _refuse_writing(path, error) from error


def _refuse_writing(path: Path, error: OSError) -> InvalidInput:
    return InvalidInput(f"the cassette {path} cannot be written: {error.strerror or error}; choose another path")


@contextlib.contextmanager
def _replace(path: Path) -> Generator[BinaryIO]:
    """Open a file that takes the place of another when all is written: who reads meanwhile has the old or the new one."""
    name = path.with_name(f".{path.name[:40]}.{os.getpid()}.{secrets.token_hex(4)}.tmp")
    try:
        with open(name, "xb") as file:
            yield file
        os.replace(name, path)
    except BaseException:
        with contextlib.suppress(OSError):
            name.unlink()
        raise


def _write(exchanges: Iterable[RecordedExchange]) -> Iterator[str]:
    """Yield the text of a file. A piece has a line: a diff then shows what came otherwise."""
    now = datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")
    yield f'{{\n"cassette": {FORMAT},\n"hocket": "{__version__}",\n"recorded": "{now}",\n"exchanges": ['
    comma = ""
    for one in exchanges:
        yield f'{comma}\n{{\n"request": {_dump(_dump_request(one.request), indent=2)}'
        if one.status is not None:
            head = _dump({"status": one.status, "headers": one.headers, "after": round(one.after, 3)})
            pieces = ",\n  ".join(_dump([round(after, 3), _dump_bytes(piece)]) for after, piece in one.pieces)
            yield f',\n"reply": {head[:-1]}, "pieces": [\n  {pieces}\n]}}' if pieces else f',\n"reply": {head}'
        if one.end is not None:
            yield f',\n"end": {_dump(_dump_end(one.end))}'
        yield "\n}"
        comma = ","
    yield "\n]\n}\n"


def _dump(data: object, indent: int | None = None) -> str:
    text = json.dumps(data, indent=indent, ensure_ascii=False)
    try:
        text.encode()
    except UnicodeEncodeError:  # half of a pair, which is no Unicode
        return json.dumps(data, indent=indent)
    return text


def _dump_request(request: RecordedRequest) -> dict[str, object]:
    kept: dict[str, object] = {"method": request.method, "url": request.url}
    if not request.body:
        return kept
    try:
        return {**kept, "json": from_json(request.body)}
    except ValueError:
        return {**kept, "text": _dump_bytes(request.body)}


def _dump_bytes(data: bytes) -> object:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _dump_end(end: BrokenOff) -> dict[str, object]:
    kept: dict[str, object] = {"after": round(end.after, 3)}
    if end.failure is None:
        return {"failure": "left", **kept}
    name = next(name for name, kind in _FAILURES.items() if isinstance(end.failure, kind))
    return {"failure": name, **kept, "message": end.failure.message, "retryable": end.failure.retryable}


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
    return _FAILURES[end.failure](end.message, retryable=end.retryable)
