"""Prompts that are one text."""

from abc import ABC, abstractmethod
from pathlib import Path
from typing import Any, Self

from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.prompt_values import PromptValue, StringPromptValue
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.formats import PromptTemplateFormat, check_valid_template, compile_template

__all__ = ["PromptTemplate", "StringPromptTemplate"]


class StringPromptTemplate(BasePromptTemplate[str], ABC):
    """A prompt that is one text. A subclass needs `format` alone."""

    @abstractmethod
    def format(self, /, **kwargs: object) -> str:
        """Return the text with the values filled in."""

    def format_prompt(self, /, **kwargs: object) -> PromptValue:
        """Return the text with the values filled in, for a model."""
        return StringPromptValue(text=self.format(**kwargs))

    async def aformat_prompt(self, /, **kwargs: object) -> PromptValue:
        """Do as `format_prompt`, under an event loop."""
        return StringPromptValue(text=await self.aformat(**kwargs))


class PromptTemplate(StringPromptTemplate):
    """A text with variables in it.

    ``prompt + text`` and ``prompt + prompt`` are longer templates.

    Args:
        template: the text. As an ``f-string``, ``{name}`` is a variable, ``{name:.2f}`` and ``{name!r}`` format it, and
            ``{{`` and ``}}`` are braces; attributes and indexes of values are refused.
        template_format: ``f-string``, ``mustache`` or ``jinja2``. Mustache reads plain data alone, and escapes the signs of
            HTML in ``{{name}}`` but not in ``{{{name}}}``. Jinja2 runs in its sandbox, which keeps private attributes from a
            template, but neither other attributes and methods nor endless work: take templates from nobody whom you
            would not let run code.
        validate_template: refuse ``input_variables`` that are not exactly those of the template. Else they are not
            looked at: the template says.

    Examples:
        >>> prompt = PromptTemplate.from_template("Tell me a {kind} joke about {topic}.")
        >>> prompt.format(kind="short", topic="braces: {}")
        'Tell me a short joke about braces: {}.'

    Examples:
        >>> from hocket import PromptTemplate
        >>> PromptTemplate.from_template("Tell me of {topic}.").format(topic="rain")
        'Tell me of rain.'
    """

    template: str
    template_format: PromptTemplateFormat = "f-string"
    validate_template: bool = False

    @classmethod
    def from_template(
        cls,
        template: str,
        *,
        template_format: PromptTemplateFormat = "f-string",
        partial_variables: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a prompt of ``template``; the arguments are those of the class."""
        return cls(
            template=template, template_format=template_format, partial_variables=partial_variables or {}, **kwargs
        )

    @classmethod
    def from_examples(
        cls,
        examples: list[str],
        suffix: str,
        input_variables: list[str],
        example_separator: str = "\n\n",
        prefix: str = "",
        **kwargs: Any,
    ) -> Self:
        """Return a prompt of a prefix, examples and a suffix, each a template. Further arguments are those of the class."""
        template = example_separator.join([prefix, *examples, suffix])
        return cls(template=template, input_variables=input_variables, **kwargs)

    @classmethod
    def from_file(cls, template_file: str | Path, encoding: str = "utf-8", **kwargs: Any) -> Self:
        """Return a prompt whose template is in a file. Further arguments are those of the class."""
        return cls(template=Path(template_file).read_text(encoding=encoding), **kwargs)

    def _check_template(self) -> None:
        if self.validate_template:
            check_valid_template(self.template, self.template_format, {*self.input_variables, *self.partial_variables})
        self._find_variables()

    def _find_variables(self) -> None:
        self._set_variables(set(compile_template(self.template, self.template_format).variables))

    def format(self, /, **kwargs: object) -> str:
        """Return the text with the values filled in.

        Raises:
            InvalidInput: a variable has no value, or one that its format spec does not take.
        """
        return compile_template(self.template, self.template_format).render(self._merge_values(kwargs))

    def __add__(self, other: object) -> Self:
        """Return the prompt of both templates, one after the other; a text is read as a template of the same format.

        Raises:
            InvalidInput: the formats differ, or both have a value beforehand for the same variable.
        """
        if isinstance(other, str):
            return self._derive(template=self.template + other)
        if not isinstance(other, PromptTemplate):
            return NotImplemented
        if other.template_format != self.template_format:
            raise InvalidInput(f"a {self.template_format} template and one in {other.template_format} cannot be added")
        twice = self.partial_variables.keys() & other.partial_variables.keys()
        if twice:
            raise InvalidInput(f"both prompts have a value beforehand for {', '.join(sorted(twice))}: give it once")
        partial_variables = {**self.partial_variables, **other.partial_variables}
        return self._derive(template=self.template + other.template, partial_variables=partial_variables)

    def _make_config(self) -> Fields:
        return self._dump_fields(self._prompt_type)

    def pretty_repr(self, html: bool = False) -> str:
        """Return the template."""
        return self.template

    @property
    def _prompt_type(self) -> str:
        return "prompt"
