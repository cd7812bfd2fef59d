"""Prompts that are conversations, and what they are made of.

The templates of single roles (`hocket.prompts.message`) are built on this module, and register themselves here.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar, Self, cast, overload

from pydantic import ConfigDict, PositiveInt, SkipValidation

from hocket._runtime.definitions import Twins
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.load.serializable import Serializable
from hocket.messages import AnyMessage, BaseMessage, convert_to_messages, get_msg_title_repr
from hocket.prompt_values import ChatPromptValue
from hocket.prompts.base import BasePromptTemplate
from hocket.prompts.formats import PromptTemplateFormat
from hocket.prompts.missing import MissingVariable

__all__ = [
    "BaseChatPromptTemplate",
    "BaseMessagePromptTemplate",
    "ChatPromptTemplate",
    "ContentTemplate",
    "MessageLike",
    "MessageLikeRepresentation",
    "MessagesPlaceholder",
    "RoleTemplate",
    "register_role",
]

ContentTemplate = str | Sequence[str | dict[str, Any]]
"""The content of a message as a template: a text, or texts and content blocks."""


class BaseMessagePromptTemplate(Twins, Serializable, ABC):
    """Something that stands for messages in a prompt. ``template + other`` is a `ChatPromptTemplate` of both."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Templates travel as data."""
        return True

    @property
    @abstractmethod
    def input_variables(self) -> list[str]:
        """The names of the values that are needed."""

    @abstractmethod
    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the messages, with the values filled in.

        Raises:
            InvalidInput: a variable has no value, or one that it cannot take.
        """

    async def aformat_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Do as `format_messages`, under an event loop."""
        return self.format_messages(**kwargs)

    @abstractmethod
    def pretty_repr(self, html: bool = False) -> str:
        """Return the template for reading."""

    def pretty_print(self) -> None:
        """Print `pretty_repr`."""
        print(self.pretty_repr())

    def __add__(self, other: "MessageLikeRepresentation | Sequence[MessageLikeRepresentation]") -> "ChatPromptTemplate":
        return ChatPromptTemplate([self]) + other

    def __radd__(
        self, other: "MessageLikeRepresentation | Sequence[MessageLikeRepresentation]"
    ) -> "ChatPromptTemplate":
        return other + ChatPromptTemplate([self])


