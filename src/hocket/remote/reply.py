"""A whole reply: its JSON or its error, what its headers say, and why an answer ended."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

from pydantic_core import from_json

from hocket._secrets import redact
from hocket.errors import HocketError, InvalidReply
from hocket.http.failures import REQUEST_IDS, classify_error, has_failed
from hocket.http.request import HTTPReply
from hocket.messages.content import Fields

__all__ = ["excerpt_reply", "normalize_finish", "read_answer", "read_headers", "read_reply"]

T = TypeVar("T")

_EXCERPT = 200  # characters of an unreadable reply that an error repeats


def read_reply(reply: HTTPReply, provider: str, read: Callable[[Any], T], expected: str) -> T:
    """Return what ``read`` makes of the data of a reply.

    Args:
        reply: whole, with a status of success.
        provider: its name, for errors.
        read: given the data, read from JSON. What it raises because of an odd shape becomes an `InvalidReply`.
        expected: what the reply should be, for that error: "chat completion".

    Raises:
        InvalidReply: it is not JSON, or not what was expected.
        LLMError: it says that the request failed, although its status is that of a good one.
    """
    try:
        data = from_json(reply.content)
    except ValueError as error:
        raise InvalidReply(f"the reply is not JSON: {excerpt_reply(reply.content)}") from error
    if has_failed(data):
        raise classify_error(None, reply.headers, data, provider=provider)
    try:
        return read(data)
    except HocketError:
        raise
    except Exception as error:  # whatever a server says ends in one of hocket's errors
        raise InvalidReply(f"the reply is no {expected}: {excerpt_reply(reply.content)}") from error


def read_answer(
    reply: HTTPReply, provider: str, read: Callable[[Any, Fields], T], expected: str, *, include_headers: bool = False
) -> T:
    """Return what ``read`` makes of the data of a reply that is an answer, as `read_reply` does.

    Args:
        reply, provider, expected: as there.
        read: given the data, and a dict with the first facts of the answer's ``response_metadata``: ``model_provider``, and
            what the headers say.
        include_headers: whether all headers are among the facts.
    """
    facts: Fields = {"model_provider": provider, **read_headers(reply.headers, include_headers)}
    return read_reply(reply, provider, lambda data: read(data, facts), expected)


def read_headers(headers: Mapping[str, str], include_headers: bool = False) -> Fields:
    """Return what the headers of a reply say about an answer, for its ``response_metadata``.

    Returns:
        the server's name for the request, under ``request_id``; with ``include_headers`` all headers, under ``headers``.
    """
    id = next((headers[name] for name in REQUEST_IDS if name in headers), None)
    return ({} if id is None else {"request_id": id}) | ({"headers": dict(headers)} if include_headers else {})


def normalize_finish(
    reason: object, words: Mapping[str, str], *, called: bool = False, refused: bool = False
) -> dict[str, str]:
    """Return why an answer ended: in the server's word, as it came, and in one that is the same for every provider.

    Args:
        reason: the server's word; None or "": it has said none.
        words: the server's words, and hocket's: stop, length, tool_calls, content_filter, error, paused. "other" stands
            for a word that is not among them.
        called: whether the answer calls tools: then "stop" is "tool_calls", for some servers say "stop" there as well.
        refused: whether it is a refusal: then "stop" is "content_filter".

    Returns:
        ``finish_reason`` and ``normalized_finish_reason``; nothing, where the server has said nothing.
    """
    if not reason:
        return {}
    if not isinstance(reason, str):
        raise TypeError("the finish reason is no text")
    normalized = words.get(reason, "other")
    if normalized == "stop":
        normalized = "content_filter" if refused else "tool_calls" if called else "stop"
    return {"finish_reason": reason, "normalized_finish_reason": normalized}


def excerpt_reply(content: bytes) -> str:
    """Return the beginning of what cannot be read, for an error, without what looks like a key."""
    text = redact(content[: _EXCERPT * 4].decode("utf-8", "replace"))
    return repr(text[:_EXCERPT])
