"""Prompts with examples in them. Examples are values: a brace in one is a brace."""

from abc import ABC, abstractmethod
from typing import Any, ClassVar

from pydantic import SkipValidation

from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.messages.content import Fields
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.chat import BaseChatPromptTemplate, BaseMessagePromptTemplate
from hocket.prompts.example_selectors import BaseExampleSelector
from hocket.prompts.formats import PromptTemplateFormat, compile_template
from hocket.prompts.message import StringPromptTemplate

__all__ = ["FewShotChatMessagePromptTemplate", "FewShotPromptTemplate", "FewShotPromptWithTemplates"]


class _Examples(BasePromptTemplate[str], ABC):
    """Where the examples come from: exactly one of the two.

    Args:
        examples: the examples, each the values of one.
        example_selector: chooses them for the values of the call.
    """

    examples: list[dict[str, Any]] | None = None
    example_selector: SkipValidation[BaseExampleSelector | None] = None

    def _check_template(self) -> None:
        if (self.examples is None) == (self.example_selector is None):
            raise InvalidInput("a few-shot prompt takes examples=[...] or example_selector=..., one of the two")
        super()._check_template()

    async def _select_examples(self, mode: Mode, values: dict[str, Any]) -> list[dict[str, Any]]:
        if self.example_selector is None:
            return self.examples or []
        if mode.is_async:
            return await self.example_selector.aselect_examples(values)
        return self.example_selector.select_examples(values)


class _FewShotText(_Examples, StringPromptTemplate, ABC):
    """Examples as text, between a prefix and a suffix.

    Args:
        example_prompt: what an example looks like.
        example_separator: between prefix, examples and suffix; what is empty is left out.
    """

    example_prompt: StringPromptTemplate
    example_separator: str = "\n\n"

    @abstractmethod
    def _fill_ends(self, values: dict[str, object]) -> tuple[str, str]:
        """Return prefix and suffix with the values filled in."""

    def format(self, /, **kwargs: object) -> str:
        """Return the text, with the values filled in.

        Raises:
            InvalidInput: a variable, of the prompt or of an example, has no value.
        """
        return drive(self._format(BLOCKING, kwargs))

    async def aformat(self, /, **kwargs: object) -> str:
        """Do as `format`, under an event loop: a selector may wait there."""
        return await self._format(ASYNC, kwargs)

    async def _format(self, mode: Mode, given: dict[str, object]) -> str:
        values = self._merge_values(given)
        examples = [self.example_prompt.format(**example) for example in await self._select_examples(mode, values)]
        prefix, suffix = self._fill_ends(values)
        return self.example_separator.join([piece for piece in (prefix, *examples, suffix) if piece])


class FewShotPromptTemplate(_FewShotText):
    """A text with examples in it: the prefix, the examples and the suffix, with a separator between them.

    Args:
        example_prompt: what an example looks like.
        suffix, prefix: templates of what comes after and before the examples.
        example_separator: between all of these; what is empty is left out.
        template_format: of prefix and suffix.
    """

    suffix: str
    prefix: str = ""
    template_format: PromptTemplateFormat = "f-string"
    _prompt_type: ClassVar[str] = "few_shot"

    def _find_variables(self) -> None:
        ends = (compile_template(text, self.template_format) for text in (self.prefix, self.suffix))
        self._set_variables({name for end in ends for name in end.variables})

    def _fill_ends(self, values: dict[str, object]) -> tuple[str, str]:
        prefix, suffix = (
            compile_template(text, self.template_format).render(values) for text in (self.prefix, self.suffix)
        )
        return prefix, suffix

    def _make_config(self) -> Fields:
        if self.example_selector is not None:
            raise InvalidInput("a prompt with an example_selector is not saved: give it examples")
        return {**self._dump_fields(self._prompt_type), "example_prompt": self.example_prompt._make_config()}

    def pretty_repr(self, html: bool = False) -> str:
        """Return the templates, with that of one example."""
        pieces = (self.prefix, self.example_prompt.pretty_repr(html), self.suffix)
        return self.example_separator.join([piece for piece in pieces if piece])


class FewShotPromptWithTemplates(_FewShotText):
    """A text with examples in it, whose prefix and suffix are prompts themselves.

    Args:
        example_prompt: what an example looks like.
        suffix, prefix: prompts of what comes after and before the examples.
        example_separator: between all of these; what is empty is left out.
    """

    suffix: StringPromptTemplate
    prefix: StringPromptTemplate | None = None
    _prompt_type: ClassVar[str] = "few_shot_with_templates"

    def _find_variables(self) -> None:
        ends = (self.suffix,) if self.prefix is None else (self.prefix, self.suffix)
        self._set_variables({name for end in ends for name in end.input_variables})

    def _fill_ends(self, values: dict[str, object]) -> tuple[str, str]:
        return "" if self.prefix is None else self.prefix.format(**values), self.suffix.format(**values)

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompts, with that of one example."""
        parts = [part for part in (self.prefix, self.example_prompt, self.suffix) if part is not None]
        return self.example_separator.join(part.pretty_repr(html) for part in parts)


class FewShotChatMessagePromptTemplate(_Examples, BaseChatPromptTemplate):
    """Examples as messages, for the middle of a chat prompt.

    Args:
        example_prompt: the messages of one example.
        input_variables: the values that a selector needs.
    """

    example_prompt: BaseMessagePromptTemplate | BaseChatPromptTemplate
    _prompt_type: ClassVar[str] = "few_shot_chat"

    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the messages of the examples.

        Raises:
            InvalidInput: a variable of an example has no value.
        """
        return drive(self._format(BLOCKING, kwargs))

    async def aformat_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Do as `format_messages`, under an event loop: a selector may wait there."""
        return await self._format(ASYNC, kwargs)

    async def _format(self, mode: Mode, given: dict[str, object]) -> list[BaseMessage]:
        examples = await self._select_examples(mode, self._merge_values(given))
        return [message for example in examples for message in self.example_prompt.format_messages(**example)]

    def pretty_repr(self, html: bool = False) -> str:
        """Return what an example looks like, for reading."""
        return self.example_prompt.pretty_repr(html)
