"""All pieces in one request."""

from collections.abc import Sequence
from typing import Self, Unpack

from pydantic import SkipValidation

from hocket.chains.ask import AnyPrompt
from hocket.chains.passages import Passage
from hocket.chains.question_prompts import QUESTION_PROMPT
from hocket.chains.reader import DocumentRun
from hocket.classic.chains.combine import BaseCombineDocumentsChain, DocumentOptions
from hocket.messages.content import Fields
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

    async def _combine(self, run: DocumentRun, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        return await run.stuff(self.prompt, passages)
