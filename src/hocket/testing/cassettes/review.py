"""What is wrong with cassettes that are about to be committed: secrets in them, and their age."""

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from hocket._secrets import is_sensitive
from hocket.errors import InvalidInput
from hocket.testing.cassettes.tape import Tape, read_tape

__all__ = ["find_cassettes", "review_cassette"]

_KEYS = re.compile(
    r"\b(?:sk|pk|rk|gsk|xai|hf|nvapi|pplx|ghp|gho|r8|csk|fw|xox[abp])[-_](?=[\w-]*\d)[\w-]{16,}"  # prefixes of keys
    r"|\bAIza[\w-]{30,}|\bAKIA[A-Z0-9]{16}\b"
    r"|\beyJ[\w-]{10,}\.eyJ[\w-]{10,}\.[\w-]{10,}"  # a JSON web token
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----"
    r"|\b[Bb]earer (?=[\w.~+/=-]*\d)[\w.~+/=-]{20,}"
)
_HEAD = re.compile(rb'\s*\{\s*"cassette"\s*:')  # other JSON lies about in tests
_SHORTEST = 12  # characters of a value of the environment that is looked for


def find_cassettes(place: Path) -> list[Path]:
    """Return the cassettes in a directory and those below, in order; a file is one itself.

    Raises:
        InvalidInput: there is no such place.
    """
    if place.is_dir():
        return sorted(path for path in place.rglob("*.json") if _HEAD.match(path.read_bytes()))
    if not place.exists():
        raise InvalidInput(f"there is no {place}; name a cassette, or a directory of them")
    return [place]


def review_cassette(path: Path, max_age: float) -> Iterator[str]:
    """Yield what is wrong with a cassette. No secret is repeated.

    Args:
        path: of the cassette.
        max_age: days that it may be old.
    """
    try:
        tape = read_tape(path)
    except (InvalidInput, OSError) as error:
        yield str(error)
        return
    for number, text in enumerate(_list_exchanges(tape), 1):
        kinds = {"what looks like a key" for _ in _KEYS.finditer(text)}
        kinds |= {f"the value of {name}" for name, value in _list_environment() if value in text}
        for kind in sorted(kinds):
            yield f"exchange {number} has {kind}: record it again with scrub=..., and change the key if it was committed"
    age = (datetime.now(UTC) - tape.recorded).days if tape.recorded is not None else 0
    if age > max_age:
        yield f"it was recorded {age} days ago, and may be {max_age:g} days old: `pytest --hocket-record=all`"


def _list_exchanges(tape: Tape) -> Iterator[str]:
    for one in tape.exchanges:
        parts = [
            one.request.url.encode(),
            one.request.body,
            *(value.encode() for value in one.headers.values()),
            one.body,
        ]
        yield b"\n".join(parts).decode("utf-8", "replace")


def _list_environment() -> Iterator[tuple[str, str]]:
    """Yield the secrets of the checking process."""
    for name, value in os.environ.items():
        if is_sensitive(name) and len(value) >= _SHORTEST:
            yield name, value
