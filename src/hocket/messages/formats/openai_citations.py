"""OpenAI's annotations: where a stretch of a text comes from. Chat completions have them beside the content."""

from collections.abc import Sequence
from typing import cast

from hocket.messages.content import Annotation, Fields
from hocket.messages.formats.blocks import Block, Native, text_at

__all__ = ["STANDARD", "annotation", "written_annotations"]

_CITATIONS = frozenset({"url_citation", "file_citation"})
STANDARD = frozenset({"citation", "non_standard_annotation"})
"""The types of annotations that are in the standard form already."""


def annotation(native: Native) -> Annotation:
    """Return an annotation of OpenAI's as a standard one."""
    kind = text_at(native, "type")
    if kind in STANDARD:
        return cast(Annotation, native)
    if kind not in _CITATIONS:
        return {"type": "non_standard_annotation", "value": dict(native)}
    fields: Fields = {name: text for name in ("url", "title") if (text := text_at(native, name)) is not None}
    fields |= {name: at for name in ("start_index", "end_index") if isinstance(at := native.get(name), int)}
    used = {"type", *fields}
    if kind == "file_citation" and (filename := text_at(native, "filename")):
        fields["title"] = filename
        used.add("filename")
    extras = {name: value for name, value in native.items() if name not in used and value is not None}
    if _citation_kind({**fields, "extras": extras}) != kind:
        extras["type"] = kind
    return cast(Annotation, {"type": "citation", **fields, **({"extras": extras} if extras else {})})


def _citation_kind(citation: Block) -> str | None:
    """What OpenAI calls a citation; None if it is another provider's (no citation of OpenAI's has the cited text)."""
    extras: Native = citation.get("extras") or {}
    if "type" in extras:
        return cast(str, extras["type"])
    if "cited_text" in citation:
        return None
    return "url_citation" if "url" in citation else "file_citation" if "file_id" in extras else None


def written_annotations(annotations: Sequence[Block]) -> list[Fields]:
    """The annotations that the API takes: its own."""
    made: list[Fields] = []
    for each in annotations:
        if each["type"] == "non_standard_annotation":
            made.append(dict(each["value"]))
        elif (kind := _citation_kind(each)) in _CITATIONS:
            fields = {name: each[name] for name in ("url", "title", "start_index", "end_index") if name in each}
            if kind == "file_citation" and "title" in fields:
                fields["filename"] = fields.pop("title")
            made.append({**fields, **(each.get("extras") or {}), "type": kind})
    return made
