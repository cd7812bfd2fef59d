"""A prompt, a model, and what reads its answer."""

from typing import Any, Unpack

from pydantic import Field, SkipValidation

from hocket._runtime.mode import Mode
from hocket.chains.ask import AnyPrompt, ask_model, fill_prompt
from hocket.chains.outlet import Outlet
from hocket.classic.chains.base import Chain, ChainOptions
from hocket.messages.content import Fields
from hocket.output_parsers import BaseLLMOutputParser, StrOutputParser
from hocket.output_parsers.base import to_generations
from hocket.runnables import RunnableConfig
from hocket.runnables.base import AnyRunnable

__all__ = ["LLMChain"]

AnyParser = BaseLLMOutputParser[Any]


class LLMChain(Chain):
    """Fills a prompt with its inputs and asks a model. Its stream has the text as it comes.

    Args:
        llm: a chat model, a text model, or one with something bound.
        prompt: its variables are the inputs.
        output_key: the name of the answer.
        output_parser: reads the answer; default: its text.
        options: see `Chain`.

    Examples:
        >>> from hocket import FakeListChatModel, PromptTemplate
        >>> chain = LLMChain(FakeListChatModel(responses=["Paris"]), PromptTemplate.from_template("Capital of {country}?"))
        >>> chain.invoke({"country": "France"})
        {'country': 'France', 'text': 'Paris'}
    """

    llm: SkipValidation[AnyRunnable]
    prompt: SkipValidation[AnyPrompt]
    output_key: str = "text"
    output_parser: SkipValidation[AnyParser] = Field(default_factory=StrOutputParser)

    def __init__(
        self,
        llm: AnyRunnable,
        prompt: AnyPrompt,
        *,
        output_key: str = "text",
        output_parser: AnyParser | None = None,
        **options: Unpack[ChainOptions],
    ) -> None:
        fields: Fields = {"llm": llm, "prompt": prompt, "output_key": output_key, **options}
        if output_parser is not None:
            fields["output_parser"] = output_parser
        super().__init__(**fields)

    @property
    def input_keys(self) -> list[str]:
        """The variables of the prompt."""
        return [*self.prompt.input_variables]

    @property
    def output_keys(self) -> list[str]:
        """The name of the answer."""
        return [self.output_key]

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        sink = outlet.get_sink(self.output_key) if type(self.output_parser) is StrOutputParser else None
        prompt = await fill_prompt(mode, self.prompt, inputs)
        result = to_generations(await ask_model(mode, self.llm, prompt, config, sink))
        parser = self.output_parser
        return {self.output_key: await parser.aparse_result(result) if mode.is_async else parser.parse_result(result)}

    @property
    def _can_step(self) -> bool:
        return self.llm._can_step
