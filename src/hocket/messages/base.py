"""What every message has in common.

Messages are pydantic models, validated and open to extra fields, as in LangChain. Most of them are made from one string,
millions of times, so that one path is short-cut: `BaseMessage.__init__` stores the string and nothing else. The other
fields are made when one of them is first read (`LazyFields`), equal to what validation would have made: a property test
compares the two. A message that still has only its content and its id is called *bare*. Only hocket's own classes take
this path, those that `register_template` lists, because a subclass may add fields and validators.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Self, TypeVar, cast

from pydantic import ConfigDict, Field

from hocket.errors.hints import bridge_hint
from hocket.load.lazy_fields import AllFields, LazyFields
from hocket.load.serializable import (
    Serializable,
    allocate,
    get_fields,
    set_extra,
    set_fields,
    set_fields_set,
    set_private,
    set_state,
)
from hocket.messages.content import ContentBlock, Fields, FieldsView
from hocket.messages.folding import Fold
from hocket.messages.pieces import check_depth, copy_containers, merge_content

__all__ = [
    "BaseMessage",
    "BaseMessageChunk",
    "Content",
    "bare_copy",
    "bare_text",
    "copy_containers",
    "copy_message",
    "copy_with_id",
    "get_msg_title_repr",
    "is_bare",
    "merge_content",
    "rebuild",
    "register_template",
]

Content = str | list[str | Fields]
"""What a message says: a text, or parts, each a text or a block of some provider's."""


_CONTENT = {"content"}
"""The fields that were given, of every message made from one string: shared, since a set weighs a third of a message."""

_IDENTIFIED = {"content", "id"}
"""Those of a copy that was given an id."""


_LANGCHAINS = (("langchain", "schema", "messages"), ("langchain", "schema"), ("langchain_core", "messages"))
"""Where LangChain's dumps, of any age and of its JavaScript twin, say that its messages live."""


class _Template(NamedTuple):
    """How to build an instance of one message class from a string, without the validator."""

    defaults: Fields
    lists: tuple[str, ...]
    containers: tuple[str, ...]


_templates: dict[type, _Template] = {}

_TEXTS = frozenset({"type", "name", "id", "role", "tool_call_id", "status", "chunk_position"})
"""The fields of messages that hold no list and no mapping."""


