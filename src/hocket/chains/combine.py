"""What the chains of documents have in common: passages in, one text out.

What a model reads of a document is in a user's message, never in the system's: a prompt that has it there, as LangChain's
often do, keeps its place in words, and the pieces move to the end of the user's last message.
"""

from abc import abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeVar

from pydantic import SkipValidation

from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC, Runtime
from hocket._runtime.stream import Sink
from hocket.chains.ask import AnyPrompt, ask_model, check_tools, fill_prompt, get_answer_text
from hocket.chains.base import Chain, ChainOptions, join_keys
from hocket.chains.outlet import Outlet
from hocket.chains.passages import Passage, check_documents, number_passages, show_passages
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage, ChatMessage, HumanMessage, SystemMessage
from hocket.messages.base import copy_message
from hocket.messages.content import Fields, FieldsView
from hocket.prompt_values import ChatPromptValue, PromptValue
from hocket.prompts import aformat_document, format_document
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.runnables.batch import Batch
from hocket.runnables.stage import put_one

__all__ = ["NOTHING_FOUND", "BaseCombineDocumentsChain", "Combined", "DocumentOptions", "call_each"]

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


class DocumentOptions(ChainOptions, total=False):
    """What every chain of documents may be given, beside `ChainOptions`.

    Keys:
        input_key, output_key: names of the documents and of the answer; default: ``input_documents`` and
            ``output_text``.
        document_variable_name: the variable of the prompts that gets the pieces; default: ``context``.
        document_prompt: what is shown of a document: ``page_content`` and its metadata are the variables. Default: its
            text.
    """

    input_key: str
    output_key: str
    document_variable_name: str
    document_prompt: AnyPrompt | None


class BaseCombineDocumentsChain(Chain):
    """Makes one text out of documents, with a model: ``input_documents`` → ``output_text``.

    The further variables of its prompts, such as ``question``, are inputs, too. Where there are no documents, or none with
    text, the output says so, and no model is asked.

    Args:
        llm: a chat model or a text model, without tools.
        options: see `DocumentOptions`.

    Raises, when it is made:
        InvalidInput: a prompt lacks the variable for the pieces, or the model has tools bound: what stands in a document
            must not be able to have them called.
    """

    input_key: str = "input_documents"
    output_key: str = "output_text"
    document_variable_name: str = "context"
    document_prompt: SkipValidation[AnyPrompt | None] = None
    llm: SkipValidation[AnyRunnable]

    _own_variables: ClassVar[frozenset[str]] = frozenset()
    """Variables of the prompts that the chain itself gives, beside the pieces."""

    @property
    @abstractmethod
    def _prompts(self) -> Sequence[AnyPrompt]:
        """The prompts, each of which shows pieces."""

    @abstractmethod
    async def _combine(
        self,
        runtime: Runtime,
        passages: Sequence[Passage],
        values: Fields,
        config: RunnableConfig,
        sink: Sink[str] | None,
    ) -> tuple[str, Sequence[Passage]]:
        """Return the text made of ``passages``, and which of them a model was shown.

        Args:
            runtime: the one that this runs on.
            passages: at least one, best first.
            values: for the further variables of the prompts.
            config: for the runs of models.
            sink: takes the text as it comes; None: it is not streamed.
        """

    @property
    def input_keys(self) -> list[str]:
        """The documents, and the further variables of the prompts."""
        own = {self.document_variable_name, *self._own_variables}
        asked = [name for prompt in self._prompts for name in prompt.input_variables if name not in own]
        return [self.input_key, *dict.fromkeys(asked)]

    @property
    def output_keys(self) -> list[str]:
        """The name of the answer."""
        return [self.output_key]

    @property
    def _remembered_inputs(self) -> list[str]:
        return [key for key in self.asked_keys if key != self.input_key]

    def _check_keys(self) -> None:
        check_tools(self.llm)
        for prompt in self._prompts:
            if missing := {self.document_variable_name, *self._own_variables_of(prompt)} - {*prompt.input_variables}:
                raise InvalidInput(
                    f"a prompt of {self.get_name()} lacks {join_keys(sorted(missing))}; it has "
                    f"{join_keys(prompt.input_variables)}"
                )
        super()._check_keys()

    def _own_variables_of(self, prompt: AnyPrompt) -> frozenset[str]:
        """Return those of the chain's own variables that this prompt must have."""
        return frozenset()

    async def _execute(self, runtime: Runtime, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        documents = check_documents(inputs[self.input_key], f"the input {self.input_key!r}")
        sink = outlet.get_sink(self.output_key)
        return {self.output_key: (await self.combine(runtime, documents, inputs, config, sink)).text}

    async def combine(
        self,
        runtime: Runtime,
        documents: Sequence[Document],
        values: FieldsView,
        config: RunnableConfig,
        sink: Sink[str] | None = None,
    ) -> Combined:
        """Return what is made of documents: for chains that find them first. See `_combine`.

        Raises:
            InvalidInput: a variable of the prompts has no value.
            ContextLengthExceeded: not even one piece fits into the model's window.
        """
        passages = number_passages(documents, await self._render(runtime, documents))
        if not passages:
            if sink is not None:
                await put_one(sink, NOTHING_FOUND)
            return Combined(NOTHING_FOUND, {}, [])
        text, shown = await self._combine(runtime, passages, {**values}, config, sink)
        numbers = {number for one in shown for number in one.numbers}
        left_out = [documents[one.numbers[0] - 1] for one in passages if one.numbers[0] not in numbers]
        return Combined(text, {number: documents[number - 1] for number in sorted(numbers)}, left_out)

    async def _render(self, runtime: Runtime, documents: Sequence[Document]) -> dict[int, str] | None:
        """Return what is shown of each document, by number, if a prompt says so."""
        prompt = self.document_prompt
        if prompt is None:
            return None
        if runtime.is_async:
            return {number: await aformat_document(one, prompt) for number, one in enumerate(documents, 1)}
        return {number: format_document(one, prompt) for number, one in enumerate(documents, 1)}

    async def _fill(
        self,
        runtime: Runtime,
        prompt: AnyPrompt,
        passages: Sequence[Passage],
        values: Fields,
        beside: Sequence[str] = (),
    ) -> PromptValue:
        """Return a prompt with ``passages``, in the user's message."""
        shown = show_passages(passages, beside) if passages else ""
        filled = await fill_prompt(runtime, prompt, {**values, self.document_variable_name: shown})
        if shown and isinstance(filled, ChatPromptValue):
            return ChatPromptValue(messages=_keep_from_system(filled.to_messages(), shown))
        return filled

    async def _ask(
        self, runtime: Runtime, prompt: PromptValue, config: RunnableConfig, sink: Sink[str] | None = None
    ) -> str:
        return get_answer_text(await ask_model(runtime, self.llm, prompt, config, sink))

    @property
    def _can_step(self) -> bool:
        return self.llm._can_step


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


async def call_each(
    runtime: Runtime, call: Callable[[Runtime, T], Awaitable[R]], items: Iterable[T], config: RunnableConfig
) -> list[R]:
    """Return what ``call`` makes of each item, in order: at once, as far as ``config["max_concurrency"]`` allows.

    The first to fail cancels the others.
    """
    if not runtime.is_async:
        return run_in_portal(lambda: call_each(ASYNC, call, items, config))

    async def work(item: T, _: RunnableConfig) -> R:
        return await call(ASYNC, item)

    limit: RunnableConfig = {"max_concurrency": config.get("max_concurrency")}
    return await Batch(work, items, limit, return_exceptions=False).collect()
