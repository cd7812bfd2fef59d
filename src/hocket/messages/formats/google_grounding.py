"""Where the text of a reply of Gemini's comes from: what it has found by searching, and what it repeats.

The API tells it beside the parts. It counts bytes, of the part that the text was in when it was whole, and often repeats the
text that it means; citations count characters. A stream has cut the parts anew, so that the repeated text is what counts,
and the place only says where to look first. Keys come in camel case, and in snake case from LangChain.
"""

from collections.abc import Sequence
from typing import cast

from hocket.messages.content import Annotation, Fields
from hocket.messages.formats.blocks import Native, mapping_at, mappings_at, text_at

__all__ = ["read_citations", "read_grounding"]

_SOURCES = ("web", "maps", "retrievedContext", "retrieved_context", "image")


def read_grounding(native: Native, texts: Sequence[str]) -> list[tuple[int, Annotation]]:
    """Return the citations of a ``groundingMetadata``, each with the position of its text among ``texts``."""
    chunks = mappings_at(native, "groundingChunks") or mappings_at(native, "grounding_chunks") or []
    supports = mappings_at(native, "groundingSupports") or mappings_at(native, "grounding_supports") or []
    found: list[tuple[int, Annotation]] = []
    for support in supports:
        place = _find_place(mapping_at(support, "segment") or {}, texts)
        numbers: object = support.get("groundingChunkIndices") or support.get("grounding_chunk_indices")
        if place is None or not isinstance(numbers, list):
            continue
        for number in cast("list[object]", numbers):
            if isinstance(number, int) and 0 <= number < len(chunks):
                found.append((place[0], _cite(_source_of(chunks[number]), place)))
    return found


def read_citations(native: Native, texts: Sequence[str]) -> list[tuple[int, Annotation]]:
    """Return the citations of a ``citationMetadata``: of what the model repeats word by word."""
    sources = mappings_at(native, "citationSources") or mappings_at(native, "citations") or []
    places = [(source, _find_place(source, texts)) for source in sources]
    return [(place[0], _cite(source, place)) for source, place in places if place is not None]


def _source_of(chunk: Native) -> Native:
    return next((source for key in _SOURCES if (source := mapping_at(chunk, key)) is not None), chunk)


def _cite(source: Native, place: tuple[int, int, int]) -> Annotation:
    said = {
        "url": text_at(source, "uri") or text_at(source, "sourceUri") or text_at(source, "source_uri"),
        "title": text_at(source, "title"),
        "start_index": place[1],
        "end_index": place[2],
        "cited_text": text_at(source, "text"),
    }
    fields: Fields = {name: value for name, value in said.items() if value is not None}
    return cast(Annotation, {"type": "citation", **fields})


def _find_place(segment: Native, texts: Sequence[str]) -> tuple[int, int, int] | None:
    """Return which text a segment is in, and its characters; None: none of them."""
    start, end = _number_at(segment, "startIndex", "start_index"), _number_at(segment, "endIndex", "end_index")
    wanted = text_at(segment, "text")
    encoded = [text.encode("utf-8", "surrogatepass") for text in texts]
    if not wanted:
        if end is None:
            return None
        fitting = (at for at, text in enumerate(encoded) if end <= len(text))
        return next(((at, *_count_characters(encoded[at], start or 0, end)) for at in fitting), None)
    sought = wanted.encode("utf-8", "surrogatepass")
    for at, text in enumerate(encoded):
        if text.startswith(sought, start or 0):
            return (at, *_count_characters(text, start or 0, (start or 0) + len(sought)))
    for at, whole in enumerate(texts):
        if (first := whole.find(wanted)) >= 0:
            return at, first, first + len(wanted)
    return None


def _number_at(segment: Native, *keys: str) -> int | None:
    return next((value for key in keys if isinstance(value := segment.get(key), int)), None)


def _count_characters(text: bytes, start: int, end: int) -> tuple[int, int]:
    """Return two places in a text, counted in characters instead of bytes."""
    first = len(text[:start].decode("utf-8", "ignore"))
    return first, first + len(text[start:end].decode("utf-8", "ignore"))
