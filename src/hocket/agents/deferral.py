"""Tools that a model is shown when it has found them: a hundred of them at the price of five.

The model gets one tool in their place, `find_tools`, whose description has their names. A find is a plain call with a plain
result, which names the tools: the history is the only record, and the next run with it offers them again in the same
order. Where the provider keeps such tools out of the prompt itself, all of them are sent each time, marked, so that what
is sent begins alike in each request. Elsewhere those that were found stand behind all others, since whatever changes
before a conversation has the provider read all of it again.
"""

from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, Literal, cast

from hocket.agents.model_call import list_profiles
from hocket.agents.skills import LOAD_SKILL, Skill, SkillTool
from hocket.agents.tool_index import ToolIndex
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, near_name, near_name_hint
from hocket.messages import ToolMessage
from hocket.messages.content import FieldsView
from hocket.runnables import Runnable
from hocket.tokens import count_tokens_approximately
from hocket.tokens.approximate import written_tools
from hocket.tools import BaseTool, StructuredTool
from hocket.tools.found_tools import DEFER, FIND_TOOLS, FOUND_TOOLS

if TYPE_CHECKING:
    from hocket.embeddings import Embeddings

__all__ = ["Defer", "Deferral", "ToolSearch", "plan_deferral", "read_tool_search"]

_NEVER = frozenset({"read_result", LOAD_SKILL})
_MOST_TOKENS = 10_000  # of schemas that are all shown, under "auto"
_SHARE = 10  # or one token in so many of the window
_NAMES_TOKENS = 2_000  # of the names in the description

Defer = bool | Literal["auto"] | Collection[str]
"""Which tools are shown when they were found: those that say so themselves, all, all if they are many, or some by name."""


@dataclass(frozen=True)
class ToolSearch:
    """How an agent's model finds the tools that it is not shown.

    Args:
        defer: which tools are found first: True, all; "auto", all, if their schemas have more than 10,000 tokens or a tenth
            of the model's window, whichever is less; or names. A tool with ``extras={"defer_loading": True}`` always is.
        k: tools that a question finds, at most.
        embeddings: finds by meaning; "auto": the local model, if it is installed (``hocket[embed]``); None: by words alone.
        native: whether providers that can are told of the tools, and keep them out of the prompt; else hocket does.
    """

    defer: Defer = "auto"
    k: int = 5
    embeddings: "Embeddings | Literal['auto'] | None" = "auto"
    native: bool = True


def read_tool_search(defer: object, tools: Mapping[str, BaseTool]) -> ToolSearch:
    """Return what ``defer=`` of an agent says."""
    search = defer if isinstance(defer, ToolSearch) else ToolSearch(cast(Defer, defer))
    _check_names(search.defer, tools)
    if not isinstance(cast(object, search.k), int) or search.k < 1:
        raise InvalidInput(f"k is {search.k!r}; it is a whole number of tools above 0")
    given = cast(object, search.embeddings)
    if given != "auto" and given is not None and not hasattr(given, "aembed_documents"):
        raise InvalidInput(f"embeddings is {given!r}; it is an embedding model, 'auto' or None")
    return search


def _check_names(defer: object, tools: Mapping[str, BaseTool]) -> None:
    if isinstance(defer, bool) or defer == "auto":
        return
    if isinstance(defer, str) or not isinstance(defer, Collection):
        raise InvalidInput(f"defer is {defer!r}; it is True, False, 'auto', a list of names or a ToolSearch")
    for name in cast("Collection[object]", defer):
        if name not in tools:
            raise InvalidInput(
                f"defer names {excerpt(name)}, and there is no such tool; {near_name_hint(str(name), tools)}"
            )


def plan_deferral(
    search: ToolSearch,
    tools: Mapping[str, BaseTool],
    hosted: Sequence[FieldsView],
    model: Runnable[Any, Any],
    *,
    is_text: bool,
) -> "Deferral | None":
    """Return which tools of a run are found first, and how; None: all are shown, or the provider searches."""
    if any(str(tool.get("type")).startswith("tool_search") for tool in hosted):
        return None
    able = {name: tool for name, tool in tools.items() if name not in _NEVER}
    profiles = list_profiles(model)
    is_all = search.defer is True or (search.defer == "auto" and _is_much(able.values(), profiles))
    named = () if isinstance(search.defer, bool | str) else search.defer
    deferred = {name: tool for name, tool in able.items() if is_all or name in named or (tool.extras or {}).get(DEFER)}
    reader = tools.get(LOAD_SKILL)
    skills: Mapping[str, Skill] = reader.list_unseen() if isinstance(reader, SkillTool) else {}
    if not deferred and not skills:
        return None
    if FIND_TOOLS in tools:
        raise InvalidInput(f"a tool is called {FIND_TOOLS!r}, as is the one that finds tools; give it another name")
    can = all(profile.get("tool_search") for profile in profiles) and not skills  # a find on the wire names tools alone
    return Deferral(search, deferred, skills, is_native=search.native and can and not is_text, is_text=is_text)


