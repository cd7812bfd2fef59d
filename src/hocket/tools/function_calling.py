"""Anything that describes a tool, as OpenAI's chat completions write it: the form that every provider starts from.

The schema of a class, a function or a tool is computed once, and kept as long as it lives; callers get copies.
"""

import dataclasses
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from typing import cast

from pydantic import BaseModel
from typing_extensions import TypedDict, is_typeddict

from hocket._json import JSON, JSONObject
from hocket._schemas import check_schema, compile_schema
from hocket._schemas.references import as_object
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint, excerpt
from hocket.messages.base import copy_containers
from hocket.messages.content import Fields, FieldsView
from hocket.tools.arguments import make_arguments
from hocket.tools.base import BaseTool
from hocket.tools.docstrings import can_parse
from hocket.tools.inferred import create_schema_from_function
from hocket.tools.json_schema import make_json_schema, simplify_schema
from hocket.tools.names import check_name, is_tool_name
from hocket.tools.signature import Memo
from hocket.tools.simple import Tool
from hocket.tools.structured import get_docstring

__all__ = [
    "FunctionDescription",
    "ToolDescription",
    "convert_to_json_schema",
    "convert_to_openai_function",
    "convert_to_openai_tool",
    "convert_to_openai_tools",
]

ToolLike = FieldsView | type[object] | Callable[..., object] | BaseTool

SERVER_TOOLS = frozenset(
    {
        *("file_search", "computer", "computer_use_preview", "code_interpreter", "mcp", "image_generation"),
        *("web_search", "web_search_preview", "tool_search", "apply_patch", "namespace", "shell", "local_shell"),
        *("advisor", "bash", "browser", "code_execution", "mcp_toolset", "memory", "text_editor", "web_fetch"),
        *("enterprise_web_search", "google_maps", "google_search", "google_search_retrieval", "url_context"),
        *("computer_use", "exa_ai_search", "mcp_servers", "parallel_ai_search", "retrieval"),
    }
)
"""Types of tools that servers run themselves; also with a date behind, as ``web_search_2025_08_26``.

Google's dicts have no type: ``{"google_search": {}}`` is read as ``{"type": "google_search", "google_search": {}}``.
"""

_FUNCTION = dict.fromkeys(("name", "description", "parameters", "strict")).keys()
"""What OpenAI says of a function, in this order."""

_converted: Memo[JSONObject] = Memo()


class FunctionDescription(TypedDict):
    """A function as OpenAI writes it."""

    name: str
    description: str
    parameters: Fields


class ToolDescription(TypedDict):
    """A tool as OpenAI writes it."""

    type: str
    function: FunctionDescription


def convert_to_openai_tool(tool: ToolLike, *, strict: bool | None = None) -> Fields:
    """Return a tool as OpenAI's chat completions write it: ``{"type": "function", "function": {...}}``.

    What it says beyond a function's fields, such as ``cache_control``, or a `BaseTool` in ``extras``, stands under
    ``extras`` beside the function, for the provider that has a word for it.

    Args:
        tool: a `BaseTool`, a function, a pydantic (v2) model class, a TypedDict, a dataclass, or a dict: OpenAI's (of chat
            completions or of responses), Anthropic's, Bedrock's, MCP's, or a JSON schema with a ``title``. Tools that
            servers run themselves, and OpenAI's custom tools, pass through.
        strict: whether the server is to hold the model to the schema, which is then rewritten for that
            (`hocket._schemas.compile_schema`); None: what a dict says of it.

    Raises:
        InvalidInput: it is none of these; its name will not do; it says the opposite of ``strict``; or strict mode cannot
            say what its schema does.
    """
    if isinstance(tool, dict):
        fields = cast("JSONObject", tool)
        kind = fields.get("type")
        if isinstance(kind, str) and kind != "object" and "properties" not in fields:
            return _convert_of_type(kind, fields, strict)
        if kind is None and (named := _find_server_tool(fields)):
            return {"type": named, **copy_containers(fields)}
    elif isinstance(tool, Tool) and (tool.metadata or {}).get("type") == "custom_tool":
        custom = {"name": tool.name, "description": tool.description}
        if tool.metadata and "format" in tool.metadata:
            custom["format"] = copy_containers(tool.metadata["format"])
        return {"type": "custom", "custom": custom}
    function = convert_to_openai_function(tool, strict=strict)  # pyright: ignore[reportUnknownArgumentType]
    return _make_tool(function, _extras_of(cast(object, tool)))


def _make_tool(function: Fields, extras: JSONObject) -> Fields:
    made: Fields = {"type": "function", "function": function}
    return made | {"extras": copy_containers(extras)} if extras else made


