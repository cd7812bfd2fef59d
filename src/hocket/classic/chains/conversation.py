"""A conversation with a model, as a chain."""

from typing import Unpack

from hocket.chains.ask import AnyPrompt
from hocket.chains.step import join_keys
from hocket.classic.chains.base import ChainOptions
from hocket.classic.chains.llm import AnyParser, LLMChain
from hocket.classic.memory import BaseChatMemory, BaseMemory, ConversationBufferMemory
from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder, PromptTemplate
from hocket.runnables.base import AnyRunnable

__all__ = ["ConversationChain"]

_SYSTEM = "You talk with a person. Answer truthfully; if you do not know something, say so."


class ConversationChain(LLMChain):
    """Talks with a person: each question is asked with what was said before, and remembered with its answer.

    `hocket.Conversation` does that without keys, within the model's window, and stores tool calls as well.

    Args:
        llm: a chat model, a text model, or one with something bound.
        prompt: with ``{input}`` and the variable of the memory; default: hocket's own.
        memory: default: one that keeps the whole conversation, as messages, in this process.
        input_key, output_key: the names of the question and of its answer.
        output_parser: reads the answer; default: its text.
        options: see `Chain`.

    Raises, when it is made:
        InvalidInput: the prompt has other variables than those two.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> chain = ConversationChain(ScriptedChatModel(script=["Hello, Ada!", "Ada."]))
        >>> _ = chain.invoke({"input": "I am Ada."})
        >>> chain.invoke({"input": "Who am I?"})["response"]
        'Ada.'
    """

    input_key: str = "input"

    def __init__(
        self,
        llm: AnyRunnable,
        prompt: AnyPrompt | None = None,
        *,
        input_key: str = "input",
        output_key: str = "response",
        output_parser: AnyParser | None = None,
        **options: Unpack[ChainOptions],
    ) -> None:
        memory = options.get("memory")
        if memory is None:
            memory = ConversationBufferMemory(return_messages=True)
        fields: Fields = {**options, "memory": memory, "input_key": input_key, "output_key": output_key}
        if prompt is None:
            prompt = _make_prompt(memory, input_key)
        super().__init__(llm, prompt, output_parser=output_parser, **fields)

    @property
    def input_keys(self) -> list[str]:
        """The name of the question."""
        return [self.input_key]

    def _check_keys(self) -> None:
        if self.input_key in self._known_keys:
            raise InvalidInput(f"{self.input_key!r} is the question and a variable of the memory; rename one")
        super()._check_keys()
        wanted, has = {self.input_key, *self._known_keys}, {*self.prompt.input_variables}
        if wanted != has:
            raise InvalidInput(
                f"the prompt has the variables {join_keys(sorted(has))}; the question and the memory give "
                f"{join_keys(sorted(wanted))}"
            )


def _make_prompt(memory: BaseMemory, input_key: str) -> AnyPrompt:
    """Return hocket's own prompt, with what the memory gives: messages, or texts."""
    keys = memory.memory_variables
    if isinstance(memory, BaseChatMemory) and memory.return_messages:
        past = [MessagesPlaceholder(key) for key in keys]
        return ChatPromptTemplate([("system", _SYSTEM), *past, ("human", f"{{{input_key}}}")])
    lines = [_SYSTEM, "What was said so far:", *(f"{{{key}}}" for key in keys), f"Human: {{{input_key}}}", "AI:"]
    return PromptTemplate.from_template("\n".join(lines))
