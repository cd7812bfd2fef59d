"""Older shapes of data blocks in what a user sends, brought up to date before a provider renders them.

A provider's renderer has to know the standard blocks and its own; it should not have to know the history of LangChain
too. What is brought up to date is what langchain-core 1.x brings up to date: data blocks of its version 0, and OpenAI's
audio and file parts. OpenAI's ``image_url`` passes, because every provider reads it.

Unlike langchain-core's, the new blocks get no generated ids: equal input stays equal, for caches above all.
"""

from collections.abc import Mapping
from typing import Final, TypeVar, cast

import hocket.messages.formats.langchain_v0 as langchain_v0
import hocket.messages.formats.openai_chat as openai_chat
from hocket.messages.content import Fields, FieldsView
from hocket.messages.formats.blocks import Reader

__all__ = ["normalize_input_content"]

_READERS: Final[Mapping[str, tuple[Reader, ...]]] = {
    "input_audio": (openai_chat.audio,),
    "file": (langchain_v0.READERS["file"], openai_chat.file),
    "image": (langchain_v0.READERS["image"],),
    "audio": (langchain_v0.READERS["audio"],),
}

_Content = TypeVar("_Content", bound=str | list[str | Fields])


def normalize_input_content(content: _Content) -> _Content:
    """Return ``content`` with older data blocks as standard ones; ``content`` itself where there are none.

    Never changes what is passed in. Blocks that cannot be read are left as they are.
    """
    if isinstance(content, str):
        return content
    changed: list[str | Fields] | None = None
    for position, item in enumerate(content):
        if isinstance(item, str) or (block := _standard(item)) is None:
            continue
        if changed is None:
            changed = list(content)
        changed[position] = block
    return content if changed is None else cast(_Content, changed)


def _standard(native: FieldsView) -> Fields | None:
    kind = native.get("type")
    for reader in _READERS.get(kind, ()) if isinstance(kind, str) else ():
        if (blocks := reader(native)) is not None and blocks[0]["type"] != "non_standard":
            return cast(Fields, blocks[0])
    return None
