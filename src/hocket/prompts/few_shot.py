"""Prompts with examples in them. Examples are values: a brace in one is a brace."""

from abc import ABC
from typing import Any, ClassVar

from pydantic import BaseModel, ConfigDict, SkipValidation

from hocket._runtime.runtime import ASYNC, BLOCKING, Runtime, drive
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.prompts.chat import BaseChatPromptTemplate, BaseMessagePromptTemplate
from hocket.prompts.example_selectors import BaseExampleSelector
from hocket.prompts.formats import PromptTemplateFormat, compile_template
from hocket.prompts.string import StringPromptTemplate

__all__ = ["FewShotChatMessagePromptTemplate", "FewShotPromptTemplate"]


class _Examples(BaseModel, ABC):
    """Where the examples come from: exactly one of the two.

    Args:
        examples: the examples, each the values of one.
        example_selector: chooses them for the values of the call.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    examples: list[dict[str, Any]] | None = None
    example_selector: SkipValidation[BaseExampleSelector | None] = None

    def _check_source(self) -> None:
        if (self.examples is None) == (self.example_selector is None):
            raise InvalidInput("a few-shot prompt takes examples=[...] or example_selector=..., one of the two")

    async def _select_examples(self, runtime: Runtime, values: dict[str, Any]) -> list[dict[str, Any]]:
        if self.example_selector is None:
            return self.examples or []
        if runtime.is_async:
            return await self.example_selector.aselect_examples(values)
        return self.example_selector.select_examples(values)


class FewShotPromptTemplate(_Examples, StringPromptTemplate):
    """A text with examples in it: the prefix, the examples and the suffix, with a separator between them.

    Args:
        example_prompt: what an example looks like.
        suffix, prefix: templates of what comes after and before the examples.
        example_separator: between all of these; what is empty is left out.
        template_format: of prefix and suffix.
    """

    example_prompt: StringPromptTemplate
    suffix: str
    prefix: str = ""
    example_separator: str = "\n\n"
    template_format: PromptTemplateFormat = "f-string"

    def _check_template(self) -> None:
        self._check_source()
        self._find_variables()

    def _find_variables(self) -> None:
        ends = (compile_template(text, self.template_format) for text in (self.prefix, self.suffix))
        self._set_variables({name for end in ends for name in end.variables})

    def format(self, /, **kwargs: object) -> str:
        """Return the text, with the values filled in.

        Raises:
            InvalidInput: a variable, of the prompt or of an example, has no value.
        """
        return drive(self._format(BLOCKING, kwargs))

    async def aformat(self, /, **kwargs: object) -> str:
        """Do as `format`, under an event loop: a selector may wait there."""
        return await self._format(ASYNC, kwargs)

    async def _format(self, runtime: Runtime, given: dict[str, object]) -> str:
        values = self._merge_values(given)
        examples = [self.example_prompt.format(**example) for example in await self._select_examples(runtime, values)]
        prefix, suffix = (
            compile_template(text, self.template_format).render(values) for text in (self.prefix, self.suffix)
        )
        return self.example_separator.join([piece for piece in (prefix, *examples, suffix) if piece])

    def pretty_repr(self, html: bool = False) -> str:
        """Return the templates, with that of one example."""
        pieces = (self.prefix, self.example_prompt.pretty_repr(html), self.suffix)
        return self.example_separator.join([piece for piece in pieces if piece])

    @property
    def _prompt_type(self) -> str:
        return "few_shot"


class FewShotChatMessagePromptTemplate(_Examples, BaseChatPromptTemplate):
    """Examples as messages, for the middle of a chat prompt.

    Args:
        example_prompt: the messages of one example.
        input_variables: the values that a selector needs.
    """

    example_prompt: BaseMessagePromptTemplate | BaseChatPromptTemplate

    def _check_template(self) -> None:
        self._check_source()
        self._find_variables()

    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the messages of the examples.

        Raises:
            InvalidInput: a variable of an example has no value.
        """
        return drive(self._format(BLOCKING, kwargs))

    async def aformat_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Do as `format_messages`, under an event loop: a selector may wait there."""
        return await self._format(ASYNC, kwargs)

    async def _format(self, runtime: Runtime, given: dict[str, object]) -> list[BaseMessage]:
        examples = await self._select_examples(runtime, self._merge_values(given))
        return [message for example in examples for message in self.example_prompt.format_messages(**example)]

    def pretty_repr(self, html: bool = False) -> str:
        """Return what an example looks like, for reading."""
        return self.example_prompt.pretty_repr(html)

    @property
    def _prompt_type(self) -> str:
        return "few_shot_chat"
