"""`tool_choice`, read once for all models: what kind of choice it is, and which tools it names.

A caller may write it as OpenAI, Anthropic or LangChain do. A provider only writes what is read here.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Any, NamedTuple, cast

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["ToolChoice", "ToolChoiceKind", "drop_extras", "get_tool_name", "parse_tool_choice"]


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
    if kind in _WORDS and len(choice.keys() - {"disable_parallel_tool_use"}) == 1:
        return _WORDS[cast(str, kind)]
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
