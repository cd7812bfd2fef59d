"""All pieces in one request."""

from collections.abc import Sequence
from typing import Self, Unpack

from pydantic import SkipValidation

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt, SinkWatch
from hocket.chains.combine import BaseCombineDocumentsChain, DocumentOptions
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import QUESTION_PROMPT
from hocket.chains.window import PassageWindow
from hocket.errors import ContextLengthExceeded
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = ["StuffDocumentsChain"]


class StuffDocumentsChain(BaseCombineDocumentsChain):
    """Shows a model all documents at once, best first, as many as fit into its window.

    A model that finds them too long all the same is shown the better half of them, and so on.

    Args:
        llm: a chat model or a text model, without tools.
        prompt: with ``{context}``, which gets the pieces; its other variables are inputs. Default: one that answers
            ``{question}`` with citations.
        options: see `DocumentOptions`.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> from hocket.documents import Document
        >>> chain = StuffDocumentsChain.from_llm(ScriptedChatModel(script=["In May [1]."]))
        >>> found = [Document("Bleed the boiler in May.", metadata={"source": "rules.txt"})]
        >>> chain.invoke({"input_documents": found, "question": "When?"}, return_only_outputs=True)
        {'output_text': 'In May [1].'}
    """

    prompt: SkipValidation[AnyPrompt] = QUESTION_PROMPT

    def __init__(self, llm: AnyRunnable, prompt: AnyPrompt | None = None, **options: Unpack[DocumentOptions]) -> None:
        fields: Fields = {"llm": llm, "prompt": prompt or QUESTION_PROMPT}
        super().__init__(**fields, **options)

    @classmethod
    def from_llm(cls, llm: AnyRunnable, prompt: AnyPrompt | None = None, **options: Unpack[DocumentOptions]) -> Self:
        """Return a chain with hocket's own prompt, or with ``prompt``."""
        return cls(llm, prompt, **options)

    @property
    def _prompts(self) -> Sequence[AnyPrompt]:
        return [self.prompt]

    async def _combine(
        self,
        runtime: Runtime,
        passages: Sequence[Passage],
        values: Fields,
        config: RunnableConfig,
        sink: Sink[str] | None,
    ) -> tuple[str, Sequence[Passage]]:
        empty = await self._fill(runtime, self.prompt, [], values)
        shown = await PassageWindow(self.llm).choose(runtime, passages, empty)
        watch = None if sink is None else SinkWatch(sink)
        while True:
            prompt = await self._fill(runtime, self.prompt, shown, values)
            try:
                return await self._ask(runtime, prompt, config, watch), shown
            except ContextLengthExceeded:
                if len(shown) == 1 or (watch is not None and watch.has_begun):
                    raise
                shown = shown[: (len(shown) + 1) // 2]
