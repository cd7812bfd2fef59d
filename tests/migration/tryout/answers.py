"""What the services answer that a program of others may ask: models, embeddings, a search, the hub of prompts, a page.

An answer depends on the request alone, so that a program which moved is answered as before. A model calls the first tool
that it is given, once; it fills the schema that is wanted of it, in the request or in the prompt's text.
"""

import base64
import json
import random
import re
import struct
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["Answer", "answer"]

Json = Any
"""What a service says or is told, as its format has it."""
Answer = tuple[str, bytes]
"""The type of the content, and the content."""

_SAID = "The hero comes home."
_PAGE = "<html><head><title>A page</title></head><body><p>The hero comes home.</p></body></html>"
_AGENT = (
    "Answer with these tools:\n{tools}\nUse the format:\nQuestion: ...\nThought: ...\nAction: one of [{tool_names}]\n"
    "Action Input: ...\nObservation: ...\nFinal Answer: ...\n\nQuestion: {input}\nThought:{agent_scratchpad}"
)


def answer(host: str, path: str, body: bytes) -> Answer:
    """Return what a host answers.

    Args:
        host: the name of the host.
        path: of the request, with its query.
        body: of the request; empty for a GET.
    """
    asked = _read(body)
    if path.endswith("/chat/completions"):
        return _chat(asked)
    if path.endswith("/completions"):
        return _as_json({"id": "c", "object": "text_completion", "model": "m", "choices": [
            {"index": 0, "text": _SAID, "finish_reason": "stop"}], "usage": _USAGE})  # fmt: skip
    if path.endswith(("/embeddings", "/embed", "/api/embed")):
        return _embed(asked)
    if path.endswith("/v1/messages"):
        return _as_json({"id": "m", "type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
            "content": [{"type": "text", "text": _SAID}], "usage": {"input_tokens": 1, "output_tokens": 1}})  # fmt: skip
    if ":generateContent" in path:
        schema = (asked.get("generationConfig") or {}).get("responseJsonSchema")
        said = json.dumps(_fill(schema, schema)) if schema else _SAID
        return _as_json(
            {"candidates": [{"content": {"role": "model", "parts": [{"text": said}]}, "finishReason": "STOP"}]}
        )
    if path.endswith("/api/chat"):
        line = {"model": "m", "created_at": "2025-01-01T00:00:00Z", "done": True, "done_reason": "stop"}
        return "application/x-ndjson", json.dumps({**line, "message": {"role": "assistant", "content": _SAID}}).encode()
    if ":batchEmbedContents" in path:
        vectors = [{"values": _spread(one.get("content"))} for one in asked.get("requests", [])]
        return _as_json({"embeddings": vectors})
    if path.startswith("/rerank") or path.endswith("/rerank"):
        found = range(min(len(asked.get("documents", [])), asked.get("top_n") or 3))
        return _as_json({"id": "r", "results": [{"index": at, "relevance_score": 1 - at / 10} for at in found]})
    if "tavily" in host:
        pages = [
            {"title": f"Page {n}", "url": f"https://page/{n}", "content": "Fact.", "score": 0.9} for n in (1, 2, 3)
        ]
        return _as_json({"query": asked.get("query"), "results": pages, "images": [], "response_time": 0.1})
    if "smith.langchain" in host:
        return _as_json(_pull(path.split("/commits/")[1].split("/")[1]) if "/commits/" in path else {})
    if "firecrawl" in host:
        return _as_json({"success": True, "data": {"markdown": "# A page", "metadata": {"title": "A page"}}})
    if "wikipedia" in host:
        return _as_json(_WIKIPEDIA)
    return "text/html; charset=utf-8", _PAGE.encode()


def _read(body: bytes) -> dict[str, Json]:
    try:
        asked = json.loads(body)
    except ValueError:
        return {}
    return asked if isinstance(asked, dict) else {}


def _as_json(value: object) -> Answer:
    return "application/json", json.dumps(value).encode()


# -- models