class BaseMessage(LazyFields, Serializable):
    """One message of a conversation.

    Args:
        content: text, or a list of texts and content blocks; may be given by position.
        content_blocks: the same as standard blocks, instead of ``content``.
        additional_kwargs: what a provider sent or wants beside the content.
        response_metadata: what a provider said about its reply: model name, finish reason, headers.
        name: of the speaker.
        id: unique in the conversation; numbers become text.

    Raises:
        InvalidInput: a field holds data nested more than 128 deep.
        pydantic.ValidationError: a field is missing, or of the wrong type.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="allow")

    # The one that ``model_construct`` always makes: ``type`` may have no default.
    _last_field: ClassVar = "additional_kwargs"
    _first_fields: ClassVar = frozenset({"content", "id"})
    lc_aliases: ClassVar[list[list[str]]]

    content: Content
    additional_kwargs: Fields = Field(default_factory=dict)
    response_metadata: Fields = Field(default_factory=dict)
    type: str
    name: str | None = None
    id: str | None = Field(default=None, coerce_numbers_to_str=True)

    def __init__(
        self,
        content: str | Sequence[str | FieldsView] | None = None,
        content_blocks: list[ContentBlock] | None = None,
        **kwargs: Any,
    ) -> None:
        if type(content) is str and not kwargs and content_blocks is None and type(self) in _templates:
            set_fields(self, {"content": content, "id": None})
            return
        if content_blocks is not None:
            if content is not None:
                raise TypeError(f"{type(self).__name__}() takes content or content_blocks, not both")
            self._take_blocks(content_blocks, kwargs)
        if content is not None:
            kwargs["content"] = content
        deep = kwargs.get("content"), kwargs.get("additional_kwargs"), kwargs.get("tool_calls")
        if deep[0].__class__ is not str or deep[1] or deep[2]:
            check_depth(deep)
        self.__pydantic_validator__.validate_python(kwargs, self_instance=self)

    def _take_blocks(self, blocks: list[ContentBlock], kwargs: Fields) -> None:
        """Put standard blocks into the arguments of the constructor."""
        kwargs["content"] = [dict(block) for block in blocks]

    def __init_subclass__(cls, init: bool = False, **kwargs: Any) -> None:
        """Take ``init=False``, which keeps type checkers from making up a constructor without the positional content."""
        super().__init_subclass__(**kwargs)
        package, _, module = cls.__module__.rpartition(".")
        if package == "hocket.messages":
            homes = (*_LANGCHAINS, ("langchain_core", "messages", module))
            cls.lc_aliases = [[*home, cls.__name__] for home in homes]

    def _make_fields(self, held: Fields) -> AllFields:
        defaults, lists, _ = _templates[type(self)]
        made = defaults.copy()
        made["content"] = held["content"]
        made["additional_kwargs"] = {}
        made["response_metadata"] = {}
        for name in lists:
            made[name] = []
        made["id"] = held["id"]
        return made, _CONTENT if held["id"] is None else _IDENTIFIED, {}

    if not TYPE_CHECKING:

        def _fill_fields(self) -> Fields:
            held = get_fields(self)
            return held if "additional_kwargs" in held else super()._fill_fields()

        __dict__ = property(_fill_fields, set_fields, doc="All fields, made by now.")

        def __setattr__(self, name: str, value: Any) -> None:
            given = self.__pydantic_fields_set__
            if given is _CONTENT or given is _IDENTIFIED:  # pydantic is about to add to it
                set_fields_set(self, given.copy())
            super().__setattr__(name, value)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Messages travel as data."""
        return True

    @property
    def text(self) -> str:
        """The text of the content: its strings and texts in any provider's words, joined. Reasoning is left out."""
        content = self.content
        if isinstance(content, str):
            return content
        from hocket.messages.formats import text_of_content  # loaded with the first list of blocks

        return text_of_content(content)

    @property
    def content_blocks(self) -> list[ContentBlock]:
        """The content as standard blocks, whichever provider's blocks it holds. Computed again on each access."""
        from hocket.messages.formats import content_blocks_of  # as in `text`

        return content_blocks_of(
            self.content, additional_kwargs=self.additional_kwargs, response_metadata=self.response_metadata
        )

    def pretty_repr(self, html: bool = False) -> str:
        """Return the message under a title line, for reading in a terminal (``html``: title in bold, as LangChain)."""
        title = get_msg_title_repr(self.type.title() + " Message", bold=html)
        name = f"\nName: {self.name}" if self.name else ""
        return f"{title}{name}\n\n{self.content}"

    def _repr_html_(self) -> str:
        """Return the message as a notebook shows it."""
        from hocket.messages.html import write_message

        return write_message(self)

    def pretty_print(self) -> None:
        """Print `pretty_repr`."""
        print(self.pretty_repr())


M = TypeVar("M", bound=BaseMessage)


def is_bare(fields: FieldsView) -> bool:
    """Whether a message that holds these fields, and is no lazy sum, was made from one string, and not looked at since.

    It holds nothing but this string, as its content, and its id.
    """
    return "additional_kwargs" not in fields


def bare_text(message: BaseMessage) -> str | None:
    """Return the content of a bare message that has no id; None: it is no such message."""
    fields = get_fields(message)
    return None if "additional_kwargs" in fields or fields.get("id") is not None else fields.get("content")


def bare_copy(message: M, text: str, id: str | None) -> M:
    """Return a bare message of the class of ``message``."""
    made: M = allocate(type(message))
    set_fields(made, {"content": text, "id": id})
    return made


def register_template(cls: type[M]) -> type[M]:
    """Let ``cls`` be built without the validator from one string."""
    fields = cls.model_fields
    defaults = {name: None if field.is_required() else field.default for name, field in fields.items()}
    lists = tuple(name for name, field in fields.items() if field.default_factory is list)
    containers = tuple(name for name in fields if name not in _TEXTS)
    _templates[cls] = _Template(defaults, lists, containers)
    return cls


def rebuild(message: BaseMessage, fields: Fields, cls: type[M]) -> M:
    """Return a new message of class ``cls`` whose fields are ``fields``, taken as they are: they must be valid.

    For copies and folds of messages that were validated when they were made; ``message`` gives the extras, and its
    private attributes to a message of its own class.
    """
    made = cls.__new__(cls)
    extra = message.__pydantic_extra__
    private = message.__pydantic_private__ if cls is type(message) else None
    set_state(made, fields, set(fields), dict(extra) if extra else {}, private if private is None else dict(private))
    return made


