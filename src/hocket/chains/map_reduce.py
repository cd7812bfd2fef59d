"""Notes on each piece, and one answer out of the notes."""

from collections.abc import Sequence
from typing import Self, Unpack

from pydantic import SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt
from hocket.chains.clean import clean_text
from hocket.chains.combine import BaseCombineDocumentsChain, DocumentOptions, call_each
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import MAP_PROMPT, REDUCE_PROMPT
from hocket.chains.window import PassageWindow
from hocket.errors import ContextLengthExceeded, InvalidInput
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
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

    async def _combine(
        self,
        runtime: Runtime,
        passages: Sequence[Passage],
        values: Fields,
        config: RunnableConfig,
        sink: Sink[str] | None,
    ) -> tuple[str, Sequence[Passage]]:
        async def note(runtime: Runtime, passage: Passage) -> Passage:
            return await self._take_notes(runtime, [passage], self.map_prompt, values, config)

        async def shorten(runtime: Runtime, group: Sequence[Passage]) -> Passage:
            return await self._take_notes(runtime, group, self.collapse_prompt or self.reduce_prompt, values, config)

        notes = await call_each(runtime, note, passages, config)
        window = PassageWindow(self.llm, self.token_max, self.token_max or _TOKEN_MAX)
        room = await window.find_room(runtime, await self._fill(runtime, self.reduce_prompt, [], values)) or 0
        total = None
        while len(groups := window.group(notes, sizes := await window.measure(runtime, notes), room)) > 1:
            if total is not None and sum(sizes) >= total:
                raise ContextLengthExceeded(
                    f"the notes on {len(passages)} pieces have {sum(sizes):,} tokens, {max(room, 0):,} fit into a request, "
                    "and the model does not make them shorter; raise token_max, or ask a model with a larger window"
                )
            total = sum(sizes)
            notes = await call_each(runtime, shorten, groups, config)
        prompt = await self._fill(runtime, self.reduce_prompt, notes, values)
        return await self._ask(runtime, prompt, config, sink), passages

    async def _take_notes(
        self, runtime: Runtime, group: Sequence[Passage], prompt: AnyPrompt, values: Fields, config: RunnableConfig
    ) -> Passage:
        """Return what the model notes on some passages, or on notes, as one passage."""
        text = await self._ask(runtime, await self._fill(runtime, prompt, group, values), config)
        numbers = tuple(number for one in group for number in one.numbers)
        return Passage(numbers, clean_text(text), group[0].source if len(group) == 1 else "")