class MessagesPlaceholder(BaseMessagePromptTemplate):
    """The place of messages that a call gives: the past of a conversation, for example.

    Args:
        variable_name: the name of the value, a list of what can be read as messages.
        optional: whether it may be missing; then there are no messages.
        n_messages: take the last so many alone.

    Examples:
        >>> from hocket import ChatPromptTemplate, MessagesPlaceholder
        >>> prompt = ChatPromptTemplate([MessagesPlaceholder("history"), ("human", "{question}")])
        >>> [one.text for one in prompt.format_messages(history=["I am Ada."], question="Who am I?")]
        ['I am Ada.', 'Who am I?']
    """

    variable_name: str
    optional: bool = False
    n_messages: PositiveInt | None = None

    def __init__(self, variable_name: str, *, optional: bool = False, **kwargs: Any) -> None:
        super().__init__(variable_name=variable_name, optional=optional, **kwargs)  # type: ignore[call-arg]

    @property
    def input_variables(self) -> list[str]:
        """The name of the value, unless it may be missing."""
        return [] if self.optional else [self.variable_name]

    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the messages that the call gives."""
        name = self.variable_name
        if name not in kwargs and not self.optional:
            raise MissingVariable(
                f"there is no value for {name!r}: give a list of messages, or make the place optional"
            )
        value = kwargs.get(name, [])
        if not isinstance(value, list | tuple):
            raise InvalidInput(f"{name!r} is {type(value).__name__}; it must be a list of messages")
        messages = convert_to_messages(value)  # pyright: ignore[reportUnknownArgumentType]  # which checks each
        return messages if self.n_messages is None else messages[-self.n_messages :]

    def pretty_repr(self, html: bool = False) -> str:
        """Return the place for reading."""
        return f"{get_msg_title_repr('Messages Placeholder', bold=html)}\n\n{{{self.variable_name}}}"


class RoleTemplate(BaseMessagePromptTemplate, ABC):
    """A template of one message, read from a role and the template of its content."""

    @classmethod
    @abstractmethod
    def from_template(cls, template: ContentTemplate, template_format: PromptTemplateFormat = "f-string") -> Self:
        """Return a message whose content is ``template``."""


_templates_by_role: dict[str, type[RoleTemplate]] = {}


def register_role(template: type[RoleTemplate], *roles: str) -> None:
    """Let a chat prompt read messages of these roles as ``template``."""
    _templates_by_role.update(dict.fromkeys(roles, template))


class BaseChatPromptTemplate(BasePromptTemplate[str], ABC):
    """A prompt that is a conversation. A subclass needs `format_messages` alone."""

    @abstractmethod
    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the messages, with the values filled in."""

    async def aformat_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Do as `format_messages`, under an event loop."""
        return self.format_messages(**kwargs)

    def format_prompt(self, /, **kwargs: object) -> ChatPromptValue:
        """Return the messages, with the values filled in, for a model."""
        return ChatPromptValue(messages=self.format_messages(**kwargs))

    async def aformat_prompt(self, /, **kwargs: object) -> ChatPromptValue:
        """Do as `format_prompt`, under an event loop."""
        return ChatPromptValue(messages=await self.aformat_messages(**kwargs))

    def format(self, /, **kwargs: object) -> str:
        """Return the messages as one text, with the values filled in."""
        return self.format_prompt(**kwargs).to_string()

    async def aformat(self, /, **kwargs: object) -> str:
        """Do as `format`, under an event loop."""
        return (await self.aformat_prompt(**kwargs)).to_string()


MessageLike = BaseMessagePromptTemplate | BaseMessage | BaseChatPromptTemplate
"""What a chat prompt is made of."""

MessageLikeRepresentation = MessageLike | tuple[str | type, Any] | str | dict[str, Any]
"""What may be written for it."""


class ChatPromptTemplate(BaseChatPromptTemplate):
    """A conversation with variables in it.

    ``prompt + other`` is a longer one; ``prompt[0]`` is a message and ``prompt[1:]`` a prompt.

    Args:
        messages: each a message, which is taken as it is; a template of messages; a pair of a role and a template,
            ``("human", "Hi {name}")``, as a dict too; or a text, which is the user's. Roles: human or user, ai or
            assistant, system; ``("placeholder", "{history}")`` stands for messages that a call may give. A template is
            a text, or a list of texts and content blocks.
        template_format: of the texts among them. See `PromptTemplate`.

    Examples:
        >>> prompt = ChatPromptTemplate([("system", "You speak {language}."), ("human", "{question}")])
        >>> prompt.format_messages(language="Dutch", question="Who is {x}?")[1].text
        'Who is {x}?'
    """

    messages: SkipValidation[list[MessageLike]]
    validate_template: bool = False
    _prompt_type: ClassVar[str] = "chat"

    def __init__(
        self,
        messages: Sequence[MessageLikeRepresentation],
        *,
        template_format: PromptTemplateFormat = "f-string",
        **kwargs: Any,
    ) -> None:
        read = [_to_template(message, template_format) for message in messages]
        super().__init__(messages=read, **kwargs)  # type: ignore[call-arg]

    @classmethod
    def from_messages(
        cls, messages: Sequence[MessageLikeRepresentation], template_format: PromptTemplateFormat = "f-string"
    ) -> Self:
        """Return a prompt of ``messages``; see the class."""
        return cls(messages, template_format=template_format)

    @classmethod
    def from_template(cls, template: str, **kwargs: Any) -> Self:
        """Return a prompt of one message, the user's. Further arguments are those of `PromptTemplate`."""
        return cls([_templates_by_role["human"].from_template(template, **kwargs)])

    def _check_template(self) -> None:
        given = {*self.input_variables, *self.optional_variables} - self.partial_variables.keys()
        self._find_variables()
        if self.validate_template and given != {*self.input_variables, *self.optional_variables}:
            raise InvalidInput(
                f"the messages have the variables {self.input_variables}, and input_variables says {sorted(given)}"
            )

    def _derive(self, **changes: object) -> Self:
        return super()._derive(**{"messages": [*self.messages], **changes})  # `append` must not reach this one's list

    def _find_variables(self) -> None:
        required: set[str] = set()
        optional: set[str] = set()
        for part in self.messages:
            if isinstance(part, MessagesPlaceholder) and part.optional:
                optional.add(part.variable_name)
            elif isinstance(part, BaseMessagePromptTemplate | BaseChatPromptTemplate):
                required.update(part.input_variables)
                optional.update(part.optional_variables if isinstance(part, BaseChatPromptTemplate) else ())
        self._set_variables(required, optional)

    def _get_variable_types(self) -> dict[str, tuple[object, object]]:
        places = [part for part in self.messages if isinstance(part, MessagesPlaceholder)]
        histories = {place.variable_name: (list[AnyMessage], None if place.optional else ...) for place in places}
        return {name: histories.get(name, type_) for name, type_ in super()._get_variable_types().items()}

    def format_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Return the messages, with the values filled in.

        Raises:
            InvalidInput: a variable has no value, or one that it cannot take.
        """
        return drive(self._format(BLOCKING, kwargs))

    async def aformat_messages(self, /, **kwargs: object) -> list[BaseMessage]:
        """Do as `format_messages`, under an event loop: example selectors may wait there."""
        return await self._format(ASYNC, kwargs)

    async def _format(self, mode: Mode, given: dict[str, object]) -> list[BaseMessage]:
        values = self._merge_values(given)
        made: list[BaseMessage] = []
        for part in self.messages:
            if isinstance(part, BaseMessage):
                made.append(part)
            elif mode.is_async:
                made.extend(await part.aformat_messages(**values))
            else:
                made.extend(part.format_messages(**values))
        return made

    def append(self, message: MessageLikeRepresentation) -> None:
        """Add a message at the end."""
        self.extend([message])

    def extend(self, messages: Sequence[MessageLikeRepresentation]) -> None:
        """Add messages at the end."""
        self.messages.extend([_to_template(message) for message in messages])
        self._find_variables()

    def __add__(self, other: object) -> Self:
        """Return a prompt that goes on with ``other``: a prompt, a message or template, a text, or a list of these."""
        if isinstance(other, ChatPromptTemplate):
            partial_variables = {**self.partial_variables, **other.partial_variables}
            return self._derive(messages=[*self.messages, *other.messages], partial_variables=partial_variables)
        more = cast("list[Any]", other) if isinstance(other, list | tuple) else [other]
        return self._derive(messages=[*self.messages, *map(_to_template, more)])

    def __radd__(self, other: object) -> Self:
        more = cast("list[Any]", other) if isinstance(other, list | tuple) else [other]
        return self._derive(messages=[*map(_to_template, more), *self.messages])

    @overload
    def __getitem__(self, index: int) -> MessageLike: ...
    @overload
    def __getitem__(self, index: slice) -> Self: ...
    def __getitem__(self, index: int | slice) -> MessageLike | Self:
        return self._derive(messages=self.messages[index]) if isinstance(index, slice) else self.messages[index]

    def __len__(self) -> int:
        return len(self.messages)

    def pretty_repr(self, html: bool = False) -> str:
        """Return the prompt for reading: its variables in braces."""
        return "\n\n".join(part.pretty_repr(html) for part in self.messages)


def _to_template(message: object, template_format: PromptTemplateFormat = "f-string") -> MessageLike:
    """Return what a chat prompt is made of, from what was written for it."""
    if isinstance(message, BaseMessagePromptTemplate | BaseMessage | BaseChatPromptTemplate):
        return message
    if isinstance(message, str):
        return _templates_by_role["human"].from_template(message, template_format)
    if isinstance(message, dict) and message.keys() == {"role", "content"}:
        fields = cast("dict[str, object]", message)
        message = (fields["role"], fields["content"])
    if not isinstance(message, tuple | list) or len(cast("tuple[Any, ...]", message)) != 2:
        hint = bridge_hint(message)  # pyright: ignore[reportUnknownArgumentType]  # anything
        raise InvalidInput(
            f"cannot read {type(message).__name__} {message!r} as a part of a chat prompt: it takes messages, "  # pyright: ignore[reportUnknownArgumentType]  # anything
            f"templates, texts, (role, template) pairs and dicts with role and content{hint}"
        )
    role, template = cast("tuple[Any, Any]", message)
    if isinstance(role, type) and issubclass(role, RoleTemplate):
        return role.from_template(template, template_format)
    if isinstance(role, type) and issubclass(role, BaseMessage):
        role = role.model_fields["type"].default
    if role == "placeholder":
        return _read_placeholder(template)
    if role not in _templates_by_role:
        raise InvalidInput(
            f"unknown role {role!r}: it is one of {', '.join(_templates_by_role)}, placeholder; "
            "a role of your own goes through ChatMessagePromptTemplate.from_template(..., role=...)"
        )
    return _templates_by_role[role].from_template(template, template_format)


def _read_placeholder(template: Any) -> MessagesPlaceholder:
    """Read ``"{name}"`` (in mustache ``"{{name}}"``), which may be missing, or ``["{name}", optional]``."""
    name, optional = (template, True) if isinstance(template, str) else (*template, None)[:2]
    if not (isinstance(name, str) and isinstance(optional, bool) and name[:1] == "{" and name[-1:] == "}"):
        raise InvalidInput(
            f"a placeholder is ('placeholder', '{{name}}') or ('placeholder', ['{{name}}', optional]), not {template!r}"
        )
    return MessagesPlaceholder(
        name.removeprefix("{").removeprefix("{").removesuffix("}").removesuffix("}"), optional=optional
    )