def _extras_of(tool: object) -> JSONObject:
    """Return what a tool says beyond a function's fields."""
    if isinstance(tool, BaseTool):
        return cast(JSONObject, tool.extras or {})
    if not isinstance(tool, dict):
        return {}
    fields = cast("JSONObject", tool)
    held = fields.get("extras")
    beyond = {key: value for key, value in fields.items() if key in _BESIDE}
    return {**(held if isinstance(held, dict) else {}), **beyond}


_BESIDE = frozenset({"cache_control", "defer_loading", "allowed_callers", "input_examples", "eager_input_streaming"})
"""What Anthropic understands beside a function's fields."""


def _find_server_tool(tool: JSONObject) -> str | None:
    """Return the type of one of Google's tools, in snake case; None: it is none."""
    if len(tool) != 1:
        return None
    [key] = tool
    name = re.sub("[A-Z]", lambda letter: f"_{letter[0].lower()}", key)
    return name if name in SERVER_TOOLS else None


def convert_to_openai_tools(tools: Sequence[ToolLike], *, strict: bool | None = None) -> list[Fields]:
    """Return the tools of a call as OpenAI's chat completions write them: the one check that they all pass.

    Args:
        tools: each is anything that `convert_to_openai_tool` takes. A dict that is written so already is not copied.
        strict: as in `convert_to_openai_tool`.

    Raises:
        InvalidInput: ``tools`` is no list, one of them is no tool or its name will not do, or two have the same name.
    """
    anything = cast("object", tools)  # nobody has checked it yet
    if isinstance(anything, str | Mapping) or not isinstance(anything, Sequence):
        raise InvalidInput(f"a model takes a list of tools, not {type(tools).__name__}: write [{excerpt(tools)}]")
    converted = [
        cast(Fields, tool) if strict is None and _is_converted(tool) else convert_to_openai_tool(tool, strict=strict)
        for tool in tools
    ]
    names: set[str] = set()
    for tool in converted:
        name = _get_name(tool)
        if name in names:
            raise InvalidInput(f"two tools are called {name!r}; give one of them another name")
        names.add(name)
    return converted


def _get_name(tool: Mapping[str, object]) -> str:
    """Return the name of a tool as OpenAI writes it; of a tool that the server runs itself, its type."""
    kind = str(tool["type"])
    inner = tool.get(kind)
    return str(cast("Mapping[str, object]", inner).get("name", kind)) if isinstance(inner, Mapping) else kind


def convert_to_openai_function(function: ToolLike, *, strict: bool | None = None) -> Fields:
    """Return a tool's function as OpenAI writes it: ``{"name": ..., "description": ..., "parameters": {...}}``.

    Arguments are those of `convert_to_openai_tool`. The docstring of a plain function is parsed if the extra ``tools`` is
    installed; else the model sees the whole of it.

    Raises:
        InvalidInput: as in `convert_to_openai_tool`.
    """
    made = copy_containers(_describe(function))
    if strict is not None:
        if made.get("strict", strict) != strict:
            raise InvalidInput(
                f"{made['name']} says strict={made['strict']}, and the call strict={strict}: leave one out"
            )
        made["strict"] = strict
        if strict and "parameters" in made:
            made["parameters"] = compile_schema(made["parameters"])
    return cast(Fields, made)


def convert_to_json_schema(schema: ToolLike, *, strict: bool | None = None) -> Fields:
    """Return a tool, or a schema in any of the forms of a tool, as a JSON schema with ``title`` and ``description``.

    Raises:
        InvalidInput: see `convert_to_openai_tool`; or a server runs the tool itself.
    """
    made = convert_to_openai_tool(schema, strict=strict)
    if "function" not in made:
        raise InvalidInput(f"a tool of type {made['type']!r}, which a server runs, has no JSON schema; leave it out")
    function = made["function"]
    said = {"title": function["name"]}
    if "description" in function:
        said["description"] = function["description"]
    return {**said, **function.get("parameters", {})}


def _convert_of_type(kind: str, tool: JSONObject, strict: bool | None) -> Fields:
    """Return a dict that says what type of tool it is."""
    if "input_schema" in tool:  # Anthropic's, which say "custom", if anything
        return _make_tool(convert_to_openai_function(tool, strict=strict), _extras_of(tool))
    if kind in ("function", "custom"):
        inner = tool.get(kind, tool)  # flat, in OpenAI's responses
        if not isinstance(inner, dict):
            raise InvalidInput(f"a tool of type {kind!r} has a dict under {kind!r}, not {inner!r}")
        if kind == "function":
            extras = {**_extras_of(inner), **_extras_of(tool)}
            return _make_tool(convert_to_openai_function(inner, strict=strict), extras)
        custom = {key: copy_containers(value) for key, value in inner.items() if key != "type"}
        check_name(custom.get("name"))
        return {"type": kind, kind: custom}
    if any(kind == known or kind.startswith(f"{known}_") for known in SERVER_TOOLS):
        return copy_containers(tool)  # type: ignore[no-any-return]
    raise InvalidInput(
        f"a tool of type {kind!r} is unknown: the types are 'function', 'custom', and what servers run "
        f"themselves: {', '.join(sorted(SERVER_TOOLS))}"
    )


