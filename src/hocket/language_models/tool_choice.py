"""`tool_choice`, read once for all models: what kind of choice it is, which tools it names, and how `bind_tools` checks it.

A caller may write it as OpenAI, Anthropic or LangChain do. A provider only writes what is read here.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, Protocol, cast

from hocket.errors import InvalidInput, Unsupported
from hocket.errors.hints import excerpt
from hocket.messages.base import copy_containers

if TYPE_CHECKING:
    from hocket.language_models.base import LanguageModelInput
    from hocket.messages import AIMessage
    from hocket.runnables import RunnableBinding
    from hocket.tools.function_calling import ToolLike

__all__ = [
    "ToolBinding",
    "ToolChoice",
    "ToolChoiceKind",
    "check_tool_choice",
    "drop_extras",
    "get_tool_name",
    "parse_tool_choice",
]


class ToolChoiceKind(StrEnum):
    """The kinds of choice that a model can be given among its tools."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"
    ONE = "one by name"
    SUBSET = "some by name"


class ToolChoice(NamedTuple):
    """A choice among tools.

    Attributes:
        kind: what kind of choice.
        names: of the tools that it names, for `ONE` and `SUBSET`; of a tool that the server runs itself, its type.
        must_call: whether the model has to call a tool. A `SUBSET` may leave that to the model.
    """

    kind: ToolChoiceKind
    names: tuple[str, ...] = ()
    must_call: bool = False


AUTO = ToolChoice(ToolChoiceKind.AUTO)
NONE = ToolChoice(ToolChoiceKind.NONE)
REQUIRED = ToolChoice(ToolChoiceKind.REQUIRED, must_call=True)

_WORDS: Mapping[str, ToolChoice] = {"auto": AUTO, "none": NONE, "required": REQUIRED, "any": REQUIRED}


def parse_tool_choice(choice: object, tools: Sequence[Mapping[str, object]] | None) -> ToolChoice | None:
    """Return what a caller's ``tool_choice`` means; None where it says nothing.

    Args:
        choice: None; auto; none or False; required, any or True; a tool's name, for it must be called; several names, for
            one of them must be; or a dict as OpenAI (``{"type": "function", "function": {"name": ...}}``,
            ``{"type": "allowed_tools", ...}``) or Anthropic (``{"type": "tool", "name": ...}``) has it.
        tools: those that are offered, as OpenAI writes them.

    Raises:
        InvalidInput: it is none of these; it names a tool that is not offered; or it demands a call of no tools.
    """
    if choice is None:
        return None
    shown = excerpt(choice)
    names = [get_tool_name(tool) for tool in tools or ()]
    if isinstance(choice, bool):
        found = REQUIRED if choice else NONE
    elif isinstance(choice, str):
        found = _WORDS.get(choice) or ToolChoice(ToolChoiceKind.ONE, (choice,), must_call=True)
    elif isinstance(choice, Mapping):
        found = _parse_dict(cast("Mapping[str, object]", choice)) or ToolChoice(ToolChoiceKind.ONE)
    elif isinstance(choice, list | tuple):
        found = ToolChoice(ToolChoiceKind.SUBSET, tuple(cast("Sequence[str]", choice)), must_call=True)
    else:
        found = ToolChoice(ToolChoiceKind.ONE)
    if found is REQUIRED and not names:
        raise InvalidInput(f"tool_choice={shown} demands a call, and there are no tools; tools: none")
    is_named = found.kind in (ToolChoiceKind.ONE, ToolChoiceKind.SUBSET)
    if is_named and (not found.names or any(name not in names for name in found.names)):
        known = ", ".join(map(excerpt, names)) or "none"
        raise InvalidInput(
            f"tool_choice {shown} is none of auto, none, required, any, nor names tools that are bound; tools: {known}"
        )
    return found


def _parse_dict(choice: Mapping[str, object]) -> ToolChoice | None:
    kind = choice.get("type")
    if kind == "allowed_tools":
        allowed = choice.get("allowed_tools", choice)
        if not isinstance(allowed, Mapping):
            return None
        tools = cast("Mapping[str, object]", allowed).get("tools")
        if not isinstance(tools, list | tuple):
            return None
        names = tuple(
            name for tool in cast("Sequence[object]", tools) if (name := _name_of_reference(tool)) is not None
        )
        return ToolChoice(ToolChoiceKind.SUBSET, names, cast("Mapping[str, object]", allowed).get("mode") != "auto")
    if isinstance(kind, str) and kind in _WORDS and len(choice.keys() - {"disable_parallel_tool_use"}) == 1:
        return _WORDS[kind]
    name = _name_of_reference(choice)
    return None if name is None else ToolChoice(ToolChoiceKind.ONE, (name,), must_call=True)


