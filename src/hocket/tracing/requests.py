"""What the start of a run of a model tells, as attributes."""

from collections.abc import Iterable, Mapping
from typing import cast
from uuid import UUID

from hocket.tracing import conventions as names
from hocket.tracing.instruments import Attributes, Value

__all__ = [
    "Details",
    "describe_model",
    "describe_options",
    "find_conversation",
    "find_metadata",
    "find_parent",
    "find_tools",
]

Details = Mapping[str, object]
"""What callbacks are told of a call besides its input: the options of the model, and more."""

_CONVERSATIONS = ("conversation_id", "session_id", "thread_id")


def find_parent(details: Details) -> UUID | None:
    """Return the run that a run is in; None: it is in none."""
    return cast("UUID | None", details.get("parent_run_id"))


def find_metadata(details: Details) -> Details:
    """Return the metadata of a run."""
    return _mapping(details.get("metadata"))


def describe_model(operation: str, metadata: Details, details: Details) -> Attributes:
    """Return the provider and the model of a call: what its spans and metrics have in common."""
    provider = str(metadata.get("ls_provider") or "unknown")
    facts: Attributes = {
        names.OPERATION_NAME: operation,
        names.PROVIDER_NAME: names.PROVIDERS.get(provider, provider),
        names.REQUEST_MODEL: str(metadata.get("ls_model_name") or "unknown"),
    }
    address, port = details.get("server_address"), details.get("server_port")
    if isinstance(address, str):
        facts[names.SERVER_ADDRESS] = address
        if isinstance(port, int):
            facts[names.SERVER_PORT] = port
    return facts


def describe_options(metadata: Details, details: Details) -> Attributes:
    """Return the options of a call."""
    options = _mapping(details.get("invocation_params"))
    facts: Attributes = {}
    for name, attribute in names.REQUEST_OPTIONS.items():
        value = options.get(name)
        if isinstance(value, str | int | float):
            facts[attribute] = value
    for name in ("temperature", "max_tokens"):
        value = metadata.get(f"ls_{name}")
        if names.REQUEST_OPTIONS[name] not in facts and isinstance(value, int | float):
            facts[names.REQUEST_OPTIONS[name]] = value
    if details.get("stream"):
        facts[names.REQUEST_STREAM] = True
    if (stop := options.get("stop")) and isinstance(stop, list | tuple):
        facts[names.REQUEST_STOP_SEQUENCES] = [str(one) for one in cast("Iterable[object]", stop)]
    count = options.get("n")
    if isinstance(count, int) and count != 1:
        facts[names.REQUEST_CHOICE_COUNT] = count
    kind = _mapping(options.get("response_format")).get("type")
    if (isinstance(kind, str) and kind.startswith("json")) or "ls_structured_output_format" in _mapping(
        details.get("options")
    ):
        facts[names.OUTPUT_TYPE] = "json"
    return facts | find_conversation(metadata)


def find_conversation(metadata: Details) -> Attributes:
    """Return the id of the conversation that a run belongs to, if its metadata tells one."""
    for key in _CONVERSATIONS:
        value: object = metadata.get(key)
        if isinstance(value, str) and value:
            found: dict[str, Value] = {names.CONVERSATION_ID: value}
            return found
    return {}


def find_tools(details: Details) -> list[dict[str, object]]:
    """Return the tools that a model is offered, as the conventions write them."""
    tools = _mapping(details.get("invocation_params")).get("tools")
    found: list[dict[str, object]] = []
    for tool in cast("Iterable[object]", tools) if isinstance(tools, list | tuple) else ():
        said = _mapping(tool)
        own = _mapping(said.get("function")) or said
        found.append({"type": said.get("type", "function"), **{key: own[key] for key in _TOOL if key in own}})
    return found


_TOOL = ("name", "description", "parameters")


def _mapping(value: object) -> Details:
    return cast(Details, value) if isinstance(value, Mapping) else {}
