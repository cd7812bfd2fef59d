"""Cassettes as cases: what was asked of a model, and what it answered, out of a recording.

The providers' own decoders stand on a higher floor. Here the three formats that most servers speak are read alike, as far
as texts and calls go: chat completions, and the Responses API's and Anthropic's messages.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, cast

from pydantic_core import from_json

from hocket.errors import HocketError, InvalidInput
from hocket.http.sse import ServerSentEvents
from hocket.http.tape import RecordedExchange, read_tape
from hocket.messages import AIMessage, BaseMessage, convert_to_messages
from hocket.messages.content import Fields
from hocket.remote.chat_completion_stream import ChatDecoder

__all__ = ["read_recorded"]

_TEXT_OF = {"text_delta": "text", "input_json_delta": "partial_json"}


def read_recorded(name: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the requests of a cassette that were answered, each with where it stands.

    Raises:
        InvalidInput: it is no cassette, or holds no answer in a format that is known.
        FileNotFoundError: there is none.
    """
    is_any = False
    for number, exchange in enumerate(read_tape(Path(name)).exchanges, 1):
        talk = _read_exchange(exchange)
        if talk is None:
            continue
        is_any = True
        messages, answer = talk
        calls = [{"name": call["name"], "args": call["args"]} for call in answer.tool_calls]
        yield (
            f"{name}, request {number}",
            {"id": str(number), "input": messages, "expected": answer.text or None, "calls": calls},
        )
    if not is_any:
        raise InvalidInput(
            f"{name} has no answer of a chat model in OpenAI's or Anthropic's format, so there is no case"
        )


def _read_exchange(exchange: RecordedExchange) -> tuple[list[BaseMessage], AIMessage] | None:
    """Return what was asked, and the answer; None: it was none, or its format is not known."""
    if exchange.status != 200 or exchange.end is not None:
        return None
    # of shapes that are not known
    with suppress(HocketError, ValueError, KeyError, TypeError, AttributeError, IndexError):
        body: Fields = from_json(exchange.request.body)
        asked = body["messages"] if "messages" in body else body["input"]
        system = body.get("system") or body.get("instructions")
        entries = [{"role": "user", "content": asked}] if isinstance(asked, str) else asked
        answer = _read_reply(exchange.body)
        if answer.text or answer.tool_calls:
            return _join([{"role": "system", "content": system}, *entries] if system else entries), answer
    return None


def _read_reply(body: bytes) -> AIMessage:
    try:
        data: Fields = from_json(body)
    except ValueError:
        events = ServerSentEvents().feed(body)
        if not events[0].event:
            return _fold_completion(body)
        data = _fold_events([from_json(event.data) for event in events])
    if "choices" in data:
        entries = [data["choices"][0]["message"]]
    else:
        entries = data["output"] if "output" in data else [{"role": "assistant", "content": data["content"]}]
    [answer] = _join(entries)
    return cast("AIMessage", answer)


def _fold_completion(body: bytes) -> AIMessage:
    decoder = ChatDecoder("openai")
    first, *others = [*decoder.feed(body), *decoder.close()]
    return cast("AIMessage", sum(others, first).message)


def _fold_events(events: Iterable[Fields]) -> Fields:
    """Return the whole reply of a stream: of the Responses API, whose end has it, or of Anthropic."""
    blocks: dict[int, Fields] = {}
    for data in events:
        if "output" in data.get("response", ()) and data["type"] in ("response.completed", "response.incomplete"):
            whole: Fields = data["response"]
            return whole
        if data["type"] == "content_block_start":
            blocks[data["index"]] = data["content_block"]
        elif data["type"] == "content_block_delta" and (key := _TEXT_OF.get(data["delta"]["type"])):
            block = blocks[data["index"]]
            block[key] = block.get(key, "") + data["delta"][key]
    for block in blocks.values():
        if written := block.pop("partial_json", None):
            block["input"] = from_json(written)
    return {"content": [*blocks.values()]}


def _join(entries: Iterable[Fields]) -> list[BaseMessage]:
    """Return what stands in a request or a reply as messages. Calls that follow one another are of one message."""
    found: list[Fields] = []
    for entry in entries:
        content: object = entry.get("content")
        parts = cast("list[Fields]", content) if isinstance(content, list) else []
        results = [entry] if entry.get("type") == "function_call_output" else _choose(parts, "tool_result")
        for one in results:
            id = one.get("call_id") or one["tool_use_id"]
            found.append({"role": "tool", "content": one.get("output") or one.get("content"), "tool_call_id": id})
        calls = [{"name": one["name"], "args": one["input"], "id": one["id"]} for one in _choose(parts, "tool_use")]
        if entry.get("type") == "function_call":
            args = from_json(entry["arguments"])
            calls.append({"name": entry["name"], "args": args, "id": entry["call_id"]})
            if found and found[-1]["role"] == "assistant":
                found[-1]["tool_calls"] = [*found[-1].get("tool_calls", ()), *calls]
            else:
                found.append({"role": "assistant", "content": "", "tool_calls": calls})
        elif "role" in entry:
            said = [_read_part(part) for part in parts if part.get("type") not in ("tool_use", "tool_result")]
            if said or calls or not parts:
                more = {"tool_calls": calls} if calls else {}
                beside = {name: value for name, value in entry.items() if name not in ("type", "id", "status")}
                found.append({**beside, "content": said if parts else content, **more})
    return convert_to_messages(found)


def _choose(parts: Iterable[Fields], kind: str) -> list[Fields]:
    return [part for part in parts if part.get("type") == kind]


def _read_part(part: Fields) -> Fields:
    """Return a part of a message; texts of the Responses API have a name of their own."""
    is_text = part.get("type") in ("input_text", "output_text")
    return {"type": "text", "text": part["text"]} if is_text else part
