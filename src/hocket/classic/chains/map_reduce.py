"""Notes on each piece, and one answer out of the notes."""

from collections.abc import Sequence
from typing import Self, Unpack

from pydantic import SkipValidation

from hocket.chains.ask import AnyPrompt
from hocket.chains.clean import clean_text
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import MAP_PROMPT, REDUCE_PROMPT
from hocket.chains.reader import DocumentRun
from hocket.chains.window import PassageWindow
from hocket.classic.chains.combine import BaseCombineDocumentsChain, DocumentOptions
from hocket.errors import ContextLengthExceeded, InvalidInput
from hocket.messages.content import Fields
from hocket.runnables.base import AnyRunnable

__all__ = ["MapReduceDocumentsChain"]

_TOKEN_MAX = 3000
"""Tokens of a request for notes to be made shorter, where nobody knows the model's window (LangChain's number)."""


class MapReduceDocumentsChain(BaseCombineDocumentsChain):
    """Has a model take notes on each document, and answer out of the notes.

    The notes are taken at once, as far as ``config["max_concurrency"]`` allows, and keep the order of the documents; the
    first failure cancels the others. Notes that do not fit into one request are made shorter first, group by group, as
    often as it takes.

    Args:
        llm: a chat model or a text model, without tools.
        map_prompt: for each document, with ``{context}``.
        reduce_prompt: for the notes, with ``{context}``.
        collapse_prompt: for notes that are made shorter, with ``{context}``; default: ``reduce_prompt``.
        token_max: how many tokens a request with notes may have; default: as many as the model's window takes, and 3,000
            where nobody knows that.
        options: see `DocumentOptions`.
    """

    map_prompt: SkipValidation[AnyPrompt] = MAP_PROMPT
    reduce_prompt: SkipValidation[AnyPrompt] = REDUCE_PROMPT
    collapse_prompt: SkipValidation[AnyPrompt | None] = None
    token_max: int | None = None

    def __init__(
        self,
        llm: AnyRunnable,
        map_prompt: AnyPrompt | None = None,
        reduce_prompt: AnyPrompt | None = None,
        *,
        collapse_prompt: AnyPrompt | None = None,
        token_max: int | None = None,
        **options: Unpack[DocumentOptions],
    ) -> None:
        if token_max is not None and token_max < 1:
            raise InvalidInput(f"token_max is {token_max}; it must be above 0")
        fields: Fields = {"map_prompt": map_prompt or MAP_PROMPT, "reduce_prompt": reduce_prompt or REDUCE_PROMPT}
        fields |= {"collapse_prompt": collapse_prompt, "token_max": token_max}
        super().__init__(llm=llm, **fields, **options)

    @classmethod
    def from_llm(
        cls,
        llm: AnyRunnable,
        map_prompt: AnyPrompt | None = None,
        reduce_prompt: AnyPrompt | None = None,
        *,
        collapse_prompt: AnyPrompt | None = None,
        token_max: int | None = None,
        **options: Unpack[DocumentOptions],
    ) -> Self:
        """Return a chain with hocket's own prompts, or with those given."""
        return cls(llm, map_prompt, reduce_prompt, collapse_prompt=collapse_prompt, token_max=token_max, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.map_prompt, self.reduce_prompt, *([self.collapse_prompt] if self.collapse_prompt else [])]

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        async def note(run: DocumentRun, passage: Passage) -> Passage:
            return await _take_notes(run, [passage], self.map_prompt)

        async def shorten(run: DocumentRun, group: Sequence[Passage]) -> Passage:
            return await _take_notes(run, group, self.collapse_prompt or self.reduce_prompt)

        notes = await run.call_each(note, passages)
        window = PassageWindow(self.llm, self.token_max, self.token_max or _TOKEN_MAX)
        room = await window.find_room(run.runtime, await run.fill(self.reduce_prompt, [])) or 0
        total = None
        while len(groups := window.group(notes, sizes := await window.measure(run.runtime, notes), room)) > 1:
            if total is not None and sum(sizes) >= total:
                raise ContextLengthExceeded(
                    f"the notes on {len(passages)} pieces have {sum(sizes):,} tokens, {max(room, 0):,} fit into a request, "
                    "and the model does not make them shorter; raise token_max, or ask a model with a larger window"
                )
            total = sum(sizes)
            notes = await run.call_each(shorten, groups)
        return await run.ask(await run.fill(self.reduce_prompt, notes), run.sink), passages


async def _take_notes(run: DocumentRun, group: Sequence[Passage], prompt: AnyPrompt) -> Passage:
    """Return what the model notes on some passages, or on notes, as one passage."""
    text = await run.ask(await run.fill(prompt, group))
    numbers = tuple(number for one in group for number in one.numbers)
    return Passage(numbers, clean_text(text), group[0].source if len(group) == 1 else "")
