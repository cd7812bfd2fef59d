"""Ollama's own chat API. A message has one text; its pictures, as bare base64, and its reasoning are fields beside it."""

from collections.abc import Sequence

from hocket.messages.content import Fields
from hocket.messages.formats.blocks import Block, document_text, no_place, source_of
from hocket.messages.formats.format import ProviderFormat

__all__ = ["FORMAT"]


def _write(blocks: Sequence[Block]) -> list[Fields]:
    """Return one mapping, the fields of a message: texts are joined, and so is reasoning."""
    texts: list[str] = []
    thoughts: list[str] = []
    images: list[str] = []
    for block in blocks:
        match block["type"]:
            case "text":
                texts.append(block["text"])
            case "text-plain":
                texts.append(document_text(block))
            case "reasoning":
                thoughts.append(block.get("reasoning", ""))
            case "image" if (source := source_of(block)).kind == "base64":
                images.append(source.data)
            case _:
                raise no_place(block, "a message of Ollama's API")
    message: Fields = {"content": "".join(texts)}
    if thought := "".join(thoughts):
        message["thinking"] = thought
    if images:
        message["images"] = images
    return [message]


FORMAT = ProviderFormat(reasoning=("thinking",), images=("images",), writes={"ollama": _write})
"""How Ollama's own API writes a message."""
