"""The JSON that names servers of tools, as Claude Desktop, Claude Code and Cursor keep it: ``{"mcpServers": {...}}``.

There is no standard of it, and each program reads keys that others do not know. A key that is passed over in silence would
be a server without its headers, or in the wrong folder. So what is not read here is refused, with the keys that are read.
Values may hold secrets: errors show places, keys and names of variables, and no value.
"""

import json
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TypeAlias, cast

from mcp import StdioServerParameters

from hocket.agents.mcp.address import ServerAddress, read_address, read_url
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt

__all__ = ["MCPConfig", "load_file", "read_addresses"]

MCPConfig: TypeAlias = "str | os.PathLike[str] | Mapping[str, object]"
"""The path of a JSON file, or what such a file holds."""

_SERVERS = "mcpServers"
_PROCESS = {"command": str, "args": list, "env": dict, "cwd": str}
_REMOTE = {"url": str, "headers": dict}
_BOTH = {"type": str, "transport": str, "disabled": bool}
_TRANSPORTS = {"command": ("stdio",), "url": ("http", "streamable-http", "streamable_http", "streamableHttp")}
_WORDS = {str: "a text", list: "a list of texts", dict: "an object of texts", bool: "true or false"}
_SHAPE = '"mcpServers": {name: {"command": ..., "args": [...]} or {"url": ...}}'

_VARIABLE = re.compile(r"\$\{([^}]*)(\}?)")
_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)


def load_file(path: str | os.PathLike[str]) -> Mapping[str, object]:
    """Return what a JSON file holds, which is an object. It blocks."""
    try:
        loaded = cast(object, json.loads(Path(path).read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise InvalidInput(f"{os.fspath(path)} cannot be read: {error.strerror or type(error).__name__}") from None
    except json.JSONDecodeError as error:
        where = f"line {error.lineno}, column {error.colno}"
        raise InvalidInput(f"{os.fspath(path)} is no JSON, which has no comments: {error.msg} in {where}") from None
    except (ValueError, RecursionError) as error:  # not UTF-8, a number without end, or nested without end
        raise InvalidInput(f"{os.fspath(path)} is no JSON in UTF-8: {type(error).__name__}") from None
    return _read_object(os.fspath(path), loaded)


def read_addresses(config: Mapping[str, object]) -> dict[str, ServerAddress]:
    """Return the addresses of the servers that are not disabled, by name, with variables of the environment filled in."""
    for key in config:
        if key != _SERVERS:
            raise InvalidInput(
                f"the configuration has the key {excerpt(key)}, which is not read; give {_SERVERS} alone"
            )
    servers = _read_object(_SERVERS, config.get(_SERVERS))
    found = {name: _read_entry(name, entry) for name, entry in servers.items()}
    return {name: address for name, address in found.items() if address is not None}


def _read_entry(name: str, entry: object) -> ServerAddress | None:
    """Return the address of a server; None: it is disabled."""
    place = f"{_SERVERS}.{name}"
    given = _read_object(place, entry)
    kinds = [kind for kind in _TRANSPORTS if kind in given]
    if len(kinds) != 1:
        raise InvalidInput(f"{place} has {' and '.join(kinds) or 'no command and no url'}; a server has one of the two")
    (kind,) = kinds
    known = {**(_PROCESS if kind == "command" else _REMOTE), **_BOTH}
    for key, value in given.items():
        if key not in known:
            raise InvalidInput(
                f"{place} has the key {excerpt(key)}, which is not read; of a server with a {kind} are read: "
                f"{', '.join(known)}"
            )
        _check_value(f"{place}.{key}", value, known[key])
    for key in ("type", "transport"):
        _check_transport(f"{place}.{key}", given.get(key), kind)
    if given.get("disabled"):
        return None
    filled = {key: _fill(f"{place}.{key}", value) for key, value in given.items()}
    address = _make_address(place, kind, filled)
    return address._replace(shown=f"{name!r} ({address.shown})")


def _make_address(place: str, kind: str, filled: Mapping[str, object]) -> ServerAddress:
    try:
        if kind == "command":
            return read_address(StdioServerParameters.model_validate({k: filled[k] for k in _PROCESS if k in filled}))
        return read_url(cast(str, filled["url"]), cast("Mapping[str, str] | None", filled.get("headers")))
    except InvalidInput as error:
        raise InvalidInput(f"{place}: {error}") from None


def _check_transport(place: str, given: object, kind: str) -> None:
    if given == "sse" and kind == "url":
        raise InvalidInput(
            f"{place} says that the server speaks server-sent events alone (SSE): use it with "
            "mcp_tools(mcp.client.sse.sse_client(url)); of HTTP there is streamable HTTP here"
        )
    if given is not None and given not in _TRANSPORTS[kind]:
        fits = " or ".join(map(repr, _TRANSPORTS[kind]))
        raise InvalidInput(f"{place} is {excerpt(given)}; of a server with a {kind} it is {fits}, or left out")


def _read_object(place: str, value: object) -> dict[str, object]:
    if not isinstance(value, dict):
        raise InvalidInput(f"{place} is no object; it is {{{_SHAPE}}}, and not {type(value).__name__}")
    return cast("dict[str, object]", value)


def _check_value(place: str, value: object, kind: type) -> None:
    held = cast("dict[str, object]", value).values() if isinstance(value, dict) else value
    inside = cast("Iterable[object]", held) if isinstance(value, dict | list) else ()
    if not isinstance(value, kind) or not all(isinstance(one, str) for one in inside):
        raise InvalidInput(f"{place} is not {_WORDS[kind]}")


def _fill(place: str, value: object) -> object:
    """Return a value with the variables of the environment filled in."""
    if isinstance(value, str):
        return _VARIABLE.sub(lambda found: _find_variable(place, found), value)
    if isinstance(value, list):
        return [_fill(place, one) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        return {key: _fill(f"{place}.{key}", one) for key, one in cast("dict[str, object]", value).items()}
    return value


def _find_variable(place: str, found: re.Match[str]) -> str:
    name, has_default, default = found[1].partition(":-")
    if not found[2] or not _NAME.fullmatch(name):
        raise InvalidInput(f"{place} has a variable that is not read: write ${{NAME}} or ${{NAME:-default}}")
    value = os.environ.get(name)
    if value is None and not has_default:
        raise InvalidInput(f"{place} needs the variable {name}, which is not set; ${{{name}:-...}} gives a default")
    return value or default