_USAGE = {"prompt_tokens": 5, "completion_tokens": 5, "total_tokens": 10}


def _chat(asked: Mapping[str, Json]) -> Answer:
    said: dict[str, Json] = {"role": "assistant", "content": None}
    tools, messages = asked.get("tools") or [], asked.get("messages") or []
    choice = asked.get("tool_choice")
    is_forced = isinstance(choice, dict) or choice in ("required", "any")
    if tools and (is_forced or not any(one["role"] == "tool" for one in messages)):
        wanted = choice["function"]["name"] if isinstance(choice, dict) else tools[0]["function"]["name"]
        function = next(one["function"] for one in tools if one["function"]["name"] == wanted)
        filled = json.dumps(_fill(function.get("parameters") or {}, function.get("parameters") or {}))
        call = {"id": "call_1", "type": "function", "function": {"name": wanted, "arguments": filled}}
        said["tool_calls"] = [call]
    else:
        said["content"] = _say(asked, messages)
    finish = "tool_calls" if "tool_calls" in said else "stop"
    head = {"id": "c", "created": 1, "model": asked.get("model", "m")}
    if not asked.get("stream"):
        choices = [{"index": n, "message": said, "finish_reason": finish} for n in range(asked.get("n") or 1)]
        return _as_json({**head, "object": "chat.completion", "choices": choices, "usage": _USAGE})
    deltas: list[dict[str, Json]] = [
        {"role": "assistant", "content": word} for word in re.findall(r"\S+\s*", said["content"] or "")
    ]
    if "tool_calls" in said:
        deltas = [{"role": "assistant", "tool_calls": [{"index": 0, **said["tool_calls"][0]}]}]
    chunks: list[Json] = [{"choices": [{"index": 0, "delta": delta, "finish_reason": None}]} for delta in deltas]
    chunks += [{"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]}, {"choices": [], "usage": _USAGE}]
    lines = [json.dumps({**head, "object": "chat.completion.chunk", **chunk}) for chunk in chunks]
    return "text/event-stream", "".join(f"data: {line}\n\n" for line in [*lines, "[DONE]"]).encode()


def _say(asked: Mapping[str, Json], messages: Sequence[Mapping[str, Json]]) -> str:
    """Return the text of an answer: by the format that is asked for, or the prompt's, or a sentence."""
    wanted = asked.get("response_format") or {}
    text = "\n".join(json.dumps(one.get("content"), ensure_ascii=False) for one in messages)
    if wanted.get("type") == "json_schema":
        schema = wanted["json_schema"]["schema"]
        return json.dumps(_fill(schema, schema))
    if "$JSON_BLOB" in text or '\\"action\\"' in text:
        return '```json\n{"action": "Final Answer", "action_input": "The hero comes home."}\n```'
    if "Final Answer" in text:
        return f"I know it.\nFinal Answer: {_SAID}"
    plain = "\n".join(str(one.get("content")) for one in messages)
    schema = _find_schema(plain)
    if schema is not None:
        return json.dumps(_fill(schema, schema))
    return '{"answer": "The hero comes home."}' if "JSON" in text or wanted.get("type") == "json_object" else _SAID


def _find_schema(text: str) -> Json:
    """Return the last JSON schema of an object in a text, what stands inside of others left out; None: there is none."""
    last, end = None, 0
    for found in re.finditer(r"\{", text):
        try:
            value, after = json.JSONDecoder().raw_decode(text, found.start())
        except ValueError:
            continue
        if found.start() >= end and isinstance(value.get("properties"), dict):
            last, end = value, after
    return last


def _fill(schema: Json, root: Json) -> Json:
    """Return a value that a schema allows."""
    if "$ref" in schema:
        return _fill(root["$defs"][schema["$ref"].rpartition("/")[2]], root)
    for key in ("anyOf", "allOf", "oneOf"):
        if key in schema:
            return _fill(schema[key][0], root)
    if "enum" in schema:
        return schema["enum"][0]
    if "properties" in schema:
        return {name: _fill(one, root) for name, one in schema["properties"].items()}
    match schema.get("type"):
        case "object":
            return {name: _fill(one, root) for name, one in schema.get("properties", {}).items()}
        case "array":
            return [_fill(schema.get("items", {}), root)]
        case "integer" | "number":
            return max(schema.get("minimum", 1), 1)
        case "boolean":
            return True
        case _:
            return "2"


def _embed(asked: Mapping[str, Json]) -> Answer:
    given = asked.get("input") or asked.get("texts") or [""]
    texts = [given] if isinstance(given, str) or (given and isinstance(given[0], int)) else given
    vectors = [[random.Random(str(text)).gauss(0, 1) for _ in range(1)] + _spread(text) for text in texts]
    if "texts" in asked:
        return _as_json({"id": "e", "embeddings": {"float": vectors}, "texts": texts})
    shown = [_pack(one) if asked.get("encoding_format") == "base64" else one for one in vectors]
    data = [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(shown)]
    return _as_json({"object": "list", "model": "m", "data": data, "embeddings": vectors, "usage": _USAGE})


def _spread(text: object) -> list[float]:
    source = random.Random(f"more {text}")
    return [source.gauss(0, 1) for _ in range(63)]


def _pack(vector: Sequence[float]) -> str:
    return base64.b64encode(struct.pack(f"<{len(vector)}f", *vector)).decode()


# -- the hub, and pages


def _prompt(template: str) -> Json:
    names = sorted(set(re.findall(r"(?<!\{)\{(\w+)\}", template)))
    kwargs = {"input_variables": names, "template": template, "template_format": "f-string"}
    return {
        "lc": 1,
        "type": "constructor",
        "id": ["langchain", "prompts", "prompt", "PromptTemplate"],
        "kwargs": kwargs,
    }


def _part(kind: str, **kwargs: Json) -> Json:
    return {"lc": 1, "type": "constructor", "id": ["langchain", "prompts", "chat", kind], "kwargs": kwargs}


def _pull(name: str) -> Json:
    """Return a prompt of the hub: of the same variables as the one that has the name there, and a text of our own."""
    if "tools-agent" in name or "functions" in name or "structured" in name:
        is_json = "structured" in name
        system = "Use these tools: {tools}, {tool_names}. Answer as $JSON_BLOB." if is_json else "Be brief."
        human = "{input}\n\n{agent_scratchpad}" if is_json else "{input}"
        parts = [
            _part("SystemMessagePromptTemplate", prompt=_prompt(system)),
            _part("MessagesPlaceholder", variable_name="chat_history", optional=True),
            _part("HumanMessagePromptTemplate", prompt=_prompt(human)),
        ]
        if not is_json:
            parts.append(_part("MessagesPlaceholder", variable_name="agent_scratchpad"))
        names = ["agent_scratchpad", "input", *(["tool_names", "tools"] if is_json else [])]
        manifest = _part("ChatPromptTemplate", input_variables=names, messages=parts)
    elif "rag" in name:
        human = _prompt("Question: {question}\nContext: {context}\nAnswer:")
        messages = [_part("HumanMessagePromptTemplate", prompt=human)]
        manifest = _part("ChatPromptTemplate", input_variables=["context", "question"], messages=messages)
    elif "react" in name:
        manifest = _prompt(_AGENT)
    else:
        manifest = _part("ChatPromptTemplate", input_variables=["dish"], messages=[
            _part("HumanMessagePromptTemplate", prompt=_prompt("Tell about {dish}."))])  # fmt: skip
    return {"owner": "o", "repo": name, "commit_hash": "a" * 8, "manifest": manifest, "examples": []}


_WIKIPEDIA = {
    "query": {
        "search": [{"title": "Home", "pageid": 1}],
        "searchinfo": {"suggestion": None},
        "pages": {"1": {"pageid": 1, "title": "Home", "extract": "The hero comes home.", "ns": 0,
                        "pageprops": {}, "fullurl": "https://w/Home", "revisions": [{"revid": 1, "parentid": 0}]}},
    }
}  # fmt: skip
