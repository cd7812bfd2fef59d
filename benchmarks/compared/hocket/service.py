from fastapi import FastAPI
from fastapi.responses import StreamingResponse
from pydantic import BaseModel

from hocket import ChatOpenAI, Conversation, open_history
from hocket.serving import SSE_HEADERS, sse

model = ChatOpenAI(model="tiny", base_url="http://127.0.0.1:8790/v1", api_key="test-key", timeout=30)
app = FastAPI()


class Question(BaseModel):
    user: str
    text: str


@app.post("/chat")
async def chat(question: Question) -> StreamingResponse:
    history = open_history("sqlite:///chat.db", session_id=question.user)
    conversation = Conversation(model, history=history, system="Be brief.")
    return StreamingResponse(sse(conversation.astream(question.text)), headers=SSE_HEADERS)
