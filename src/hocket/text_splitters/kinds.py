"""Each document cut where its kind is best cut: what is Markdown at headings, code at its definitions, the rest as prose."""

from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Unpack

from hocket.documents import Document
from hocket.text_splitters.base import SplitterOptions, TextSplitter
from hocket.text_splitters.character import RecursiveCharacterTextSplitter
from hocket.text_splitters.languages import Language

__all__ = ["SplitterByKind"]

_LANGUAGES: Mapping[Language, str] = {
    Language.MARKDOWN: "md markdown ipynb docx docm dotx odt pptx pptm ppsx epub",  # as loaders read them
    Language.PYTHON: "py pyi",
    Language.JS: "js mjs cjs jsx",
    Language.TS: "ts tsx",
    Language.C: "c h",
    Language.CPP: "cc cpp cxx hh hpp",
    Language.CSHARP: "cs",
    Language.ELIXIR: "ex exs",
    Language.HASKELL: "hs",
    Language.KOTLIN: "kt kts",
    Language.LATEX: "tex",
    Language.POWERSHELL: "ps1",
    Language.RUBY: "rb",
    Language.RUST: "rs",
    **{
        language: language.value
        for language in map(Language, ("go", "java", "lua", "php", "proto", "r", "rst", "scala", "sol", "swift"))
    },
}
_BY_SUFFIX = {f".{suffix}": language for language, suffixes in _LANGUAGES.items() for suffix in suffixes.split()}


class SplitterByKind(TextSplitter):
    """Splits each document as its kind is best split, which the name of its ``source`` tells.

    Markdown, notebooks, office documents and books are cut at headings, code at the definitions of its language, and all
    else as `RecursiveCharacterTextSplitter` does it.

    Args:
        by_suffix: splitters for other suffixes, or in place of these: ``{".sql": splitter}``.
        options: as of `TextSplitter`; they hold for every kind that is not in ``by_suffix``.

    Raises:
        InvalidInput: an option is out of its range.
    """

    def __init__(
        self, *, by_suffix: Mapping[str, TextSplitter] | None = None, **options: Unpack[SplitterOptions]
    ) -> None:
        super().__init__(**options)
        self._others = RecursiveCharacterTextSplitter(**options)
        languages = {one: RecursiveCharacterTextSplitter.from_language(one, **options) for one in _LANGUAGES}
        self._by_suffix: dict[str, TextSplitter] = {
            **{suffix: languages[language] for suffix, language in _BY_SUFFIX.items()},
            **(by_suffix or {}),
        }

    def split_text(self, text: str) -> list[str]:
        """Return the pieces of a text of no known kind, in order."""
        return self._others.split_text(text)

    def _split_document(self, document: Document) -> Iterator[Document]:
        source: object = getattr(document, "metadata", {}).get("source")
        name = source.lower().removesuffix(".gz") if isinstance(source, str) else ""
        yield from self._by_suffix.get(PurePath(name).suffix, self._others).lazy_split_documents([document])