def _name_of_reference(reference: object) -> str | None:
    """Return the name of the tool that a dict refers to; of a tool that the server runs itself, its type."""
    match reference:
        case {"type": "custom", "custom": {"name": str(name)}} | {"function": {"name": str(name)}}:
            return name
        case {"type": "function" | "custom" | "tool", "name": str(name)}:
            return name
        case {"type": str(kind)} if kind not in ("function", "custom", "tool"):
            return kind
        case _:
            return None


def get_tool_name(tool: Mapping[str, object]) -> str:
    """Return the name of a tool as OpenAI writes it; of one that the server runs itself, its type."""
    kind = str(tool.get("type"))
    inner = tool.get(kind)
    return str(cast("Mapping[str, object]", inner).get("name", kind)) if isinstance(inner, Mapping) else kind


def drop_extras(tools: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return tools without what they say for other providers: their ``extras``."""
    return [{name: value for name, value in tool.items() if name != "extras"} for tool in tools]


class _ChatModel(Protocol):
    """What `ToolBinding` needs of the model that it is part of."""

    _tool_choices: ClassVar[frozenset[ToolChoiceKind]]

    def get_name(self) -> str: ...

    def bind(self, **kwargs: object) -> object: ...


class ToolBinding:
    """What lets a chat model be given tools. A model that can says in ``_tool_choices`` what it can be told of them."""

    _tool_choices: ClassVar[frozenset[ToolChoiceKind]] = frozenset()
    """The choices among tools that the model can be given; none: it cannot be given tools."""

    def bind_tools(
        self: _ChatModel,
        tools: "Sequence[ToolLike]",
        *,
        tool_choice: object = None,
        strict: bool | None = None,
        parallel_tool_calls: bool | None = None,
        **kwargs: Any,
    ) -> "RunnableBinding[LanguageModelInput, AIMessage]":
        """Return the model with tools that it may call.

        Args:
            tools: functions, tools, pydantic models, TypedDicts, dicts: what `hocket.tools.convert_to_openai_tool` takes.
            tool_choice: auto; none (or False); required (or any, or True); a tool's name; several names, for one of them
                must be called; or OpenAI's or Anthropic's dict. None: the provider decides.
            strict: whether the provider is to hold the model to the tools' schemas; None: what dicts say.
            parallel_tool_calls: whether the model may call several at once; None: the provider decides.
            kwargs: further options of each call.

        Raises:
            InvalidInput: something is no tool, or its name will not do; or the choice names no tool.
            Unsupported: the model cannot be given such a choice.
            NotImplementedError: it cannot be given tools.

        Examples:
            >>> from hocket import ScriptedChatModel, Turn
            >>> def add(a: int, b: int) -> int:
            ...     '''Add two numbers.'''
            ...     return a + b
            >>> call = {"type": "tool_call", "name": "add", "args": {"a": 2, "b": 3}, "id": "1"}
            >>> model = ScriptedChatModel(script=[Turn(tool_calls=[call])]).bind_tools([add])
            >>> model.invoke("What is 2 + 3?").tool_calls[0]["args"]
            {'a': 2, 'b': 3}
        """
        supported = self._tool_choices  # pyright: ignore[reportPrivateUsage]  # `self` is typed by what this needs of it
        if not supported:
            raise NotImplementedError(f"{type(self).__name__} cannot be given tools")
        from hocket.tools import convert_to_openai_tools  # a program without tools need not load them

        converted: list[dict[str, Any]] = copy_containers(convert_to_openai_tools(tools, strict=strict))
        options: dict[str, object] = {"tools": converted}
        choice = check_tool_choice(self.get_name(), converted, tool_choice, supported)
        if choice is not None:
            options["tool_choice"] = choice
        if parallel_tool_calls is not None:
            options["parallel_tool_calls"] = parallel_tool_calls
        return cast("RunnableBinding[LanguageModelInput, AIMessage]", self.bind(**options, **kwargs))


def check_tool_choice(
    model: str, tools: Sequence[Mapping[str, Any]], choice: object, supported: frozenset[ToolChoiceKind]
) -> str | list[str] | dict[str, Any] | None:
    """Return a choice among tools as an option of a call: a word, a name, names, or the caller's dict.

    Args:
        model: what to call the model in an error.
        tools: as OpenAI writes them.
        choice: see `parse_tool_choice`.
        supported: the kinds of choice that the model can be given.

    Raises:
        InvalidInput: the choice is none, or names no tool.
        Unsupported: the model cannot be given such a choice.
    """
    parsed = parse_tool_choice(choice, tools)
    if parsed is None:
        return None
    if parsed.kind not in supported:
        can = ", ".join(sorted(supported))
        message = f"{model} cannot be given the tool choice {choice!r} ({parsed.kind}); it can be given: {can}"
        raise Unsupported(message, options=("tool_choice",))
    if isinstance(choice, Mapping):
        return dict(cast("Mapping[str, Any]", choice))
    if parsed.kind is ToolChoiceKind.SUBSET:
        return list(parsed.names)
    return parsed.names[0] if parsed.names else str(parsed.kind)
