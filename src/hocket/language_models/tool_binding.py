"""`bind_tools`, and the check of tools and of the choice among them before anything is sent."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Protocol, cast

from hocket.errors import Unsupported
from hocket.language_models.tool_choice import ToolChoiceKind, parse_tool_choice
from hocket.messages.base import copy_containers

if TYPE_CHECKING:
    from hocket.language_models.base import LanguageModelInput
    from hocket.messages import AIMessage
    from hocket.runnables import RunnableBinding
    from hocket.tools.function_calling import ToolLike

__all__ = ["ToolBinding", "check_tool_choice"]


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
        raise Unsupported(f"{model} cannot be given the tool choice {choice!r} ({parsed.kind}); it can be given: {can}")
    if isinstance(choice, Mapping):
        return dict(cast("Mapping[str, Any]", choice))
    if parsed.kind is ToolChoiceKind.SUBSET:
        return list(parsed.names)
    return parsed.names[0] if parsed.names else str(parsed.kind)