def copy_with_id(message: M, id: str, facts: Fields | None = None) -> M:
    """Return a copy of ``message``, one level deep, with ``id`` and, if there are any, ``facts`` as its metadata."""
    _ = message.content  # a lazy sum becomes real
    cls, fields = type(message), get_fields(message)
    if "additional_kwargs" not in fields and facts is None:  # it is bare
        bare: M = allocate(cls)
        set_fields(bare, {"content": fields["content"], "id": id})
        return bare
    made: M = allocate(cls) if cls in _templates else cls.__new__(cls)
    given = message.__pydantic_fields_set__  # now a bare one is whole
    fields = {**get_fields(message), "id": id}
    if facts is not None:
        fields["response_metadata"] = facts
    set_fields(made, fields)
    set_fields_set(made, _IDENTIFIED if given is _CONTENT else given | {"id"})
    set_extra(made, message.__pydantic_extra__)
    set_private(made, message.__pydantic_private__)
    return made


def copy_message(message: M, **changes: Any) -> M:
    """Return a copy of ``message`` with ``changes``, whose every container is its own, at a tenth of a deep copy's price.

    Strings, numbers and foreign objects (an artifact) are shared; lists and mappings are copied all the way down.
    """
    cls, fields = type(message), get_fields(message)
    if "additional_kwargs" not in fields and "content" in fields:  # it is bare
        if not changes:
            bare: M = allocate(cls)
            set_fields(bare, {"content": fields["content"], "id": fields["id"]})
            return bare
        whole, given, extra = message._make_fields(fields)  # pyright: ignore[reportPrivateUsage]  # a message of this module
        copy: M = allocate(cls)
        set_state(copy, {**whole, **changes}, {*given, *changes}, extra)
        return copy
    fields = message.__dict__.copy()
    template = _templates.get(cls)
    made: M = allocate(cls) if template is not None else cls.__new__(cls)
    for name in cls.__pydantic_fields__ if template is None else template.containers:
        value = fields[name]
        if type(value) is list:
            fields[name] = copy_containers(value) if value else []
        elif type(value) is dict:
            fields[name] = copy_containers(value) if value else {}
    given, extra, private = message.__pydantic_fields_set__, message.__pydantic_extra__, message.__pydantic_private__
    fields.update(changes)
    set_fields(made, fields)
    is_shared = given is _CONTENT or given is _IDENTIFIED
    set_fields_set(made, given if is_shared and not changes else given | changes.keys())
    set_extra(made, copy_containers(extra) if extra else {})
    set_private(made, dict(private) if private else private)
    return made


class BaseMessageChunk(BaseMessage, init=False):
    """A piece of a message as it streams in. ``a + b`` is the message so far; neither is changed."""

    def __add__(self, other: Any) -> Self:
        """Fold ``other``, a chunk or a list of chunks, onto this one.

        Raises:
            TypeError: ``other`` is something else.
            ValueError: ``other`` belongs to another message: another role, function or tool call.
        """
        fold, fields, extra = Fold(), copy_containers(self.__dict__), copy_containers(self.__pydantic_extra__ or {})
        fold.add(fields)
        for chunk in self._addends(other):
            self._join(chunk, fields)
            fold.add(chunk.__dict__)
            extra.update(copy_containers(chunk.__pydantic_extra__ or {}))
        total = rebuild(self, {**fields, **fold.fields()}, type(self))
        total.__pydantic_extra__ = extra
        return total

    def _addends(self, other: Any) -> Sequence["BaseMessageChunk"]:
        """Return the chunks that ``other`` stands for in a sum."""
        chunks = cast("Sequence[Any]", other) if isinstance(other, list | tuple) else (other,)
        for chunk in chunks:
            if not isinstance(chunk, BaseMessageChunk):
                names = f"{type(chunk).__name__} to {type(self).__name__}"
                raise TypeError(f"cannot add {names}: it is no message chunk{bridge_hint(chunk)}")
        return chunks

    def _join(self, other: "BaseMessageChunk", fields: Fields) -> None:
        """Put what only this class has of ``other`` into the ``fields`` of the sum, or refuse another message's chunk."""


def get_msg_title_repr(title: str, *, bold: bool = False) -> str:
    """Return ``title`` centred in a line of 80 equals signs; ``bold`` for a terminal."""
    line = f" {title} ".center(80, "=")
    return line.replace(f" {title} ", f"\033[1m {title} \033[0m") if bold else line
