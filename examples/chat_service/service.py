"""A chat service: answers come as they are written, and each user's talk is kept in PostgreSQL."""

import logging
import os
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, Header
from fastapi.responses import StreamingResponse
from pydantic import BaseModel, Field

from hocket import SSE_HEADERS, BaseChatMessageHistory, Conversation, Timeout, init_chat_model, open_history, sse
from hocket.callbacks import register_handler
from hocket.serving import finish_streams
from hocket.tracing import JSONFormatter, LogHandler, instrument

DATABASE = os.environ.get("CHAT_DATABASE", "postgresql://localhost/chat")
SECONDS = float(os.environ.get("CHAT_SECONDS", "60"))  # of an answer, in all
PAUSE = float(os.environ.get("CHAT_PAUSE", "20"))  # until its first word, and between two of them

model = init_chat_model(
    os.environ.get("HOCKET_MODEL", "local"),
    timeout=Timeout(first_token=PAUSE, idle=PAUSE, total=SECONDS),
    retry=3,  # attempts; never after the first word
    max_in_flight=100,
)


@asynccontextmanager
async def trace(_: FastAPI) -> AsyncGenerator[None, None]:
    """Log a line of JSON for each run, and make spans for OpenTelemetry, wherever the process sends them."""
    handler = logging.StreamHandler()
    handler.setFormatter(JSONFormatter())
    logger = logging.getLogger("hocket.runs")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    register_handler(LogHandler(logger, metadata=["user_id"]))
    instrument()
    yield
    await finish_streams()  # what was said until now is kept
    await open_history(DATABASE, "-").aclose()  # the connections that all histories share


app = FastAPI(lifespan=trace)


class Question(BaseModel):
    text: str = Field(min_length=1, max_length=10_000)


def find_user(x_user: Annotated[str, Header(pattern=r"^[\w.-]{1,100}$")]) -> str:
    """Return who asks. A service that is open to others finds it out by a token, for example."""
    return x_user


User = Annotated[str, Depends(find_user)]


def find_history(user: User) -> BaseChatMessageHistory:
    """Return the talk of a user."""
    return open_history(DATABASE, f"user/{user}")


History = Annotated[BaseChatMessageHistory, Depends(find_history)]


@app.post("/chat")
async def chat(question: Question, user: User, history: History) -> StreamingResponse:
    """Answer as it comes. Who leaves ends the model's call; what had been said until then is kept."""
    conversation = Conversation(model, history=history, system="You are a friendly assistant. Be brief.")
    events = conversation.astream(question.text, {"metadata": {"user_id": user}})  # for the log
    return StreamingResponse(sse(events), headers=SSE_HEADERS)


@app.get("/history")
async def read(history: History) -> list[dict[str, object]]:
    """Return what was said; ``partial``: of an answer whose reader left."""
    return [
        {"who": message.type, "text": message.text, "partial": bool(message.response_metadata.get("partial"))}
        for message in await history.aget_messages()
    ]


@app.delete("/history", status_code=204)
async def forget(history: History) -> None:
    """Forget a talk."""
    await history.aclear()
