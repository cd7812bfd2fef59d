"""Templates of single messages, and the place of messages that a call gives."""

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
from hocket.prompts.chat import ContentTemplate, RoleTemplate, register_role
from hocket.prompts.dict import DictPromptTemplate
from hocket.prompts.formats import PromptTemplateFormat
from hocket.prompts.string import PromptTemplate, StringPromptTemplate

__all__ = [
    "AIMessagePromptTemplate",
    "BaseStringMessagePromptTemplate",
    "ChatMessagePromptTemplate",
    "HumanMessagePromptTemplate",
    "RoleMessagePromptTemplate",
    "SystemMessagePromptTemplate",
]


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
