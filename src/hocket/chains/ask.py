"""A model asked by a chain: one path, whether its answer is streamed or not."""

from collections.abc import Awaitable
from typing import Any, cast

from hocket._runtime.mode import Mode
from hocket._runtime.sinks import RelaySink, Sink
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.prompt_values import PromptValue
from hocket.prompts import BasePromptTemplate
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable
from hocket.runnables.folding import Accumulator
from hocket.runnables.proxy import RunnableBinding

__all__ = [
    "Answer",
    "AnyPrompt",
    "SinkWatch",
    "TextReader",
    "ask_model",
    "check_tools",
    "fill_prompt",
    "get_answer_text",
    "unbind",
]

Answer = str | BaseMessage
"""What models return."""

AnyPrompt = BasePromptTemplate[Any]
"""A prompt; what it is formatted to, beside a prompt value, does not matter here."""


async def ask_model(
    mode: Mode, llm: AnyRunnable, prompt: PromptValue, config: RunnableConfig, sink: Sink[str] | None = None
) -> Answer:
    """Return a model's answer.

    Args:
        mode: the one that this runs in.
        llm: a chat model, a text model, or one with something bound.
        prompt: what it is asked.
        config: of its run.
        sink: takes the text as it comes; None: the model is not streamed.
    """
    if sink is None:
        return _check_answer(await llm._invoke(mode, prompt, config, {}))  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
    reader = TextReader(sink, cumulative=llm._is_cumulative)  # pyright: ignore[reportPrivateUsage]  # as above
    await llm._produce(mode, prompt, config, {}, reader)  # pyright: ignore[reportPrivateUsage]  # as above
    return _check_answer(reader.pieces.total())


async def fill_prompt(mode: Mode, prompt: AnyPrompt, values: Fields) -> PromptValue:
    """Return a prompt with values filled in, once: braces in them are text.

    Raises:
        InvalidInput: a variable has no value, or one that it cannot take.
    """
    names = {*prompt.input_variables, *prompt.optional_variables, *prompt.partial_variables}
    own = {key: value for key, value in values.items() if key in names}
    return await prompt.aformat_prompt(**own) if mode.is_async else prompt.format_prompt(**own)


def get_answer_text(answer: Answer) -> str:
    """Return the text of an answer."""
    return answer if isinstance(answer, str) else answer.text


def _check_answer(answer: object) -> Answer:
    if not isinstance(answer, str | BaseMessage):
        raise InvalidInput(f"the llm of a chain returned {type(answer).__name__}; a model returns a message or a text")
    return answer


class TextReader(RelaySink[str]):
    """A sink that keeps what a model or a chain says, and hands on its text.

    Args:
        sink: takes the text.
        cumulative: whether each piece replaces those before it, instead of adding to them.

    Attributes:
        pieces: that have come.
    """

    def __init__(self, sink: Sink[str], *, cumulative: bool) -> None:
        super().__init__(sink)
        self.pieces: Accumulator[object] = Accumulator(cumulative=cumulative)

    def put(self, item: object) -> Awaitable[None] | None:
        """Hand over the text of a piece."""
        self.pieces.add(item)
        text = get_answer_text(item) if isinstance(item, str | BaseMessage) else ""
        return self._sink.put(text) if text else None


class SinkWatch(RelaySink[str]):
    """A sink that notices whether anything has come."""

    def __init__(self, sink: Sink[str]) -> None:
        super().__init__(sink)
        self.has_begun: bool = False

    def put(self, item: str) -> Awaitable[None] | None:
        """Hand over a piece."""
        self.has_begun = True
        return self._sink.put(item)


def check_tools(llm: object) -> None:
    """Refuse a model that has tools bound.

    Raises:
        InvalidInput: it has.
    """
    while isinstance(llm, RunnableBinding):
        if any(llm.kwargs.get(name) for name in ("tools", "functions")):
            raise InvalidInput(
                "the model has tools bound, and a chain that reads documents binds none: what stands in a document could "
                "have them called. Give the model without them; an agent asks before it calls (interrupt_on=)"
            )
        llm = cast(object, llm.bound)


def unbind(runnable: AnyRunnable) -> AnyRunnable:
    """Return what is called in the end, without what is bound to it."""
    while isinstance(runnable, RunnableBinding):
        runnable = runnable.bound
    return runnable
