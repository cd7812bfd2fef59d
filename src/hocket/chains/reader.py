"""Documents shown to a model, as numbered passages.

What a model reads of a document is in a user's message, never in the system's: a prompt that has it there, as LangChain's
often do, keeps its place in words, and the pieces move to the end of the user's last message.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias, TypeVar

from hocket._runtime.mode import ASYNC, Mode
from hocket._runtime.portal import run_in_portal
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt, SinkWatch, ask_model, check_tools, fill_prompt, get_answer_text
from hocket.chains.passage_window import PassageWindow
from hocket.chains.passages import Passage, number_passages, show_passages
from hocket.chains.step import join_keys
from hocket.documents import Document
from hocket.errors import ContextLengthExceeded, InvalidInput
from hocket.messages import BaseMessage, ChatMessage, HumanMessage, SystemMessage
from hocket.messages.base import copy_message
from hocket.messages.content import FieldsView
from hocket.prompt_values import ChatPromptValue, PromptValue
from hocket.prompts import aformat_document, format_document
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.runnables.batch import Batch
from hocket.runnables.stage import put_one

__all__ = ["NOTHING_FOUND", "Combined", "DocumentReader", "DocumentRun", "PassageMethod"]

T = TypeVar("T")
R = TypeVar("R")

NOTHING_FOUND = "Nothing was found that answers this question."
"""The answer where there are no pieces. No model is asked."""

_ELSEWHERE = "(They stand in the user's message.)"


@dataclass(frozen=True)
class Combined:
    """What was made of documents.

    Attributes:
        text: the answer.
        shown: the documents that a model was shown, by their numbers.
        left_out: those that did not fit.
    """

    text: str
    shown: dict[int, Document]
    left_out: list[Document]


@dataclass(frozen=True)
class DocumentReader:
    """A model, and how it is shown documents.

    Args:
        llm: a chat model or a text model, without tools.
        variable: of the prompts, which gets the pieces.
        document_prompt: what is shown of a document; None: its text.
        name: of the chain, for errors.

    Raises:
        InvalidInput: the model has tools bound: what stands in a document must not be able to have them called.
    """

    llm: AnyRunnable
    variable: str
    document_prompt: AnyPrompt | None
    name: str

    def __post_init__(self) -> None:
        check_tools(self.llm)

    def check_prompt(self, prompt: AnyPrompt, others: Iterable[str] = ()) -> None:
        """Refuse a prompt without the variable for the pieces, or without one of ``others``."""
        if missing := {self.variable, *others} - {*prompt.input_variables}:
            raise InvalidInput(
                f"a prompt of {self.name} lacks {join_keys(sorted(missing))}; it has {join_keys(prompt.input_variables)}"
            )


@dataclass(frozen=True)
class DocumentRun:
    """One run of a model over documents.

    Args:
        reader: the model, and how it is shown documents.
        mode: the one that this runs in.
        values: for the further variables of the prompts.
        config: for the runs of models.
        sink: takes the text as it comes; None: it is not streamed.
    """

    reader: DocumentReader
    mode: Mode
    values: FieldsView
    config: RunnableConfig
    sink: Sink[str] | None = None

    async def read(self, documents: Sequence[Document], method: "PassageMethod") -> Combined:
        """Return what ``method`` makes of documents; where none has text, no model is asked.

        Raises:
            InvalidInput: a variable of the prompts has no value.
            ContextLengthExceeded: not even one piece fits into the model's window.
        """
        passages = number_passages(documents, await self._render(documents))
        if not passages:
            if self.sink is not None:
                await put_one(self.sink, NOTHING_FOUND)
            return Combined(NOTHING_FOUND, {}, [])
        text, shown = await method(self, passages)
        numbers = {number for one in shown for number in one.numbers}
        left_out = [documents[one.numbers[0] - 1] for one in passages if one.numbers[0] not in numbers]
        return Combined(text, {number: documents[number - 1] for number in sorted(numbers)}, left_out)

    async def _render(self, documents: Sequence[Document]) -> dict[int, str] | None:
        """Return what is shown of each document, by number, if a prompt says so."""
        prompt = self.reader.document_prompt
        if prompt is None:
            return None
        if self.mode.is_async:
            return {number: await aformat_document(one, prompt) for number, one in enumerate(documents, 1)}
        return {number: format_document(one, prompt) for number, one in enumerate(documents, 1)}

    async def fill(
        self, prompt: AnyPrompt, passages: Sequence[Passage], beside: Sequence[str] = (), **further: str
    ) -> PromptValue:
        """Return a prompt with ``passages``, in the user's message.

        Args:
            prompt: one that the reader has checked.
            passages: may be none.
            beside: other texts of the same message, which must not have the mark of the passages either.
            further: values for variables that the method itself gives.
        """
        shown = show_passages(passages, beside) if passages else ""
        filled = await fill_prompt(self.mode, prompt, {**self.values, **further, self.reader.variable: shown})
        if shown and isinstance(filled, ChatPromptValue):
            return ChatPromptValue(messages=_keep_from_system(filled.to_messages(), shown))
        return filled

    async def ask(self, prompt: PromptValue, sink: Sink[str] | None = None) -> str:
        """Return the text that the model answers."""
        return get_answer_text(await ask_model(self.mode, self.reader.llm, prompt, self.config, sink))

    async def stuff(self, prompt: AnyPrompt, passages: Sequence[Passage]) -> tuple[str, Sequence[Passage]]:
        """Ask about all passages at once, best first, as many as fit: a `PassageMethod`, with a prompt.

        A model that finds them too long all the same is shown the better half of them, and so on.
        """
        shown = await PassageWindow(self.reader.llm).choose(self.mode, passages, await self.fill(prompt, []))
        watch = None if self.sink is None else SinkWatch(self.sink)
        while True:
            try:
                return await self.ask(await self.fill(prompt, shown), watch), shown
            except ContextLengthExceeded:
                if len(shown) == 1 or (watch is not None and watch.has_begun):
                    raise
                shown = shown[: (len(shown) + 1) // 2]

    async def call_each(self, call: "Callable[[DocumentRun, T], Awaitable[R]]", items: Iterable[T]) -> list[R]:
        """Return what ``call`` makes of each item, in order: at once, as far as ``max_concurrency`` of the config allows.

        The first to fail cancels the others.
        """
        if not self.mode.is_async:
            return run_in_portal(lambda: replace(self, mode=ASYNC).call_each(call, items))

        async def work(item: T, _: RunnableConfig) -> R:
            return await call(self, item)

        limit: RunnableConfig = {"max_concurrency": self.config.get("max_concurrency")}
        return await Batch(work, items, limit, return_exceptions=False).collect()


PassageMethod: TypeAlias = Callable[[DocumentRun, Sequence[Passage]], Awaitable[tuple[str, Sequence[Passage]]]]
"""Makes a text of passages (at least one, best first), and says which of them a model was shown."""


def _keep_from_system(messages: Sequence[BaseMessage], shown: str) -> list[BaseMessage]:
    """Return messages with what is ``shown`` taken out of the system's, and put to the end of the user's last one."""
    kept = [_replace_text(message, shown, _ELSEWHERE) if _is_system(message) else message for message in messages]
    if not any(new is not old for new, old in zip(kept, messages, strict=True)):
        return kept
    last = next((index for index in reversed(range(len(kept))) if isinstance(kept[index], HumanMessage)), None)
    if last is None:
        return [*kept, HumanMessage(shown)]
    if shown not in kept[last].text:
        kept[last] = _append_text(kept[last], shown)
    return kept


def _is_system(message: BaseMessage) -> bool:
    return isinstance(message, SystemMessage) or (
        isinstance(message, ChatMessage) and message.role in ("system", "developer")
    )


def _replace_text(message: BaseMessage, text: str, other: str) -> BaseMessage:
    if text not in message.text:
        return message
    made = copy_message(message)
    if isinstance(made.content, str):
        made.content = made.content.replace(text, other)
    else:
        made.content = message.text.replace(text, other)
    return made


def _append_text(message: BaseMessage, text: str) -> BaseMessage:
    made = copy_message(message)
    if isinstance(made.content, str):
        made.content = f"{made.content}\n\n{text}".lstrip()
    else:
        made.content = [*made.content, {"type": "text", "text": text}]
    return made
