import asyncio
import json
import sqlite3

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel
from pydantic_ai import Agent, ModelMessagesTypeAdapter
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

provider = OpenAIProvider(base_url="http://127.0.0.1:8790/v1", api_key="test-key")
agent = Agent(OpenAIChatModel("tiny", provider=provider), instructions="Be brief.")
app = FastAPI()
db = sqlite3.connect("chat.db", check_same_thread=False)
db.execute("create table if not exists history (id integer primary key, user text, messages blob)")
locks: dict[str, asyncio.Lock] = {}


class Question(BaseModel):
    user: str
    text: str


def load(user: str):
    rows = db.execute("select messages from history where user = ? order by id", (user,)).fetchall()
    return [message for (blob,) in rows for message in ModelMessagesTypeAdapter.validate_json(blob)]


def save(user: str, messages: bytes) -> None:
    with db:
        db.execute("insert into history (user, messages) values (?, ?)", (user, messages))


async def answer(question: Question):
    async with locks.setdefault(question.user, asyncio.Lock()):
        history = await asyncio.to_thread(load, question.user)
        result = None
        try:
            async with asyncio.timeout(30):
                async with agent.run_stream(question.text, message_history=history) as result:
                    async for piece in result.stream_text(delta=True, debounce_by=None):
                        yield f"data: {json.dumps(piece)}\n\n"
        except Exception as error:
            yield f"event: error\ndata: {json.dumps(type(error).__name__)}\n\n"
        finally:
            if result is not None:
                save(question.user, result.new_messages_json())


@app.post("/chat")
async def chat(question: Question) -> StreamingResponse:
    return StreamingResponse(answer(question), media_type="text/event-stream")
