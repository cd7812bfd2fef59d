"""The format of Amazon Bedrock's Converse API: answers, whole and as an event stream, and counts of tokens."""

from collections.abc import Iterator
from struct import pack
from typing import ClassVar

from pydantic_core import to_json

from hocket.errors import InvalidInput
from hocket.http.event_stream import write_stream_message
from hocket.messages.content import Fields, FieldsView
from hocket.testing.server.behaviours import Body
from hocket.testing.server.format import Format, ReplyEvents, WholeReply, cut_text, measure_text, read_body
from hocket.testing.server.reply_content import ReplyContent, write_arguments
from hocket.testing.server.wire import ReceivedRequest, WireAnswer

__all__ = ["BedrockFormat", "write_frame"]

SIGNATURE = "c2lnbmF0dXJl"

ERRORS = {
    400: "ValidationException",
    401: "UnrecognizedClientException",
    403: "AccessDeniedException",
    404: "ResourceNotFoundException",
    408: "ModelTimeoutException",
    424: "ModelErrorException",
    429: "ThrottlingException",
    500: "InternalServerException",
    503: "ServiceUnavailableException",
}


def write_frame(document: object, kind: str, message_type: str = "event") -> bytes:
    """Return a JSON document as a message of AWS's event streams.

    Args:
        document: the payload; bytes stay as they are.
        kind: the type of the event or of the exception.
        message_type: ``event`` or ``exception``.
    """
    said = {f":{message_type}-type": kind, ":content-type": "application/json", ":message-type": message_type}
    payload = document if isinstance(document, bytes) else to_json(document)
    headers = b"".join(
        b"%c%b\x07%b%b" % (len(name), name.encode(), pack(">H", len(value)), value.encode())
        for name, value in said.items()
    )
    return write_stream_message(headers, payload)


class BedrockFormat(Format):
    """The format of Bedrock's server, as its Converse API has it. Signatures are not looked at."""

    stream_type: ClassVar[str] = "application/vnd.amazon.eventstream"
    ping: ClassVar[bytes] = write_frame({}, "ping")

    def wants_stream(self, request: ReceivedRequest) -> bool:
        """Return whether the path asks for a stream."""
        return request.path.endswith("-stream")

    def unscripted(self, request: ReceivedRequest) -> WireAnswer | None:
        """Return the count of a prompt's tokens."""
        if not request.path.endswith("/count-tokens"):
            return None
        return Body({"inputTokens": _count_prompt(read_body(request)["input"]["converse"])}).answer(request, self)

    def document(self, request: ReceivedRequest, reply: ReplyContent) -> WholeReply:
        """Return a reply of Converse."""
        usage = _compute_usage(request, reply)
        message = {"role": "assistant", "content": [block | dict(reply.extra) for block in _write_blocks(reply)]}
        facts = {"stopReason": _end_of(reply), "usage": usage, "metrics": {"latencyMs": 1}}
        return WholeReply({"output": {"message": message}, **facts}, usage["inputTokens"] + usage["outputTokens"])

    def stream(self, request: ReceivedRequest, reply: ReplyContent) -> ReplyEvents:
        """Return the events of ConverseStream."""
        usage = _compute_usage(request, reply)
        rounds = [write_frame({"role": "assistant"}, "messageStart")]
        for index, block in enumerate(_write_blocks(reply)):
            rounds.extend(_cut_block(index, block, reply.pieces))
        finish = write_frame({"stopReason": _end_of(reply)}, "messageStop")
        finish += write_frame({"usage": usage, "metrics": {"latencyMs": 1}}, "metadata")
        return ReplyEvents(rounds, finish, usage["inputTokens"], usage["outputTokens"])

    def error(self, status: int, message: str, more: FieldsView) -> Fields:
        """Return ``{"message": ..., "__type": ...}``; the real one has the type in its header ``x-amzn-errortype``."""
        text = message or f"The server was told to answer {status}."
        return {"message": text, "__type": ERRORS.get(status, "UnknownException"), **more}

    def error_event(self, message: str, more: FieldsView) -> bytes:
        """Return an exception; ``more`` says in ``type`` which, by default an internal one of the server's."""
        document = {"message": message or "The server had an error."}
        return write_frame(document, more.get("type", "internalServerException"), "exception")


def _end_of(reply: ReplyContent) -> str:
    return reply.finish_reason or ("tool_use" if reply.tool_calls else "end_turn")


def _write_blocks(reply: ReplyContent) -> Iterator[Fields]:
    """Yield the blocks of a reply: its reasoning, its text, its calls."""
    if reply.reasoning:
        yield {"reasoningContent": {"reasoningText": {"text": reply.reasoning, "signature": SIGNATURE}}}
    for text in reply.texts(1):
        if text or not (reply.tool_calls or reply.reasoning):
            yield {"text": text}
    for number, call in enumerate(reply.tool_calls, start=1):
        id = call.get("id") or f"tooluse_{number}"
        yield {"toolUse": {"toolUseId": id, "name": call["name"], "input": call["args"]}}


def _cut_block(index: int, block: Fields, pieces: int | None) -> Iterator[bytes]:
    """Yield the events of one block."""
    [(kind, said)] = block.items()
    begin, deltas = b"", list[Fields]()
    place = {"contentBlockIndex": index}
    match kind:
        case "toolUse":
            begin = write_frame({"start": {kind: {**said, "input": None}}, **place}, "contentBlockStart")
            arguments = cut_text(write_arguments(said["input"]), pieces or 2)
            deltas = [{kind: {"input": piece}} for piece in arguments]
        case "reasoningContent":
            told = said["reasoningText"]
            deltas = [{kind: {"text": piece}} for piece in cut_text(told["text"], pieces)]
            deltas.append({kind: {"signature": told["signature"]}})
        case _:
            deltas = [{kind: piece} for piece in cut_text(said, pieces)]
    events = [write_frame({"delta": delta, **place}, "contentBlockDelta") for delta in deltas] or [b""]
    events[0] = begin + events[0]
    events[-1] += write_frame(place, "contentBlockStop")
    yield from events


def _compute_usage(request: ReceivedRequest, reply: ReplyContent) -> dict[str, int]:
    body = read_body(request)
    if "messages" not in body:
        raise InvalidInput(f"the script has a {type(reply).__name__} here, but {request.path} takes none")
    calls = [f"{call['name']} {write_arguments(call['args'])}" for call in reply.tool_calls]
    into, out = _count_prompt(body), measure_text(" ".join([reply.reasoning, *reply.texts(1), *calls]))
    return {"inputTokens": into, "outputTokens": out, "totalTokens": into + out, **reply.usage}


def _count_prompt(body: FieldsView) -> int:
    """Return the tokens of the texts of a prompt."""
    blocks = [*body.get("system", ()), *(block for turn in body["messages"] for block in turn["content"])]
    return sum(map(_count_block, blocks))


def _count_block(block: FieldsView) -> int:
    results: list[Fields] = block.get("toolResult", {}).get("content", [])
    return measure_text(block.get("text", "")) + sum(map(_count_block, results))
