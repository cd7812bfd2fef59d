"""One piece after another, each of which may make the answer better."""

from collections.abc import Sequence
from typing import ClassVar, Self, Unpack

from pydantic import SkipValidation

from hocket.chains.ask import AnyPrompt
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import QUESTION_PROMPT, REFINE_PROMPT
from hocket.chains.reader import DocumentRun
from hocket.classic.chains.combine import BaseCombineDocumentsChain, DocumentOptions
from hocket.messages.content import Fields
from hocket.runnables.base import AnyRunnable

__all__ = ["RefineDocumentsChain"]

_EXISTING = "existing_answer"


class RefineDocumentsChain(BaseCombineDocumentsChain):
    """Has a model answer out of the first document, and then make that answer better with each of the others.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: for the first document, with ``{context}``.
        refine_prompt: for the others, with ``{context}`` and ``{existing_answer}``.
        options: see `DocumentOptions`.
    """

    _own_variables: ClassVar[frozenset[str]] = frozenset({_EXISTING})

    prompt: SkipValidation[AnyPrompt] = QUESTION_PROMPT
    refine_prompt: SkipValidation[AnyPrompt] = REFINE_PROMPT

    def __init__(
        self,
        llm: AnyRunnable,
        prompt: AnyPrompt | None = None,
        refine_prompt: AnyPrompt | None = None,
        **options: Unpack[DocumentOptions],
    ) -> None:
        fields: Fields = {"prompt": prompt or QUESTION_PROMPT, "refine_prompt": refine_prompt or REFINE_PROMPT}
        super().__init__(llm=llm, **fields, **options)

    @classmethod
    def from_llm(
        cls,
        llm: AnyRunnable,
        prompt: AnyPrompt | None = None,
        refine_prompt: AnyPrompt | None = None,
        **options: Unpack[DocumentOptions],
    ) -> Self:
        """Return a chain with hocket's own prompts, or with those given."""
        return cls(llm, prompt, refine_prompt, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.prompt, self.refine_prompt]

    def _own_variables_of(self, prompt: AnyPrompt) -> frozenset[str]:
        return self._own_variables if prompt is self.refine_prompt else frozenset()

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        text = await run.ask(await run.fill(self.prompt, passages[:1]), run.sink if len(passages) == 1 else None)
        for index, passage in enumerate(passages[1:], 2):
            prompt = await run.fill(self.refine_prompt, [passage], [text], **{_EXISTING: text})
            text = await run.ask(prompt, run.sink if index == len(passages) else None)
        return text, passages
