"""A cassette as a file: JSON that a person can read, and review in a diff.

Requests are JSON where they are JSON. Replies are the pieces as they came, each with the seconds before it, since the
parsers are to be given again what they were given: a text where a piece is one, else base64. `hocket.http.tape` reads it.
"""

import base64
import contextlib
import json
import os
import secrets
import tempfile
from collections.abc import Generator, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import BinaryIO

from pydantic_core import from_json

from hocket._version import __version__
from hocket.errors import InvalidInput
from hocket.http.tape import FAILURES, FORMAT, BrokenOff, RecordedExchange, RecordedRequest, Tape, read_tape

__all__ = ["FORMAT", "Tape", "check_writable", "read_tape", "write_tape"]


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
    name = next(name for name, kind in FAILURES.items() if isinstance(end.failure, kind))
    return {"failure": name, **kept, "message": end.failure.message, "retryable": end.failure.retryable}
