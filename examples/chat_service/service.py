"""A chat page and its service: answers outlive their readers, are stopped from anywhere, and a person approves calls.

`chat_app` answers the page. What it does not know stands here: who asks, and where what was said is kept.
"""

import hashlib
import logging
import os
import secrets
from base64 import b64encode
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import Response

from hocket import BaseChatMessageHistory, HumanMessage, Timeout, create_agent, open_history
from hocket.agents import AgentStream, read_pending_calls
from hocket.callbacks import register_handler
from hocket.messages import BaseMessage
from hocket.routing import ChatRouter
from hocket.serving import ChatInput, LiveAnswers, chat_app, finish_streams
from hocket.tracing import JSONFormatter, LogHandler, instrument

DATABASE = os.environ.get("CHAT_DATABASE", "postgresql://localhost/chat")  # sqlite:///chat.db, for one machine
SECONDS = float(os.environ.get("CHAT_SECONDS", "60"))  # of an answer, in all
PAUSE = float(os.environ.get("CHAT_PAUSE", "20"))  # until its first word, and between two of them
USER_HEADER = os.environ.get("CHAT_USER_HEADER", "")  # in which a proxy that logs people in says who they are

model = ChatRouter(
    deployments=os.environ.get("HOCKET_MODEL", "local").split(","),  # several keys, regions or providers of one model
    store=DATABASE,  # which of them rests, all processes know
    hedge=0.05,
    timeout=Timeout(first_token=PAUSE, idle=PAUSE, total=SECONDS),
    retry=3,  # attempts; never after the first word
    max_in_flight=100,
)


async def book_table(people: int, time: str) -> str:
    """Book a table at the restaurant for this evening."""
    return f"A table for {people} at {time} is booked."


agent = create_agent(
    model,
    [book_table],
    system_prompt="You are the friendly host of a restaurant. Be brief.",
    interrupt_on=["book_table"],  # a person has to say yes
)
live = LiveAnswers(DATABASE)


# -- who asks


def find_user(scope: Mapping[str, Any]) -> str | None:
    """Return who asks: as the proxy says, or by a secret that the browser alone has. The log has no secret."""
    request = Request({**scope})
    if USER_HEADER:
        return request.headers.get(USER_HEADER)
    cookie = request.cookies.get("user")
    return hashlib.sha256(cookie.encode()).hexdigest()[:32] if cookie else None


def require_user(request: Request) -> str:
    if user := find_user(request.scope):
        return user
    raise HTTPException(401)


User = Annotated[str, Depends(require_user)]


# -- what is kept


def open_talk(user: str, id: str) -> BaseChatMessageHistory:
    """Return what was said in a chat."""
    return open_history(DATABASE, f"talk/{quote(user, safe='')}/{id}")


def open_question(user: str, id: str) -> BaseChatMessageHistory:
    """Return what a chat was asked last: a talk has it when its answer is there, and a page that follows shows it before."""
    return open_history(DATABASE, f"asked/{quote(user, safe='')}/{id}")


async def answer(chat: ChatInput) -> AgentStream[str]:
    """Return the stream that answers a page; `chat_app` runs it to its end, whoever reads it."""
    talk, asked = open_talk(chat.user, chat.id), open_question(chat.user, chat.id)
    if not await live.is_running(chat.key):
        text = chat.input.text if isinstance(chat.input, HumanMessage) else ""  # else a decision about a call
        before = len(await talk.aget_messages())
        await asked.aclear()
        await asked.aadd_messages([HumanMessage(text, additional_kwargs={"before": before})])
    return agent.astream(chat.input, {"metadata": {"user_id": chat.user}}, history=talk)


def describe(message: BaseMessage) -> dict[str, object]:
    """Return what a page shows of a message; ``partial``: of an answer that was stopped or broke off."""
    return {
        "role": message.type,  # human, ai, or tool: the result of a call
        "text": message.text,
        "calls": getattr(message, "tool_calls", []),
        "call": getattr(message, "tool_call_id", None),
        "partial": bool(message.response_metadata.get("partial")),
    }


# -- the service


@asynccontextmanager
async def run(_: FastAPI) -> AsyncGenerator[None, None]:
    """Log a line of JSON for each run, and make spans for OpenTelemetry, wherever the process sends them."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONFormatter())
    logger = logging.getLogger("hocket.runs")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    register_handler(LogHandler(logger, metadata=["user_id"]))
    instrument()
    yield
    await live.aclose()  # what was said until now is kept; a mounted application hears of no end
    await finish_streams()
    await open_talk("-", "-").aclose()  # the connections that all histories share


app = FastAPI(lifespan=run)
app.mount("/chat", chat_app(answer, live=live, user=find_user))

PAGE = Path(__file__).with_name("page.html").read_bytes()


def hash_between(start: bytes, end: bytes) -> str:
    """Return the hash of the page's own script or style, by which the browser knows it: it takes no other."""
    inside = PAGE.partition(start)[2].partition(end)[0]
    return f"'sha256-{b64encode(hashlib.sha256(inside).digest()).decode()}'"


SCRIPT = hash_between(b'<script type="module">', b"</script>")
STYLE = hash_between(b"<style>", b"</style>")
HEADERS = {
    "content-security-policy": (
        f"default-src 'none'; script-src {SCRIPT}; style-src {STYLE}; connect-src 'self'; img-src data:; base-uri 'none'; "
        "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
    ),
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}


@app.get("/")
async def show_page(request: Request) -> Response:
    """Return the page, and to a browser that has none a secret by which it is known."""
    response = Response(PAGE, media_type="text/html", headers=HEADERS)
    if not USER_HEADER and find_user(request.scope) is None:
        is_secure = request.url.scheme == "https"
        response.set_cookie(
            "user", secrets.token_urlsafe(), max_age=31_536_000, httponly=True, samesite="lax", secure=is_secure
        )
    return response


@app.get("/history/{id}")
async def read(id: str, user: User) -> dict[str, object]:
    """Return what was said, which calls wait, and where the answer began that is running: after which message, and why."""
    asked = await open_question(user, id).aget_messages()
    messages = await open_talk(user, id).aget_messages()
    return {
        "messages": [describe(message) for message in messages],
        "waiting": [call["id"] for call in read_pending_calls(messages)],
        "before": asked[-1].additional_kwargs["before"] if asked else len(messages),
        "question": asked[-1].text if asked else "",
    }


@app.delete("/history/{id}", status_code=204)
async def forget(id: str, user: User) -> None:
    """Stop what runs, and forget a chat."""
    await live.stop(ChatInput(protocol="vercel", id=id, user=user).key)
    await open_question(user, id).aclear()
    await open_talk(user, id).aclear()
