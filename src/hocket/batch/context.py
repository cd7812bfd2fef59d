"""Pieces of documents that say what they are from: a model adds a sentence of context to each, in a bulk run.

A piece that says "it rises by 3 %" is found by nobody who asks about the pump's pressure. The whole document stands before
the piece in what the model is asked, so that a provider's cache of prompts serves all pieces of one.
"""

import logging
import os
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_function
from hocket.batch.lines import read_batch
from hocket.batch.route import Via
from hocket.batch.run import arun_batch
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.runnables import Runnable
from hocket.text_splitters import TextSplitter

__all__ = ["aadd_context", "add_context"]

_ASKED = (
    "A document, or the part of it that is near:\n\n{whole}\n\n---\n\nA passage of it:\n\n{piece}\n\n---\n\nSay in one "
    "short sentence what the passage is about and where in the document it belongs, so that a search can find it. Name what "
    "its pronouns stand for. Write nothing but this sentence, in the language of the document."
)
_LONGEST = 500  # characters of a context

_log = logging.getLogger("hocket.batch")


async def aadd_context(
    documents: Iterable[Document],
    splitter: TextSplitter,
    model: Runnable[Any, Any],
    out: str | os.PathLike[str],
    *,
    window: int = 50_000,
    max_concurrency: int = 100,
    via: Via = "live",
    wait: float | None = None,
) -> list[Document]:
    """Split documents, and put before each piece a sentence of a model that says what it is about.

    The sentence is in the text, which a store embeds and searches, and under ``context`` in the metadata. A bulk run asks
    for them: the same call goes on where one was killed, and asks only for what is new or has changed. A piece for which the
    model failed stays as it is, and the log (``hocket.batch``) says how many these are; the next call asks for them again.

    Args:
        documents: whole ones, as a loader gives them.
        splitter: cuts them.
        model: writes the sentences; a small one will do.
        out: the path of the bulk run's file.
        window: characters of a document, around the piece, that the model reads at most.
        max_concurrency: of `arun_batch`, as are ``via`` ("provider": within a day, at half the price or so) and ``wait``.

    Raises:
        InvalidInput: ``window`` is not above 0, or something is no document.
        HocketError: what `arun_batch` raises, and what has stopped it: `BatchPending` if ``wait`` was over first.
    """
    if window < 1:
        raise InvalidInput(f"window is {window}; it must be 1 or more")
    pairs = await ASYNC.call_sync(
        lambda: [(one, piece) for one in documents for piece in splitter.split_documents([one])]
    )
    report = await arun_batch(
        model,
        _write_questions(pairs, window),
        out,
        max_concurrency=max_concurrency,
        on_mismatch="redo",
        via=via,
        wait=wait,
    )
    if report.stopped is not None:
        raise report.stopped
    if report.failed:
        _log.warning("%d of %d pieces have no context; the next call asks again", report.failed, len(pairs))
    contexts = await ASYNC.call_sync(lambda: {row.row: row.output for row in read_batch(out) if row.error is None})
    return [_join(piece, contexts.get(at)) for at, (_, piece) in enumerate(pairs)]


add_context: Final = sync_function(aadd_context)
"""Put a sentence of context before each piece of some documents: the sync twin of `aadd_context`."""


def _write_questions(pairs: Sequence[tuple[Document, Document]], window: int) -> Iterator[str]:
    for document, piece in pairs:
        text = document.page_content
        middle = max(0, text.find(piece.page_content)) + len(piece.page_content) // 2
        start = max(0, min(middle - window // 2, len(text) - window))
        yield _ASKED.format(whole=text[start : start + window], piece=piece.page_content)


def _join(piece: Document, answer: object) -> Document:
    context = " ".join(answer.split())[:_LONGEST] if isinstance(answer, str) else ""
    if not context:
        return piece
    return Document(f"{context}\n\n{piece.page_content}", metadata={**piece.metadata, "context": context})
