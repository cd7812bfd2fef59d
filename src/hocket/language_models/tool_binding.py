"""What `bind_tools` binds: tools in one form, and a choice among them that is checked before anything is sent."""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ClassVar, cast

from hocket.errors import InvalidInput, Unsupported
from hocket.messages.base import copy_containers

if TYPE_CHECKING:
    from hocket.language_models.base import LanguageModelInput
    from hocket.messages import AIMessage
    from hocket.runnables import RunnableBinding

__all__ = ["ToolBinding", "ToolChoice", "bound_tools", "name_of_tool"]


class ToolChoice(StrEnum):
    """The kinds of choice that a model can be given among its tools."""

    AUTO = "auto"
    NONE = "none"
    REQUIRED = "required"
    ONE = "one by name"
    SUBSET = "some by name"


_WORDS: dict[Any, ToolChoice] = {
    "auto": ToolChoice.AUTO,
    "none": ToolChoice.NONE,
    False: ToolChoice.NONE,
    "required": ToolChoice.REQUIRED,
    "any": ToolChoice.REQUIRED,
    True: ToolChoice.REQUIRED,
}


class ToolBinding:
    """What lets a chat model be given tools. A model that can says in ``_tool_choices`` what it can be told of them."""

    _tool_choices: ClassVar[frozenset[ToolChoice]] = frozenset()
    """The choices among tools that the model can be given; none: it cannot be given tools."""

    def bind_tools(
        self: Any,  # a chat model
        tools: Sequence[Any],
        *,
        tool_choice: Any = None,
        strict: bool | None = None,
        parallel_tool_calls: bool | None = None,
        **kwargs: Any,
    ) -> "RunnableBinding[LanguageModelInput, AIMessage]":
        """Return the model with tools that it may call.

        Args:
            tools: functions, tools, pydantic models, TypedDicts, dicts: what `hocket.tools.convert_to_openai_tool` takes.
            tool_choice: auto; none (or False); required (or any, or True); a tool's name; several names, for one of them
                must be called; or OpenAI's dict. None: the provider decides.
            strict: whether the provider is to hold the model to the tools' schemas; None: what dicts say.
            parallel_tool_calls: whether the model may call several at once; None: the provider decides.
            kwargs: further options of each call.

        Raises:
            InvalidInput: something is no tool, or its name will not do; or the choice names no tool.
            Unsupported: the model cannot be given such a choice.
            NotImplementedError: it cannot be given tools.
        """
        if not self._tool_choices:
            raise NotImplementedError(f"{type(self).__name__} cannot be given tools")
        bound = bound_tools(self.get_name(), tools, tool_choice, strict, self._tool_choices)
        if parallel_tool_calls is not None:
            bound["parallel_tool_calls"] = parallel_tool_calls
        return cast("RunnableBinding[LanguageModelInput, AIMessage]", self.bind(**bound, **kwargs))


def bound_tools(
    model: str, tools: Sequence[Any], choice: Any, strict: bool | None, supported: frozenset[ToolChoice]
) -> dict[str, Any]:
    """Return the arguments of a call with these tools: ``tools`` as OpenAI writes them, and ``tool_choice``, if any.

    Args:
        model: what to call the model in an error.
        tools: whatever `hocket.tools.convert_to_openai_tool` takes.
        choice: None or auto; none or False; required, any or True; a tool's name, or several; or OpenAI's dict.
        strict: whether the server is to hold the model to the tools' schemas.
        supported: the kinds of choice that the model can be given.

    Raises:
        InvalidInput: something is no tool, two tools have one name, or the choice is none or names no tool.
        Unsupported: the model cannot be given such a choice.
    """
    from hocket.tools import convert_to_openai_tools  # whoever binds no tools need not load them

    converted: list[dict[str, Any]] = copy_containers(convert_to_openai_tools(tools, strict=strict))
    names = [name_of_tool(tool) for tool in converted]
    if choice is None:
        return {"tools": converted}
    kind, said = _read(choice, names)
    if kind not in supported:
        can = ", ".join(sorted(supported))
        raise Unsupported(f"{model} cannot be given the tool choice {choice!r} ({kind}); it can be given: {can}")
    return {"tools": converted, "tool_choice": said}


def name_of_tool(tool: Mapping[str, Any]) -> str:
    """Return the name of a tool as OpenAI writes it; of one that the server runs itself, its type."""
    kind = str(tool["type"])
    inner = tool.get(kind)
    return str(cast("Mapping[str, Any]", inner).get("name", kind)) if isinstance(inner, Mapping) else kind


def _read(choice: Any, names: Sequence[str]) -> tuple[ToolChoice, Any]:
    """Return the kind of a choice, and the choice in a word, a name, or names; dicts stay as they are."""
    if isinstance(choice, str | bool) and choice in _WORDS:
        kind = _WORDS[choice]
        if kind is ToolChoice.REQUIRED and not names:
            raise InvalidInput(f"tool_choice={choice!r} demands a call, and there are no tools")
        return kind, str(kind)
    if isinstance(choice, Mapping):
        given = cast("Mapping[str, Any]", choice)
        if given.get("type") == "allowed_tools":
            allowed = given.get("allowed_tools", given)
            _known([name_of_tool(tool) for tool in allowed.get("tools", ())], names, choice)
            return ToolChoice.SUBSET, dict(given)
        _known([name_of_tool(given)] if "type" in given else [None], names, choice)
        return ToolChoice.ONE, dict(given)
    if isinstance(choice, list | tuple):
        several = cast("Sequence[Any]", choice)
        _known(several, names, choice)
        return ToolChoice.SUBSET, list(several)
    _known([choice], names, choice)
    return ToolChoice.ONE, choice


def _known(chosen: Sequence[Any], names: Sequence[str], choice: Any) -> None:
    if not chosen or any(name not in names for name in chosen):
        known = ", ".join(map(repr, names)) or "none"
        raise InvalidInput(
            f"tool_choice {choice!r} is none of auto, none, required, any, nor names tools that are bound; tools: {known}"
        )
