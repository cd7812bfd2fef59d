"""Tools that OpenAI runs on its side: items of the Responses API that hold a call and its result at once.

Read, an item is a ``server_tool_call`` and, once there is one, a ``server_tool_result``; written, the two are the item
again. Where the item has an ``index``, that of the result is derived from it (``lc_result_3``), so that the two stay
apart when a stream is folded.
"""

import json
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple, cast

from pydantic_core import to_json

from hocket.errors import InvalidInput
from hocket.messages.content import ContentBlock, Fields, FieldsView
from hocket.messages.formats.blocks import Block, Native, Reader, index_of, mapping_at, more, rest, text_at
from hocket.messages.tool_calls import parse_tool_arguments

__all__ = ["READERS", "arguments_text", "raw_arguments", "write_hosted"]


def raw_arguments(native: Native, args: FieldsView) -> Fields:
    """The text of a call's arguments, for the ``extras``, unless ``args`` would be written the same."""
    text = text_at(native, "arguments")
    return {} if text is None or text == _write(args) else {"arguments": text}


def arguments_text(block: Block) -> str:
    """The arguments of a call as text: the model's own, byte for byte, as long as it says what ``args`` says."""
    args, text = block["args"], more(block).get("arguments")
    if isinstance(args, str):
        return args
    try:
        if isinstance(text, str) and parse_tool_arguments(text) == args:
            return text
    except InvalidInput:
        pass
    return _write(args)


def _write(args: object) -> str:
    try:
        return to_json(args).decode()
    except ValueError:  # half of a surrogate pair, which is mended where the request is written
        return json.dumps(args, ensure_ascii=False, separators=(",", ":"))


_Part = Callable[[Native], Any]


class _Hosted(NamedTuple):
    """One kind of item: how its call and its result are taken out of it (from the keys ``read``), and put back."""

    name: str
    args: _Part
    output: _Part
    read: frozenset[str]
    write: Callable[[Block, Any], Fields]
    status: str | None = "completed"


def _read(hosted: _Hosted, native: Native) -> list[ContentBlock] | None:
    if (id := text_at(native, "id")) is None:
        return None
    status, error, given = native.get("status"), native.get("error"), hosted.output(native)
    failed = bool(error) or status in ("failed", "incomplete")
    ended = failed or status == "completed" or given is not None
    args = hosted.args(native)
    call = {"type": "server_tool_call", "name": hosted.name, "id": id, "args": args}
    call |= rest(native, {"id", "index", "status", "error", *hosted.read})
    extras = raw_arguments(native, args) if "arguments" in hosted.read else {}
    if status is not None and not failed and not (ended and status == hosted.status):
        extras["status"] = status
    if extras:
        call["extras"] = {**cast(Fields, call.get("extras", {})), **extras}
    result: Fields = {"type": "server_tool_result", "tool_call_id": id}
    result["status"] = "error" if failed else "success"
    if given is not None:
        result["output"] = given
    if failed:
        result["extras"] = {key: native[key] for key in ("status", "error") if native.get(key) is not None}
    if (index := index_of(native)) is not None:
        call["index"], result["index"] = index, f"lc_result_{index}"
    return cast(list[ContentBlock], [call, result] if ended else [call])


def write_hosted(call: Block, result: Block | None) -> Fields | None:
    """Return the item of ``call`` and its ``result``; None if the tool is none of OpenAI's."""
    kind = next((kind for kind, hosted in _HOSTED.items() if hosted.name == call["name"]), None)
    if kind is None or (result is not None and "block_type" in more(result)):  # which the others' results have
        return None
    hosted, item = _HOSTED[kind], {"type": kind, "id": call["id"]}
    if result is not None and result["status"] == "error":
        item |= more(result)
    elif result is not None and hosted.status is not None:
        item["status"] = hosted.status
    said = more(call, "arguments", "tool_name")
    return {**item, **said, **hosted.write(call, None if result is None else result.get("output"))}


def _value(name: str) -> _Part:
    return lambda native: native.get(name)


def _pick(*names: str) -> _Part:
    return lambda native: {name: native[name] for name in names if native.get(name) is not None}


def _constants(**fields: Any) -> Fields:
    return {name: value for name, value in fields.items() if value is not None}


def _search(native: Native) -> Fields:
    return {name: value for name, value in (mapping_at(native, "action") or {}).items() if name != "sources"}


def _search_sources(native: Native) -> Fields | None:
    sources = (mapping_at(native, "action") or {}).get("sources")
    return {"sources": sources} if sources else None


def _write_search(call: Block, output: Any) -> Fields:
    action: Fields = {**call["args"], **(output if isinstance(output, Mapping) else {})}
    return {"action": action} if action else {}


def _mcp_arguments(native: Native) -> Fields:
    try:
        return parse_tool_arguments(native.get("arguments"))
    except InvalidInput:
        return {"arguments": native["arguments"]}


def _write_mcp(call: Block, output: Any) -> Fields:
    args = call["args"]
    unreadable = args.keys() == {"arguments"} and more(call).get("arguments") == args["arguments"]
    text = args["arguments"] if unreadable else arguments_text(call)
    return _constants(name=more(call).get("tool_name"), arguments=text, output=output)


def _hosted_tool(
    name: str, args: _Part, output: _Part, *read: str, write: Callable[[Block, Any], Fields], **more: Any
) -> _Hosted:
    return _Hosted(name, args, output, frozenset(read), write, **more)


_HOSTED: Mapping[str, _Hosted] = {
    "web_search_call": _hosted_tool("web_search", _search, _search_sources, "action", write=_write_search),
    "file_search_call": _hosted_tool(
        "file_search",
        _pick("queries"),
        _value("results"),
        "queries",
        "results",
        write=lambda call, output: {**call["args"], **_constants(results=output)},
    ),
    "code_interpreter_call": _hosted_tool(
        "code_interpreter",
        _pick("code"),
        _value("outputs"),
        "code",
        "outputs",
        write=lambda call, output: {**call["args"], **_constants(outputs=output)},
    ),
    "mcp_call": _hosted_tool(
        "remote_mcp", _mcp_arguments, _value("output"), "arguments", "output", "name", write=_write_mcp, status=None
    ),
    "mcp_list_tools": _hosted_tool(
        "mcp_list_tools",
        _pick(),
        _value("tools"),
        "tools",
        write=lambda call, output: _constants(tools=output),
        status=None,
    ),
}


def _reader(hosted: _Hosted) -> Reader:
    return lambda native: _read(hosted, native)


def _mcp_call(native: Native) -> list[ContentBlock] | None:
    """The remote tool's own name would hide that of ours."""
    return _read(_HOSTED["mcp_call"], {"tool_name" if key == "name" else key: value for key, value in native.items()})


READERS: Mapping[str, Reader] = {kind: _reader(hosted) for kind, hosted in _HOSTED.items()} | {"mcp_call": _mcp_call}
"""What reads a call of a tool that OpenAI runs, by the type of its item."""
