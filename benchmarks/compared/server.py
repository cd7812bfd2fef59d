"""The server that the compared programs ask: python server.py PORT.

It speaks as much of OpenAI's chat completions as they need, and a protocol of its own (`/generate`), for a provider that no
library knows. It makes typed answers from the schema, refuses what says FAIL, and every 25th request for a moment.
"""

import asyncio
import itertools
import json
import sys
from collections.abc import AsyncIterator
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

numbers = itertools.count(1)


def refuse(status: int, message: str, code: str) -> Response:
    """Return an error in OpenAI's form."""
    return JSONResponse({"error": {"message": message, "type": "error", "code": code}}, status, {"retry-after": "0.2"})


def choose(schema: Any, text: str) -> Any:
    """Return a value of this schema: of an enumeration, what the text names."""
    if "enum" in schema:
        return next((value for value in schema["enum"] if value in text), schema["enum"][0])
    if "properties" in schema:
        return {name: choose(inner, text) for name, inner in schema["properties"].items()}
    return text


async def chat(request: Request) -> Response:
    """Answer in OpenAI's words."""
    number, body = next(numbers), await request.json()
    question = str(body["messages"][-1]["content"])
    if request.headers.get("authorization") != "Bearer test-key":
        return refuse(401, "Incorrect API key.", "invalid_api_key")
    if "FAIL" in question:
        return refuse(400, "Your message was flagged.", "content_policy_violation")
    if number % 25 == 0:
        return refuse(429, "Rate limit reached.", "rate_limit_exceeded")
    asked = sum(message["role"] == "user" for message in body["messages"])
    text = f"You said {asked} things; the last was: {question}. " + "And here are some more words. " * 3
    if "json_schema" in (form := body.get("response_format") or {}):
        text = json.dumps(choose(form["json_schema"]["schema"], question))
    usage = {"prompt_tokens": 20, "completion_tokens": 2, "total_tokens": 22}
    facts = {"id": f"chatcmpl-{number}", "created": 0, "model": body["model"]}

    if not body.get("stream"):
        await asyncio.sleep(0.02)
        choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
        return JSONResponse({**facts, "object": "chat.completion", "choices": [choice], "usage": usage})

    def write(choices: list[Any], **more: Any) -> str:
        return f"data: {json.dumps({**facts, 'object': 'chat.completion.chunk', 'choices': choices, **more})}\n\n"

    async def stream() -> AsyncIterator[str]:
        for word in text.split(" "):
            await asyncio.sleep(0.03)
            yield write([{"index": 0, "delta": {"role": "assistant", "content": f"{word} "}, "finish_reason": None}])
        yield write([{"index": 0, "delta": {}, "finish_reason": "stop"}])
        yield write([], usage=usage) + "data: [DONE]\n\n"

    return StreamingResponse(stream(), media_type="text/event-stream")


async def generate(request: Request) -> Response:
    """Answer in lines of JSON; BUSY is refused, CUT breaks off."""
    question = (await request.json())["prompt"][-1]["text"]
    if "BUSY" in question:
        return JSONResponse({"problem": "overloaded"}, 503)

    async def stream() -> AsyncIterator[str]:
        for word in f"Echo: {question}".split(" "):
            yield json.dumps({"piece": f"{word} "}) + "\n"
            if "CUT" in question:
                return
        yield json.dumps({"done": True, "tokens": 5}) + "\n"

    return StreamingResponse(stream(), media_type="application/x-ndjson")


app = Starlette(
    routes=[
        Route("/v1/chat/completions", chat, methods=["POST"]),
        Route("/generate", generate, methods=["POST"]),
    ]
)

if __name__ == "__main__":
    uvicorn.run(app, host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
