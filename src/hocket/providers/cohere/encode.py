"""Messages and options, written as the body of Cohere's chat API, version 2. Pure functions."""

from collections.abc import Sequence

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.options import collect_options
from hocket.messages import AIMessage, BaseMessage, ChatMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import calls_of
from hocket.providers.cohere.content import encode_content, encode_reply
from hocket.providers.cohere.options import CohereOptions
from hocket.providers.cohere.tools import encode_tools
from hocket.remote.function_calls import join_texts, mark_error, require_call_id, write_call
from hocket.remote.options import write_options

__all__ = ["encode_messages", "encode_request"]

_BUDGETS: dict[str, int | None] = {
    "minimal": 512,
    "low": 2048,
    "medium": 8192,
    "high": 16384,
    "xhigh": None,
    "max": None,
}
"""How many tokens to think with, by effort; None: as many as the model likes, which its guide recommends. (Where a limit is
set, it asks to leave 1,000 of an answer's 32,000 tokens; August 2026.)"""

_ELSEWHERE = ("reasoning_effort", "thinking", "response_format", "strict_tools")


def encode_request(messages: Sequence[BaseMessage], options: CohereOptions, *, stream: bool) -> Fields:
    """Return the body of a request; `hocket.remote.RemoteChatModel` tells the arguments.

    Raises:
        InvalidInput: an effort that there is not; a tool choice that names no tool; or see `encode_messages`.
        Unsupported: content, a tool or a form of answer that the API has no place for.
    """
    body: Fields = {"model": options.model, "messages": encode_messages(messages)}
    body |= write_options(collect_options(options), {"top_k": "k", "top_p": "p"}, *_ELSEWHERE)
    if options.stop:
        body["stop_sequences"] = options.stop
    body |= encode_tools(options.tools or (), options.tool_choice, options.strict_tools)
    if thinking := options.thinking or _encode_effort(options.reasoning_effort):
        body["thinking"] = thinking
    if options.response_format:
        body["response_format"] = _encode_format(options.response_format)
    return {**body, **({"stream": True} if stream else {})}


def _encode_effort(effort: str | None) -> Fields | None:
    if effort is None:
        return None
    if effort == "none":
        return {"type": "disabled"}
    if effort not in _BUDGETS:
        raise InvalidInput(f"reasoning_effort={effort!r} is none of none, {', '.join(_BUDGETS)}")
    budget = _BUDGETS[effort]
    return {"type": "enabled"} if budget is None else {"type": "enabled", "token_budget": budget}


def _encode_format(form: FieldsView) -> Fields:
    match form:
        case {"type": "json_schema", "json_schema": {"schema": schema}}:
            return {"type": "json_object", "json_schema": schema}
        case {"type": "json_object" | "text"}:
            return dict(form)
        case _:
            raise Unsupported(
                f"an answer of the form {form!r} cannot be asked for: the API takes json_object and a JSON schema; use "
                "with_structured_output(schema)",
                provider="cohere",
            )


def encode_messages(messages: Sequence[BaseMessage]) -> list[Fields]:
    """Return the messages as the API's dicts. Speakers' names stay here.

    Raises:
        InvalidInput: a message has no role here, or is the result of a tool call that it does not name.
        Unsupported: a part of one has no place here.
    """
    return [_encode(message) for message in messages]


def _encode(message: BaseMessage) -> Fields:
    match message:
        case AIMessage():
            return _encode_reply(message)
        case ToolMessage():
            content = join_texts(encode_content(message.content, "tool"))
            told = mark_error(content) if message.status == "error" else content
            return {"role": "tool", "tool_call_id": require_call_id(message), "content": told}
        case SystemMessage():
            role = "system"
        case HumanMessage():
            role = "user"
        case ChatMessage(role="system" | "user" | "assistant" as role):
            pass
        case _:
            raise InvalidInput(
                f"{type(message).__name__} has no place here: the roles are system, user, assistant, tool"
            )
    return {"role": role, "content": encode_content(message.content, role)}


def _encode_reply(message: AIMessage) -> Fields:
    """Return a reply. What the model planned before it called tools goes back with its calls."""
    encoded: Fields = {"role": "assistant"}
    content, plan = encode_reply(message), message.additional_kwargs.get("tool_plan")
    calls = [write_call(call) for call in calls_of(message)]
    if content == plan:  # LangChain's package tells it twice
        content = ""
    if content or not (calls or plan):
        encoded["content"] = content
    if plan:
        encoded["tool_plan"] = plan
    if calls:
        encoded["tool_calls"] = calls
    return encoded