def _is_much(tools: Iterable[BaseTool], profiles: Iterable[FieldsView]) -> bool:
    """Whether the schemas of tools are a large part of what a model can take."""
    windows = [int(window) // _SHARE for profile in profiles if (window := profile.get("max_input_tokens"))]
    return count_tokens_approximately([], tools=[*tools]) > min([_MOST_TOKENS, *windows])


class Deferral:
    """The tools of an agent that its model has to find, and the tool that finds them. It finds skills, too, by the call that
    reads them.

    Attributes:
        tools: by name, as the model is shown them.
        is_native: whether the provider is told of all of them, as deferred.
        finder: the tool ``find_tools(query="", names=[])``.
    """

    def __init__(
        self,
        search: ToolSearch,
        tools: Mapping[str, BaseTool],
        skills: Mapping[str, Skill],
        *,
        is_native: bool,
        is_text: bool,
    ) -> None:
        self.tools: Mapping[str, BaseTool] = {name: _set_mark(tool, is_native) for name, tool in tools.items()}
        self.is_native: bool = is_native
        self._k = search.k
        self._is_text = is_text
        calls = {name: f"{LOAD_SKILL}(name={name!r})" for name in skills}
        self._all: Mapping[str, BaseTool | Skill] = {**tools, **{calls[name]: skills[name] for name in skills}}
        self._index = ToolIndex(self._all, search.embeddings)
        short = Counter(_split_group(tool)[1] for tool in tools.values())
        self._names = {part: name for name, tool in tools.items() if short[part := _split_group(tool)[1]] == 1}
        self._names = {**calls, **self._names, **{name: name for name in tools}}
        self.finder: BaseTool = self._make_finder(_describe_list(tools, len(skills)))

    def _make_finder(self, description: str) -> BaseTool:
        async def find_tools(
            query: Annotated[str, "what the tool is to do, in a few words"] = "",
            names: Annotated[list[str], "names from the list: these tools, exactly"] = [],  # noqa: B006  # it is not changed
        ) -> ToolMessage:
            found, unknown = await self._find(query, names)
            text = "\n".join([*map(self._describe, found), *unknown]) or self._explain_nothing(query)
            metadata = {FOUND_TOOLS: [name for name in found if name in self.tools]}
            return ToolMessage(text, tool_call_id="", name=FIND_TOOLS, response_metadata=metadata)

        return StructuredTool.from_function(
            coroutine=find_tools, description=description, metadata={"idempotent": True}
        )

    async def _find(self, query: str, names: Sequence[str]) -> tuple[list[str], list[str]]:
        """Return the names of the tools that were found, and a line for each name that no tool has."""
        found = [self._names[name] for name in names if name in self._names]
        unknown = [
            f"There is no tool {excerpt(name)}; the nearest name is {near_name(name, self._all, 0)!r}."
            for name in names
            if name not in self._names
        ]
        if query.strip():
            found += await self._index.search(query, self._k)
        return list(dict.fromkeys(found)), unknown

    def _describe(self, name: str) -> str:
        line = f"{name}: {self._index.summarize(name)}"
        return f"{line}\n{self.write_schema(name)}" if self._is_text and name in self.tools else line

    def write_schema(self, name: str) -> str:
        """Return all that a model has to know of a tool, as JSON."""
        return written_tools([self.tools[name]])[0]

    def _explain_nothing(self, query: str) -> str:
        if not query.strip():
            return "Nothing was asked for. Give a query, or names from the list."
        near = near_name(query, self._all, 0)
        return f"No tool was found for {excerpt(query)}; the nearest name is {near!r}. Use other words, or names."


def _set_mark(tool: BaseTool, is_deferred: bool) -> BaseTool:
    """Return a tool that says of itself whether its provider is to keep it out of the prompt."""
    extras = tool.extras or {}
    if bool(extras.get(DEFER)) is is_deferred:
        return tool
    others = {key: value for key, value in extras.items() if key != DEFER}
    return tool.model_copy(update={"extras": {**others, DEFER: True} if is_deferred else others or None})


def _split_group(tool: BaseTool) -> tuple[str, str]:
    """Return the group that a tool is of, and its name in it; the group of one without a server has no name."""
    group = str((tool.metadata or {}).get("mcp_server") or "")
    return group, tool.name.removeprefix(f"{group}_") if group else tool.name


def _describe_list(tools: Mapping[str, BaseTool], skills: int) -> str:
    """Return the description of the tool that finds others: with their names, or else with the sizes of their groups."""
    groups: dict[str, list[str]] = {}
    for tool in tools.values():
        group, name = _split_group(tool)
        groups.setdefault(group, []).append(name)
    hint = (
        "Find tools that you have not been shown, before you call them. Give their names from this list, or, in `query`, "
        "what a tool is to do."
    )
    lines = [f"{group}: {', '.join(names)}" if group else ", ".join(names) for group, names in groups.items()]
    if not tools or count_tokens_approximately("\n".join(lines)) > _NAMES_TOKENS:
        lines = [f"{group or 'others'}: {len(names)} tools" for group, names in groups.items()]
        hint = "Find tools that you have not been shown, before you call them: say in `query` what a tool is to do."
    if skills:
        lines.append(f"{LOAD_SKILL}: {skills} skills, which are found by what they are for")
    return "\n".join([hint, *lines])
