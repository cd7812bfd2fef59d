"""Documents in pieces that know their places: what fits a model is found, embedded and cited piece by piece.

The classes and their options are LangChain's, and so are the cuts; ``docs/departures.md`` lists where they are not.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.text_splitters.base import TextSplitter
    from hocket.text_splitters.character import (
        CharacterTextSplitter,
        MarkdownTextSplitter,
        PythonCodeTextSplitter,
        RecursiveCharacterTextSplitter,
    )
    from hocket.text_splitters.kinds import SplitterByKind
    from hocket.text_splitters.languages import Language
    from hocket.text_splitters.markdown import MarkdownHeaderTextSplitter
    from hocket.text_splitters.token import TokenTextSplitter

_LATER = {
    "base": "TextSplitter",
    "character": "CharacterTextSplitter MarkdownTextSplitter PythonCodeTextSplitter RecursiveCharacterTextSplitter",
    "kinds": "SplitterByKind",
    "languages": "Language",
    "markdown": "MarkdownHeaderTextSplitter",
    "token": "TokenTextSplitter",
}

__all__ = [
    "CharacterTextSplitter",
    "Language",
    "MarkdownHeaderTextSplitter",
    "MarkdownTextSplitter",
    "PythonCodeTextSplitter",
    "RecursiveCharacterTextSplitter",
    "SplitterByKind",
    "TextSplitter",
    "TokenTextSplitter",
]

__getattr__: Loader = loader(__name__, _LATER)
