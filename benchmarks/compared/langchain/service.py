import asyncio
import json

from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from langchain.chat_models import init_chat_model
from langchain_community.chat_message_histories import SQLChatMessageHistory
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage
from pydantic import BaseModel

model = init_chat_model("tiny", model_provider="openai", base_url="http://127.0.0.1:8790/v1", api_key="test-key")
app = FastAPI()
locks: dict[str, asyncio.Lock] = {}


class Question(BaseModel):
    user: str
    text: str


async def answer(question: Question):
    async with locks.setdefault(question.user, asyncio.Lock()):
        history = SQLChatMessageHistory(question.user, connection="sqlite:///chat.db")
        past = await asyncio.to_thread(lambda: history.messages)
        said = ""
        try:
            async with asyncio.timeout(30):
                messages = [SystemMessage("Be brief."), *past, HumanMessage(question.text)]
                async for chunk in model.astream(messages):
                    said += chunk.text
                    yield f"data: {json.dumps(chunk.text)}\n\n"
        except Exception as error:
            yield f"event: error\ndata: {json.dumps(type(error).__name__)}\n\n"
        finally:
            if said:
                history.add_messages([HumanMessage(question.text), AIMessage(said)])


@app.post("/chat")
async def chat(question: Question) -> StreamingResponse:
    return StreamingResponse(answer(question), media_type="text/event-stream")
