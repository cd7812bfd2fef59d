"""Answers as bytes, for stores that processes share.

A value is JSON, ``{"v": 1, "candidates": [...]}``, with messages as `hocket.messages.records` writes them; above 4 KB it is
compressed. Reading it builds candidates and messages of classes that are registered in this process, and nothing else.
What cannot be read (damaged, somebody else's, of a version to come) counts as not being there: the model is asked, and its
answer takes that place.
"""

import json
import zlib
from collections.abc import Mapping, Sequence
from typing import Final, TypedDict, cast

from pydantic_core import PydanticSerializationError, from_json, to_json

from hocket._json import JSONObject
from hocket.errors import InvalidInput
from hocket.load.dump import dump_storable
from hocket.load.loading import Loader
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.messages.records import dump_message, load_message
from hocket.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from hocket.outputs.results import chat_generation

__all__ = ["dump_candidates", "load_candidates"]

VERSION: Final = 1
COMPRESSED_FROM: Final = 4096
"""Bytes of JSON from which on `zlib` pays."""

_ZLIB: Final = b"z"  # no JSON begins with it

_TEXTS: Final[Mapping[str, type[Generation]]] = {cls.__name__: cls for cls in (Generation, GenerationChunk)}
_CHATS: Final[Mapping[str, type[ChatGeneration]]] = {cls.__name__: cls for cls in (ChatGeneration, ChatGenerationChunk)}
_KINDS: Final = frozenset({*_TEXTS.values(), *_CHATS.values()})


class _Value(TypedDict):
    """What is stored, if it is what it should be."""

    v: int
    candidates: list[JSONObject]


_loader: Final = Loader(allowed=(BaseMessage,))


def dump_candidates(candidates: Sequence[Generation]) -> bytes:
    """Return candidates as bytes.

    Raises:
        InvalidInput: one of them is of a class of its own, or holds what could not be read back.
    """
    value = {"v": VERSION, "candidates": [_dump(candidate) for candidate in candidates]}
    try:
        data = to_json(value)
    except PydanticSerializationError:  # nested deeper than it goes, not deeper than a message may be
        data = json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
    return _ZLIB + zlib.compress(data, 1) if len(data) > COMPRESSED_FROM else data


def load_candidates(data: bytes) -> list[Generation] | None:
    """Return the candidates that ``data`` stands for; None, if it stands for none."""
    try:
        if data[:1] == _ZLIB:
            data = zlib.decompress(data[1:])
        return _load(_parse(data))
    except Exception:  # whatever there is, somebody may have put it there
        return None


def _dump(candidate: Generation) -> JSONObject:
    cls = type(candidate)
    if cls not in _KINDS:
        raise InvalidInput(
            f"a candidate of class {cls.__qualname__} cannot be stored: it must be of one of hocket's own"
        )
    said: JSONObject = {"type": cls.__name__}
    if isinstance(candidate, ChatGeneration):
        said["message"] = dump_message(candidate.message)
    else:
        said["text"] = dump_storable(candidate.text, ())
    if candidate.generation_info is not None:
        said["info"] = dump_storable(candidate.generation_info, (BaseMessage,))
    return said


def _parse(data: bytes) -> _Value:
    try:
        return cast(_Value, from_json(data))
    except ValueError:
        return cast(_Value, json.loads(data))  # knows deeper nesting


def _load(value: _Value) -> list[Generation] | None:
    return [_load_candidate(said) for said in value["candidates"]] if value["v"] == VERSION else None


def _load_candidate(said: JSONObject) -> Generation:
    kind, info = cast(str, said["type"]), _loader.load(said.get("info"))
    if kind in _TEXTS:
        return _TEXTS[kind].model_validate({"text": _loader.load(said["text"]), "generation_info": info})
    message = load_message(said["message"])
    if kind == "ChatGeneration" and isinstance(info, dict | None):  # nearly all
        return chat_generation(message, cast("Fields | None", info))
    return _CHATS[kind].model_validate({"message": message, "generation_info": info})
