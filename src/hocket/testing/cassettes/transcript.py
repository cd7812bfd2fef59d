"""A cassette as a person reads it: who said what.

It knows no provider. In the documents of all of them the texts that matter stand under a few names, and the pieces of a
stream in the same place of one document after the other.
"""

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import cast

from pydantic_core import from_json

from hocket._json import JSON
from hocket.testing.cassettes.exchanges import RecordedExchange, RecordedRequest
from hocket.testing.cassettes.frames import list_payloads
from hocket.testing.cassettes.spoken import Place, list_texts

__all__ = ["write_transcript"]

_LONGEST = 2_000  # characters of a text that are shown

_SAYS = {"content": "", "text": "", "delta": "", "response": "", "parts": ""}
_ELSE = {
    "thinking": "thinking",
    "reasoning": "thinking",
    "reasoning_content": "thinking",
    "name": "calls",
    "arguments": "with",
    "partial_json": "with",
    "message": "error",
    "error": "error",
    "refusal": "refuses",
}
_SPEAKERS = ("messages", "contents", "input")


def write_transcript(exchanges: Iterable[RecordedExchange]) -> Iterator[str]:
    """Yield the lines of a transcript."""
    for number, one in enumerate(exchanges, 1):
        yield f"{number}. {one.request.method} {one.request.url}: {_describe_reply(one)}"
        yield from _indent(_read_request(one.request))
        yield from _indent(_read_reply(one))


def _describe_reply(exchange: RecordedExchange) -> str:
    """Return status, time, pieces and end of a reply."""
    took = exchange.after + sum(after for after, _ in exchange.pieces)
    parts = [] if exchange.status is None else [str(exchange.status)]
    if len(exchange.pieces) > 1:
        parts.append(f"{len(exchange.pieces)} pieces")
    end = exchange.end
    if end is not None:
        took += end.after
        parts.append("given up" if end.failure is None else f"{type(end.failure).__name__}: {end.failure.message}")
    return f"{', '.join(parts)}, in {took:.3g} s"


def _read_request(request: RecordedRequest) -> Iterator[tuple[str, str]]:
    """Yield who says what in a request."""
    try:
        body: JSON = from_json(request.body) if request.body else None
    except ValueError:
        yield "sent", f"{len(request.body)} bytes"
        return
    if not isinstance(body, dict):
        return
    for name in ("system", "systemInstruction", "instructions", "prompt"):
        if name in body:
            yield "system" if name != "prompt" else "prompt", _join_texts(body[name])
    for name in _SPEAKERS:
        said = body.get(name)
        for one in said if isinstance(said, list) else [] if said is None else [said]:
            speaker = one.get("role") or one.get("type") if isinstance(one, dict) else None
            yield str(speaker or "user"), _join_texts(one)


def _join_texts(data: JSON) -> str:
    """Return the texts in data: what is said, or else all of it as JSON."""
    if isinstance(data, str):
        return data
    texts = [text for place, _, text in list_texts(data) if place and place[-1] in (*_SAYS, *_ELSE)]
    return " ".join(texts) or json.dumps(data, ensure_ascii=False)


def _read_reply(exchange: RecordedExchange) -> Iterator[tuple[str, str]]:
    """Yield what a reply says; where nothing in it is known, how it begins."""
    body = exchange.body
    documents = list(_read_documents(body))
    rows: dict[Place, list[str]] = defaultdict(list)
    for document in documents:
        kind = document.get("type") if isinstance(document, dict) else None
        for place, _, text in list_texts(document, (str(kind),)):
            if place[-1] in _SAYS | _ELSE:
                rows[place].append(text)
    seen: set[str] = set()  # some providers send the whole once more behind its pieces
    for place, texts in rows.items():
        text = "".join(texts)
        if text and text not in seen:
            seen.add(text)
            yield _SAYS.get(str(place[-1]), _ELSE.get(str(place[-1]), "")) or "assistant", text
    if not seen and body:
        yield "reply", body.decode("utf-8", "replace") if len(body) < _LONGEST else f"{len(body)} bytes"


def _read_documents(body: bytes) -> Iterator[JSON]:
    """Yield the JSON documents of a reply: itself, or those in its lines."""
    try:
        yield from_json(body)
        return
    except ValueError:
        pass
    for line in list_payloads(body) or body.splitlines():
        try:
            yield cast(JSON, from_json(line.removeprefix(b"data:").strip()))
        except ValueError:
            continue


def _indent(said: Iterable[tuple[str, str]]) -> Iterator[str]:
    for speaker, text in said:
        shown = text if len(text) <= _LONGEST else f"{text[:_LONGEST]}… ({len(text)} characters)"
        first, *others = shown.splitlines() or [""]
        yield f"   {speaker}: {first}"
        yield from (f"     {line}" for line in others)
