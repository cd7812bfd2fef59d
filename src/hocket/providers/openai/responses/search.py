"""Finds of tools, in the words of the Responses API: read as calls of a plain tool, and written as items of their own.

Other providers have no such items, and a conversation may go on with any of them: so a message has the plain form. Items
of searches that the server made itself stay as they are.
"""

import json
from collections.abc import Mapping, Sequence

from pydantic_core import to_json

from hocket.language_models.tool_choice import get_tool_name
from hocket.messages import ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.tools.found_tools import FIND_TOOLS, is_deferred, read_found_tools

__all__ = ["DeferredTools", "list_deferred", "read_search", "write_found", "write_found_call"]

DeferredTools = Mapping[str, FieldsView]
"""The tools of a request that are deferred, by name, as OpenAI's functions; empty, if none finds them."""


def list_deferred(tools: Sequence[FieldsView]) -> DeferredTools:
    """Return the deferred ones of tools among which is the one that finds them, and no search of the server's own."""
    names = {get_tool_name(tool) for tool in tools}
    if FIND_TOOLS not in names or "tool_search" in names:
        return {}
    return {get_tool_name(tool): tool for tool in tools if is_deferred(tool)}


def read_search(item: Fields) -> Fields:
    """Return an item of a reply; a search that is ours to make as the call of a function."""
    if item["type"] != "tool_search_call" or item.get("execution") != "client":
        return item
    given: object = item.get("arguments")
    arguments = given if isinstance(given, str) else to_json(given or {}).decode()
    call_id = item.get("call_id") or item.get("id")
    made: Fields = {"type": "function_call", "call_id": call_id, "name": FIND_TOOLS, "arguments": arguments}
    return {**({"id": item["id"]} if item.get("id") else {}), **made}


def write_found_call(item: Fields, deferred: DeferredTools) -> Fields:
    """Return an item of a reply as a request has it: a find as a search, where the request can find.

    A call of a deferred tool names its namespace, without which it is refused: for a tool outside of any, its own name.
    """
    if item["type"] != "function_call":
        return item
    name: str = item["name"]
    if name != FIND_TOOLS:
        others = {key: value for key, value in item.items() if key != "namespace" or value != name}
        return {"namespace": name, **item} if name in deferred else others
    if deferred:
        search: Fields = {"type": "tool_search_call", "call_id": item["call_id"], "execution": "client"}
        id = {"id": item["id"]} if str(item.get("id")).startswith("tsc_") else {}
        return {**id, **search, "arguments": _read_arguments(item["arguments"]), "status": "completed"}
    if str(item.get("id")).startswith("tsc_"):  # the id of another type of item
        return {key: value for key, value in item.items() if key != "id"}
    return item


def _read_arguments(text: str) -> object:
    try:
        return json.loads(text or "{}")
    except (ValueError, RecursionError):  # as the model wrote it
        return {"query": text}


def write_found(message: ToolMessage, deferred: DeferredTools) -> list[FieldsView]:
    """Return the tools of this request that a result has found."""
    return [deferred[name] for name in read_found_tools(message) if name in deferred]
