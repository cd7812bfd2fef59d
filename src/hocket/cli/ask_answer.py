"""The answer of ``hocket ask``, and the passages that it stands on, as text or as data."""

import json
import re
import sys
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass

from hocket.chains import Citation
from hocket.chains.clean import clean_line
from hocket.chains.passages import describe_source
from hocket.classic.chains import RetrievalQA
from hocket.cli.output import note, print_lines
from hocket.cli.printer import Printer
from hocket.documents import Document
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessageChunk
from hocket.messages.content import Fields
from hocket.prompts import ChatPromptTemplate
from hocket.providers.local import ChatLocal
from hocket.providers.local.weights import requested_path
from hocket.retrievers import BaseRetriever
from hocket.vectorstores.words import split_query, split_words

__all__ = ["Question"]

_SMALL_PROMPT = ChatPromptTemplate([("human", "{context}\n\nQuestion: {question}\nAnswer in one sentence.")])
_BRIEF = 80  # tokens of that sentence

_QUOTE = 200  # characters of a passage that are shown
_SENTENCES = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n{2,}")  # noqa: RUF001  # Chinese ends sentences so


@dataclass(frozen=True)
class Question:
    """A question, and what was found for it.

    Args:
        text: the question.
        passages: numbered from 1, best first.
    """

    text: str
    passages: list[Document]

    async def print_answer(self, model: BaseChatModel) -> None:
        """Print the answer as it comes, and then the passages that it names; all of them, if it names none.

        Those of the embedded model come before: it is small, and may say what they do not.
        """
        is_small = _is_small(model) and bool(self.passages)
        if is_small:
            self.print_passages()
            print_lines([""])
            note("the embedded model is small, and may be wrong: believe the passages, or name another with --model")
        rest: Fields = {}
        with Printer(sys.stdout) as printer:
            async for piece in self._make_chain(model).astream({"query": self.text}):
                printer.show(AIMessageChunk(str(piece.get("result", ""))))
                rest |= piece
        citations: Sequence[Citation] = rest.get("citations", ())
        if self.passages and not is_small:
            print_lines([""])
            self.print_passages({one.number for one in citations} or None)
        if unsupported := rest.get("unsupported"):
            names = ", ".join(f"[{number}]" for number in unsupported)
            note(f"the answer names {names}, which it was not shown: do not rely on it there")

    async def print_json(self, model: BaseChatModel | None) -> None:
        """Print everything as one JSON object; None: there is no answer."""
        answer: Fields = {} if model is None else await self._make_chain(model).ainvoke({"query": self.text})
        citations: Sequence[Citation] = answer.get("citations", ())
        described = {
            "question": self.text,
            "answer": answer.get("result"),
            "citations": [{"number": one.number, "start": one.start, "end": one.end} for one in citations],
            "unsupported": answer.get("unsupported", []),
            "passages": [
                {**one.metadata, "number": number, "score": one.score, "text": one.page_content}
                for number, one in enumerate(self.passages, 1)
            ],
        }
        print_lines([json.dumps(described)])  # with escapes, so that no character is lost

    def print_passages(self, numbers: Collection[int] | None = None) -> None:
        """Print where passages stand, and what they say to the question; those with these numbers, or all."""
        if not self.passages:
            note("nothing was found")
        quoter = _Quoter(self.text, [passage.page_content for passage in self.passages])
        for number, passage in enumerate(self.passages, 1):
            if numbers is None or number in numbers:
                print_lines([f"[{number}] {describe_source(passage)}: “{quoter.quote(passage.page_content)}”"])

    def _make_chain(self, model: BaseChatModel) -> RetrievalQA:
        if not _is_small(model):
            return RetrievalQA.from_llm(model, retriever=_Found(documents=self.passages))
        brief = model if "max_tokens" in model.model_fields_set else model.bind(max_tokens=_BRIEF)
        return RetrievalQA.from_llm(brief, retriever=_Found(documents=self.passages[:1]), prompt=_SMALL_PROMPT)


def _is_small(model: BaseChatModel) -> bool:
    """Whether it is the embedded model with its own weights, which can say a sentence about a passage, and no more."""
    return isinstance(model, ChatLocal) and requested_path(model.model) is None


class _Found(BaseRetriever):
    """What was found already."""

    documents: list[Document]

    async def _aget_relevant_documents(self, query: str, *, run_manager: object) -> list[Document]:
        return self.documents


class _Quoter:
    """Finds the sentence of a passage that says most about a question: whose words in common with it are rare ones."""

    def __init__(self, question: str, passages: Sequence[str]) -> None:
        self._asked = set(split_query(question))
        self._counts = Counter(
            word
            for passage in passages
            for sentence in _SENTENCES.split(passage)
            for word in self._find_common(sentence)
        )

    def quote(self, passage: str) -> str:
        """Return that sentence, and what follows it, as one line."""
        sentences = _SENTENCES.split(passage)
        best = max(range(len(sentences)), key=lambda place: self._rate(sentences[place]))
        return clean_line(" ".join(sentences[best:]), _QUOTE)

    def _rate(self, sentence: str) -> float:
        return sum(1 / self._counts[word] for word in self._find_common(sentence))

    def _find_common(self, sentence: str) -> set[str]:
        return self._asked.intersection(split_words(sentence))
