"""Which tools of many a question is about.

What is searched is short: the words of a tool's name, the first sentences of its description, the names of its arguments.
Longer texts find less, as everything that a schema says makes tools alike. Vectors find by meaning, and words do not help
them (see the benchmark "many-tools"); where no embedding model is installed, or it fails, words are what there is.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Literal

from hocket._pipeline.concurrency_limit import ConcurrencyLimiter
from hocket._runtime.mode import ASYNC
from hocket.agents.skills import Skill
from hocket.errors import MissingDependency
from hocket.errors.hints import shorten
from hocket.tools import BaseTool

if TYPE_CHECKING:  # what finds is loaded when it is first needed, in a thread
    from hocket.embeddings import Embeddings
    from hocket.vectorstores.memory import WordIndex
    from hocket.vectorstores.rows import Rows

__all__ = ["ToolIndex", "describe_tool"]

_log = logging.getLogger("hocket.agents")

_SENTENCES = 3
_CHARS = 400  # of the sentences
_SUMMARY = 200  # characters
_BATCH = 32  # texts that are embedded at once
_MOST_KEPT = 10_000  # vectors, some 3 kB each

_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[_-]+")
_END = re.compile(r"(?<=[.!?])\s+|\n+")

_kept: dict[str, bytes] = {}
"""Vectors of this process, by model and text: other agents have the same tools."""

_turns: dict[str, ConcurrencyLimiter] = {}
"""Whose turn it is to make vectors, by model: others find what it has kept, also where it was cancelled in the middle."""


def describe_tool(tool: BaseTool | Skill) -> str:
    """Return the text by which a tool, or a skill, is found."""
    said = " ".join(_split_sentences(tool.description)[:_SENTENCES])[:_CHARS]
    args = tool.args if isinstance(tool, BaseTool) else ()
    return " ".join([f"{_split_name(tool.name)}.", said, *map(_split_name, args)])


def _split_sentences(text: str) -> list[str]:
    """Return the sentences and lines of a text; there is one at least."""
    return _END.split(text.strip())


def _split_name(name: str) -> str:
    return _HUMP.sub(" ", name)


class ToolIndex:
    """Finds tools, and skills, by what a question means, or by its words. Nothing is made before the first search.

    ``embeddings`` makes the vectors; "auto": the local model, if it is installed; None: words alone.
    """

    def __init__(
        self, tools: Mapping[str, BaseTool | Skill], embeddings: "Embeddings | Literal['auto'] | None"
    ) -> None:
        self._tools = tools
        self._names = [*tools]
        self._embeddings = embeddings
        self._has_failed = False
        self._rows: Rows | None = None
        self._words: WordIndex | None = None

    def summarize(self, name: str) -> str:
        """Return the first sentence of a tool's description."""
        return shorten(_split_sentences(self._tools[name].description)[0], _SUMMARY)

    async def search(self, query: str, k: int) -> list[str]:
        """Return the names of the ``k`` tools that fit a question best, best first; where only words are compared, of those
        that have one of its words."""
        found: list[tuple[int, float]] | None = None
        try:
            found = await self._search_vectors(query, k)
        except Exception as error:  # of a model of anybody's
            if not self._has_failed:
                _log.warning("tools are searched by their words alone: %s: %s", type(error).__name__, error)
            self._has_failed = True
        if found is None:
            found = await ASYNC.call_sync(self._search_words, query, k)
        return [self._names[number] for number, _ in found]

    def _describe(self) -> list[str]:
        return [describe_tool(tool) for tool in self._tools.values()]

    async def _search_vectors(self, query: str, k: int) -> list[tuple[int, float]] | None:
        """Return the numbers of the nearest tools; None: there is no embedding model."""
        if self._embeddings is None:
            return None
        try:
            model = await ASYNC.call_sync(self._open_model)
            rows = await self._embed(model) if self._rows is None else self._rows
            asked = await model.aembed_query(query)
        except MissingDependency:
            if self._embeddings != "auto":
                raise
            self._embeddings = None
            return None
        return await ASYNC.call_sync(_find_nearest, rows, asked, k, len(self._names))

    async def _embed(self, model: "Embeddings") -> "Rows":
        """Make the vectors, unless they are there. Who comes meanwhile, also by way of another index, waits for them."""
        turn = _turns.setdefault(model.model_id, ConcurrencyLimiter())
        turn.resize(1)
        await turn.acquire(ASYNC)
        try:
            if self._rows is None:
                vectors = await model.aembed_documents(await ASYNC.call_sync(self._describe))
                self._rows = await ASYNC.call_sync(_make_rows, vectors)
            return self._rows
        finally:
            turn.release()

    def _open_model(self) -> "Embeddings":
        """Return the model, with what it has embedded already."""
        from hocket.embeddings import CacheBackedEmbeddings, init_embeddings

        if len(_kept) > _MOST_KEPT:
            _kept.clear()
        given = self._embeddings
        model = init_embeddings("local") if given is None or isinstance(given, str) else given
        return CacheBackedEmbeddings(model, _kept, batch_size=_BATCH)

    def _search_words(self, query: str, k: int) -> list[tuple[int, float]]:
        from hocket.vectorstores.words import split_query

        words = self._words = self._words or self._make_words()
        alive = b"\1" * len(self._names)
        return words.search(split_query(query), k, alive, alive)

    def _make_words(self) -> "WordIndex":
        from hocket.documents import Document
        from hocket.vectorstores.memory import WordIndex

        words, texts = WordIndex(), self._describe()
        words.follow([Document(page_content=text) for text in texts], len(texts))
        return words


def _make_rows(vectors: Sequence[Sequence[float]]) -> "Rows":
    from hocket.vectorstores.matrix import make_rows
    from hocket.vectorstores.rows import normalize

    rows = make_rows(len(vectors[0]))
    rows.append(map(normalize, vectors))
    return rows


def _find_nearest(rows: "Rows", asked: Sequence[float], k: int, count: int) -> list[tuple[int, float]]:
    """Return the numbers and cosines of the ``k`` of ``count`` rows that are nearest to a vector, best first."""
    from hocket.vectorstores.rows import normalize

    return rows.search(normalize(asked), k, b"\1" * count)
