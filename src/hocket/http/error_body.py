"""The body of an error, whatever its shape: every shape that a known server sends has its case here."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple, cast

from pydantic_core import from_json

from hocket._json import JSON, JSONObject
from hocket._secrets import redact
from hocket.errors.hints import make_line

__all__ = ["ErrorBody", "read_error_body"]

QUOTED = 600
"""Characters of a server's text that an error repeats."""

PAGE = 20_000
"""Characters of an HTML page that are searched for text."""


class ErrorBody(NamedTuple):
    """What the body of an error says.

    Attributes:
        text: for people, in one line of printable characters.
        words: for machines: ``code``, ``type``, ``status``, Google's ``reason``; the most precise one first.
        status: a status inside the body; None: it has none.
        details: the other fields.
        request_id: the server's name for the request.
        data: the whole body as data, not redacted; None: it is none.
    """

    text: str
    words: tuple[str, ...] = ()
    status: int | None = None
    details: Mapping[str, JSON] = {}
    request_id: str | None = None
    data: object = None


def read_error_body(body: object, secrets: Iterable[str] = ()) -> ErrorBody:
    """Read a body, bytes or data.

    Secrets are taken out before a text is cut: of one that is cut, the rest would not be recognised.
    """
    if isinstance(body, bytes | bytearray | str):
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        try:
            body = from_json(text)
        except ValueError:
            return _read_text(redact(text, secrets))
    parsed = redact(cast(JSON, body), secrets)
    if isinstance(parsed, list) and parsed:  # Google wraps its errors in a list now and then
        parsed = parsed[0]
    if not isinstance(parsed, dict) or not parsed:
        return ErrorBody(_quote(str(parsed)) if parsed else "the reply says nothing", data=body)
    error, detail = parsed.get("error"), parsed.get("detail")
    if isinstance(error, dict):
        return _read_fields(error, parsed, body)
    if isinstance(error, str):
        return ErrorBody(_quote(error), data=body)
    if isinstance(detail, list):
        return ErrorBody(_quote("; ".join(map(_describe_problem, detail))), data=body)
    if "detail" in parsed:
        return ErrorBody(_quote(str(detail)), data=body)
    if "message" in parsed:
        return _read_fields(parsed, {}, body)
    return ErrorBody(_quote(str(parsed)), data=body)


def _read_fields(inner: JSONObject, outer: JSONObject, data: object) -> ErrorBody:
    code = inner.get("code")
    request_id = outer.get("request_id")
    words = [*_read_reasons(inner.get("details")), code, inner.get("type"), inner.get("status")]
    return ErrorBody(
        text=_quote(str(inner.get("message", inner))),
        words=tuple(word for word in words if isinstance(word, str) and word),
        status=code if isinstance(code, int) and 400 <= code < 600 else None,
        details={key: value for key, value in inner.items() if key != "message" and value is not None},
        request_id=request_id if isinstance(request_id, str) else None,
        data=data,
    )


def _read_reasons(details: JSON) -> list[JSON]:
    """Return the words that details have: Google's are a list with a ``reason`` each, Anthropic's have an ``error_code``."""
    if isinstance(details, dict):
        return [details.get("error_code")]
    return [one.get("reason") for one in details if isinstance(one, dict)] if isinstance(details, list) else []


def _read_text(text: str) -> ErrorBody:
    if "<html" in text[:1000].lower() or text.lstrip()[:9].lower() == "<!doctype":
        return ErrorBody(_quote(f"an HTML page instead of JSON: {_remove_tags(text[:PAGE])}"))
    return ErrorBody(_quote(text) or "the reply is empty")


def _remove_tags(page: str) -> str:
    pieces = (piece.partition(">")[2] for piece in f">{page}".split("<"))
    return " ".join(pieces)


def _describe_problem(problem: JSON) -> str:
    """Write one of pydantic's errors, as FastAPI sends them."""
    match problem:
        case {"loc": list(where), "msg": str(text)}:
            return f"{'.'.join(map(str, where))}: {text}"
        case _:
            return str(problem)


def _quote(text: str) -> str:
    text = make_line(text)
    return text if len(text) <= QUOTED else f"{text[:QUOTED]}… ({len(text)} characters)"