def _is_converted(tool: object) -> bool:
    """Whether a tool is a function as OpenAI writes it, and nothing beside."""
    if not isinstance(tool, dict):
        return False
    fields = cast("dict[str, object]", tool)
    if not {"type", "function"} <= fields.keys() <= {"type", "function", "extras"} or fields["type"] != "function":
        return False
    function = fields["function"]
    if not isinstance(function, dict):
        return False
    described = cast("dict[str, object]", function)
    return described.keys() <= _FUNCTION and is_tool_name(described.get("name"))


def _describe(function: ToolLike) -> JSONObject:
    """Return the function description of anything; what is returned may be shared."""
    if isinstance(function, Mapping):
        return _describe_dict(function)  # pyright: ignore[reportUnknownArgumentType]  # mypy knows it
    if isinstance(function, BaseTool):
        return function.memoize("function", lambda: _describe_tool(function))
    if isinstance(function, type):
        return _converted.get(function, lambda: _describe_class(function))
    if callable(function):
        return _converted.get(function, lambda: _describe_callable(function))
    raise InvalidInput(
        f"{function!r} is no tool: a tool is a BaseTool, a function, a pydantic model class, a TypedDict, a dataclass, or "
        f"a dict{bridge_hint(function)}",
        page="tools.md#make-a-tool",
    )


def _describe_dict(given: FieldsView) -> JSONObject:
    if isinstance(given.get("function"), Mapping):  # a whole tool of OpenAI's
        return _describe_dict(given["function"])
    if "toolSpec" in given:  # Bedrock's
        spec = given["toolSpec"]
        made = {**spec, "parameters": spec.get("inputSchema", {}).get("json", {})}
    elif "input_schema" in given:  # Anthropic's
        made = {**given, "parameters": given["input_schema"]}
    elif "inputSchema" in given:  # MCP's
        made = {**given, "parameters": given["inputSchema"]}
    elif "name" in given:  # OpenAI's
        made = dict(given)
    elif "title" in given:
        parameters = {key: value for key, value in given.items() if key not in ("title", "description")}
        made = {"name": given["title"]}
        if "description" in given:
            made["description"] = given["description"]
        if "properties" in parameters:
            made["parameters"] = parameters
    else:
        raise InvalidInput(
            f"{dict(given)!r} is no tool: a dict has a 'name' (OpenAI's, Anthropic's and MCP's form), a 'toolSpec' "
            "(Bedrock's), or a 'title' (a JSON schema), which is then the tool's name"
        )
    check_name(made.get("name"))
    check_schema(as_object(made.get("parameters")), warns=False)
    return {key: made[key] for key in _FUNCTION if key in made}


def _describe_tool(tool: BaseTool) -> JSONObject:
    return _make_description(tool.name, tool.description, tool.arguments.json_schema)


def _describe_class(kind: type[object]) -> JSONObject:
    if issubclass(kind, BaseModel):
        schema = make_json_schema(kind)
        return _make_description(str(schema.get("title", kind.__name__)), str(schema.get("description", "")), schema)
    if is_typeddict(kind) or dataclasses.is_dataclass(kind):
        arguments = make_arguments(kind)
        text = getattr(arguments.schema, "__doc__", None) or ""
        automatic = text.startswith((f"{kind.__name__}(", "dict()"))
        return _make_description(kind.__name__, "" if automatic else inspect.cleandoc(text), arguments.json_schema)
    return _describe_callable(kind)


def _describe_callable(function: Callable[..., object]) -> JSONObject:
    name = check_name(getattr(function, "__name__", None) or type(function).__name__)
    parse = can_parse() and get_docstring(function) is not None
    model = create_schema_from_function(name, function, parse_docstring=parse, include_injected=False)
    return _make_description(name, model.__doc__ or "", make_json_schema(model))


def _make_description(name: str, description: str, schema: Mapping[str, JSON]) -> JSONObject:
    parameters = simplify_schema(schema)
    parameters.pop("description", None)
    return {"name": check_name(name), "description": description, "parameters": parameters}
