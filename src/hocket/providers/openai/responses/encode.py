"""Messages and options, written as the body of a request to the Responses API. Pure functions."""

from collections.abc import Mapping, Sequence

from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, ChatMessage, FunctionMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields
from hocket.providers.openai.options import ModelOptions
from hocket.providers.openai.responses.content import encode_parts, encode_reply
from hocket.providers.openai.responses.items import is_item
from hocket.providers.openai.responses.options import encode_options
from hocket.providers.openai.responses.search import DeferredTools, list_deferred, write_found, write_found_call
from hocket.providers.openai.responses.tools import encode_tool, encode_tools
from hocket.remote.function_calls import mark_error, require_call_id
from hocket.tools.found_tools import FIND_TOOLS

__all__ = ["encode_conversation", "encode_request"]

_ROLES = frozenset({"user", "assistant", "system", "developer"})


def encode_request(messages: Sequence[BaseMessage], options: ModelOptions, *, stream: bool, can_reason: bool) -> Fields:
    """Return the body of a request.

    Args:
        messages: the conversation.
        options: those of this call.
        stream: whether the answer is to come in pieces.
        can_reason: whether the model may reason, as far as is known.

    Raises:
        InvalidInput: a message has no place here; a tool choice that names no tool.
        Unsupported: content that the API has no place for; ``background``.
    """
    said, previous = _find_new(messages, options)
    deferred = list_deferred(options.tools or ())
    conversation = encode_conversation(said, is_stored=options.store is not False, deferred=deferred)
    body: Fields = {"model": options.model, **conversation}
    if previous is not None:
        body["previous_response_id"] = previous
    if options.tools or options.tool_choice is not None:
        body |= encode_tools(options.tools or [], options.tool_choice)
    if stream:
        body["stream"] = True
    return body | encode_options(options, can_reason=can_reason)


def _find_new(messages: Sequence[BaseMessage], options: ModelOptions) -> tuple[Sequence[BaseMessage], str | None]:
    """Return what is new since an answer that the server keeps, and its id; everything, where it keeps none.

    The instructions, which it does not keep, are said again.
    """
    wanted = options.previous_response_id
    if wanted is None and not options.use_previous_response_id:
        return messages, None
    for at in range(len(messages) - 1, -1, -1):
        id = messages[at].response_metadata.get("id")
        if (
            isinstance(messages[at], AIMessage)
            and isinstance(id, str)
            and id.startswith("resp_")
            and wanted in (None, id)
        ):
            kept = messages[:1] if isinstance(messages[0], SystemMessage) else ()
            return [*kept, *messages[at + 1 :]], id
    return messages, wanted


def encode_conversation(
    messages: Sequence[BaseMessage], *, is_stored: bool, deferred: DeferredTools | None = None
) -> Fields:
    """Return the fields ``instructions`` and ``input``; a single question that is a plain text is written as one.

    Instructions are the first system message, where it is a plain text; any other stands in the input, in its place.

    Args:
        messages: the conversation.
        is_stored: whether the server keeps what it is sent.
        deferred: the tools of the request that are found; None: there are none.

    Raises:
        InvalidInput: a message has no role here, or is the result of a tool call that it does not name.
        Unsupported: a part of one has no place here.
    """
    first = messages[0] if len(messages) > 1 else None
    instructions = _plain_text(first) if isinstance(first, SystemMessage) else None
    items: list[Fields] = []
    calls: dict[str, str] = {}  # the types of calls, by their ids: some have results of a type of their own
    for message in messages if instructions is None else messages[1:]:
        if isinstance(message, AIMessage):
            made = [write_found_call(item, deferred or {}) for item in encode_reply(message, is_stored=is_stored)]
            calls.update((item["call_id"], item["type"]) for item in made if item.get("call_id"))
            items += made
        elif isinstance(message, ToolMessage):
            items.append(_encode_result(message, calls, deferred or {}))
        else:
            items += _encode_said(message)
    told: Fields = {} if instructions is None else {"instructions": instructions}
    if len(items) == 1 and items[0].get("role") == "user" and isinstance(items[0]["content"], str):
        return {**told, "input": items[0]["content"]}
    return {**told, "input": items}


def _plain_text(message: SystemMessage) -> str | None:
    """Return the text of a message that is nothing else, and says so in no role of its own."""
    if message.additional_kwargs.get("__openai_role__", "system") != "system":
        return None
    if isinstance(message.content, str):
        return message.content
    parts = encode_parts(message.content)
    if any(part.keys() != {"type", "text"} for part in parts):
        return None
    return "".join(part["text"] for part in parts)


def _encode_said(message: BaseMessage) -> list[Fields]:
    """Return what anybody but the model and its tools says; an item in its content, such as an approval, goes before it."""
    role = _role_of(message)
    if isinstance(message.content, str):
        return [{"role": role, "content": message.content}]
    parts = encode_parts(message.content)
    items = [part for part in parts if is_item(part)]
    said = [part for part in parts if not is_item(part)]
    return [*items, {"role": role, "content": said}] if said or not items else items


def _role_of(message: BaseMessage) -> str:
    if isinstance(message, SystemMessage):
        return str(message.additional_kwargs.get("__openai_role__", "system"))  # LangChain's key for "developer"
    if isinstance(message, FunctionMessage):
        raise InvalidInput("a FunctionMessage, which names no call, has no place here; use a ToolMessage")
    if isinstance(message, ChatMessage):
        if message.role not in _ROLES:
            raise InvalidInput(
                f"a ChatMessage of role {message.role!r} has no place here; use {', '.join(sorted(_ROLES))}"
            )
        return message.role
    return "user"


def _encode_result(message: ToolMessage, calls: Mapping[str, str], deferred: DeferredTools) -> Fields:
    id = require_call_id(message)
    if calls.get(id) == "tool_search_call" or (deferred and message.name == FIND_TOOLS):
        tools = [encode_tool(tool) for tool in write_found(message, deferred)]
        status = "incomplete" if message.status == "error" else "completed"
        return {"type": "tool_search_output", "call_id": id, "execution": "client", "status": status, "tools": tools}
    kind = "custom_tool_call_output" if calls.get(id) == "custom_tool_call" else "function_call_output"
    output = message.content if isinstance(message.content, str) else encode_parts(message.content)
    if message.status == "error":  # the API has no flag for it
        output = mark_error(output, "input_text")
    return {"type": kind, "call_id": id, "output": output}
