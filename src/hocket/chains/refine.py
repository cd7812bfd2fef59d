"""One piece after another, each of which may make the answer better."""

from collections.abc import Sequence
from typing import ClassVar, Self, Unpack

from pydantic import SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt
from hocket.chains.combine import BaseCombineDocumentsChain, DocumentOptions
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import QUESTION_PROMPT, REFINE_PROMPT
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
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

    async def _combine(
        self,
        runtime: Runtime,
        passages: Sequence[Passage],
        values: Fields,
        config: RunnableConfig,
        sink: Sink[str] | None,
    ) -> tuple[str, Sequence[Passage]]:
        text = ""
        for index, passage in enumerate(passages):
            if index:
                asked = {**values, _EXISTING: text}
                prompt = await self._fill(runtime, self.refine_prompt, [passage], asked, beside=[text])
            else:
                prompt = await self._fill(runtime, self.prompt, [passage], values)
            is_last = index == len(passages) - 1
            text = await self._ask(runtime, prompt, config, sink if is_last else None)
        return text, passages
