"""Each piece for itself; the best answer counts."""

import math
import re
from collections.abc import Sequence
from typing import NamedTuple, Self, Unpack

from pydantic import SkipValidation

from hocket.chains.ask import AnyPrompt
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import RERANK_PROMPT
from hocket.chains.reader import DocumentRun
from hocket.classic.chains.combine import BaseCombineDocumentsChain, DocumentOptions
from hocket.messages.content import Fields
from hocket.runnables.base import AnyRunnable

__all__ = ["MapRerankDocumentsChain"]

_SCORE = re.compile(r"^[ \t*_#>-]*score[ \t*_]*[:=][ \t*_]*(?P<score>.*)$", re.IGNORECASE | re.MULTILINE)
_NUMBER = re.compile(r"[+-]?[0-9]+(?:[.,][0-9]+)?")


class MapRerankDocumentsChain(BaseCombineDocumentsChain):
    """Asks a model about each document, for an answer and a score, and returns the answer with the highest score.

    All are asked at once, as far as ``config["max_concurrency"]`` allows; the first failure cancels the others. Of equal
    scores the first document's counts. A score that is no number comes after all that are.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: with ``{context}``; it asks for a last line such as ``Score: 80``.
        options: see `DocumentOptions`.
    """

    prompt: SkipValidation[AnyPrompt] = RERANK_PROMPT

    def __init__(self, llm: AnyRunnable, prompt: AnyPrompt | None = None, **options: Unpack[DocumentOptions]) -> None:
        fields: Fields = {"llm": llm, "prompt": prompt or RERANK_PROMPT}
        super().__init__(**fields, **options)

    @classmethod
    def from_llm(cls, llm: AnyRunnable, prompt: AnyPrompt | None = None, **options: Unpack[DocumentOptions]) -> Self:
        """Return a chain with hocket's own prompt, or with ``prompt``."""
        return cls(llm, prompt, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.prompt]

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        async def ask(run: DocumentRun, passage: Passage) -> _Scored:
            return _read_score(await run.ask(await run.fill(self.prompt, [passage])))

        answers = await run.call_each(ask, passages)
        return max(answers, key=lambda one: one.score).text, passages  # the first of equal ones


class _Scored(NamedTuple):
    """An answer, and how good its model thinks it is; minus infinity: it did not say."""

    text: str
    score: float


def _read_score(reply: str) -> _Scored:
    """Return the answer and the score of a reply: the last line that has one."""
    lines = [*_SCORE.finditer(reply)]
    if not lines:
        return _Scored(reply.strip(), -math.inf)
    last = lines[-1]
    number = _NUMBER.match(last["score"])
    text = (reply[: last.start()] + reply[last.end() :]).strip()
    return _Scored(text, float(number[0].replace(",", ".")) if number else -math.inf)
