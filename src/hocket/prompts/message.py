"""Prompts that are one text, templates of single messages, and the place of messages that a call gives."""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Self, cast

from pydantic import Field

from hocket.errors import InvalidInput
from hocket.messages import (
    AIMessage,
    BaseMessage,
    ChatMessage,
    HumanMessage,
    SystemMessage,
    get_msg_title_repr,
)
from hocket.messages.content import Fields
from hocket.prompt_values import PromptValue, StringPromptValue
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.chat import ContentTemplate, RoleTemplate, register_role
from hocket.prompts.dict import DictPromptTemplate
from hocket.prompts.formats import PromptTemplateFormat, check_valid_template, compile_template

__all__ = [
    "AIMessagePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "HumanMessagePromptTemplate",
    "PromptTemplate",
    "RoleMessagePromptTemplate",
    "StringPromptTemplate",
    "SystemMessagePromptTemplate",
]


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
    _prompt_type: ClassVar[str] = "prompt"

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


class BaseStringMessagePromptTemplate(RoleTemplate, ABC):
    """A message with variables in it. A subclass of one's own needs `format` alone.

    Args:
        prompt: its text, or the parts of its content. A text part that comes out empty is left out.
        additional_kwargs: of the message.
    """

    prompt: StringPromptTemplate | list[StringPromptTemplate | DictPromptTemplate]
    additional_kwargs: dict[str, Any] = Field(default_factory=dict)

    @classmethod
    def from_template(
        cls,
        template: ContentTemplate,
        template_format: PromptTemplateFormat = "f-string",
        *,
        partial_variables: dict[str, Any] | None = None,
        **kwargs: Any,
    ) -> Self:
        """Return a message whose content is ``template``.

        Args:
            template: a text, or a list of texts and content blocks, whose texts are templates.
            template_format: of all texts.
            partial_variables: values given beforehand, to a text.
            kwargs: further arguments of the class.

        Raises:
            InvalidInput: it is neither, or there are ``partial_variables`` for a list.
        """
        return cls(prompt=_read_content(template, template_format, partial_variables or {}), **kwargs)

    @classmethod
    def from_template_file(cls, template_file: str | Path, **kwargs: Any) -> Self:
        """Return a message whose text is a template in a file. Further arguments are those of `from_template`."""
        return cls.from_template(Path(template_file).read_text(encoding="utf-8"), **kwargs)

    @property
    def input_variables(self) -> list[str]:
        """The names of the values that are needed, sorted."""
        return sorted({name for part in self._parts for name in part.input_variables})

    @abstractmethod
    def format(self, /, **kwargs: object) -> BaseMessage:
        """Return the message, with the values filled in."""

    async def aformat(self, /, **kwargs: object) -> BaseMessage:
        """Do as `format`, under an event loop."""
        return self.format(**kwargs)

    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the message, in a list."""
        return [self.format(**kwargs)]

    def pretty_repr(self, html: bool = False) -> str:
        """Return the template for reading."""
        title = type(self).__name__.replace("MessagePromptTemplate", " Message")
        return "\n\n".join([get_msg_title_repr(title, bold=html), *(part.pretty_repr(html) for part in self._parts)])

    @property
    def _parts(self) -> Sequence[StringPromptTemplate | DictPromptTemplate]:
        return self.prompt if isinstance(self.prompt, list) else [self.prompt]


class RoleMessagePromptTemplate(BaseStringMessagePromptTemplate, ABC):
    """A message with variables in it, whose content may have several parts."""

    def format(self, /, **kwargs: object) -> BaseMessage:
        """Return the message, with the values filled in."""
        if isinstance(self.prompt, StringPromptTemplate):
            return self._make_message(self.prompt.format(**kwargs))
        content: list[str | dict[str, Any]] = []
        for part in self.prompt:
            made = part.format(**kwargs)
            if isinstance(made, dict):
                content.append(made)
            elif made:
                content.append({"type": "text", "text": made})
        return self._make_message(content)

    @abstractmethod
    def _make_message(self, content: str | list[str | dict[str, Any]]) -> BaseMessage:
        """Return the message with this content."""


class ChatMessagePromptTemplate(RoleMessagePromptTemplate):
    """A message of a role of one's own, with variables in it."""

    role: str

    def _make_message(self, content: str | list[str | dict[str, Any]]) -> BaseMessage:
        return ChatMessage(content, role=self.role, additional_kwargs=dict(self.additional_kwargs))


class _SpeakerTemplate(RoleMessagePromptTemplate, ABC):
    """A message of a known role."""

    message_class: ClassVar[type[BaseMessage]]

    def _make_message(self, content: str | list[str | dict[str, Any]]) -> BaseMessage:
        if self.additional_kwargs:
            return self.message_class(content, additional_kwargs=dict(self.additional_kwargs))
        return self.message_class(content)


class HumanMessagePromptTemplate(_SpeakerTemplate):
    """A user's message, with variables in it."""

    message_class: ClassVar[type[BaseMessage]] = HumanMessage


class AIMessagePromptTemplate(_SpeakerTemplate):
    """A model's message, with variables in it."""

    message_class: ClassVar[type[BaseMessage]] = AIMessage


class SystemMessagePromptTemplate(_SpeakerTemplate):
    """A system message, with variables in it."""

    message_class: ClassVar[type[BaseMessage]] = SystemMessage


register_role(HumanMessagePromptTemplate, "human", "user")
register_role(AIMessagePromptTemplate, "ai", "assistant")
register_role(SystemMessagePromptTemplate, "system")


def _read_content(template: object, template_format: PromptTemplateFormat, partial_variables: dict[str, Any]) -> Any:
    if isinstance(template, str):
        return PromptTemplate.from_template(
            template, template_format=template_format, partial_variables=partial_variables
        )
    if not isinstance(template, list | tuple):
        raise InvalidInput(
            f"a message's template is a text, or a list of texts and blocks, not {type(template).__name__}"
        )
    if partial_variables:
        raise InvalidInput("partial_variables are for a text; for a list, use partial() of the chat prompt")
    return [_read_part(part, template_format) for part in cast("list[Any]", template)]


def _read_part(part: object, template_format: PromptTemplateFormat) -> StringPromptTemplate | DictPromptTemplate:
    if isinstance(part, dict) and part.keys() <= {"type", "text"} and isinstance(part.get("text"), str):  # pyright: ignore[reportUnknownMemberType]  # checked here
        part = cast("dict[str, Any]", part)["text"]
    if isinstance(part, str):
        return PromptTemplate.from_template(part, template_format=template_format)
    if isinstance(part, dict):
        return DictPromptTemplate(template=cast("dict[str, Any]", part), template_format=template_format)
    raise InvalidInput(f"a part of a message's template is a text or a block, a dict, not {type(part).__name__}")
