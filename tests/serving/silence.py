"""A model that stops in the middle, for clients that leave."""

from collections.abc import AsyncIterator
from typing import Any

import anyio

from hocket.messages import AIMessageChunk
from tests.kit import HookCall, Recorder, hook_model

__all__ = ["Silence"]


class Silence:
    """A model that says "Hello", and then nothing until it is cancelled."""

    def __init__(self) -> None:
        self.began, self.over = anyio.Event(), anyio.Event()
        self.recorder = Recorder("on_chat_model_start", "on_llm_end", "on_llm_error")
        self.model = hook_model(self.answer, "agenerate", "astream", callbacks=[self.recorder])

    async def answer(self, call: HookCall) -> Any:
        if call.hook == "astream":
            return self.speak()
        await self.hang()
        raise AssertionError

    async def speak(self) -> AsyncIterator[AIMessageChunk]:
        yield AIMessageChunk("Hello")
        await self.hang()

    async def hang(self) -> None:
        self.began.set()
        try:
            await anyio.sleep_forever()
        finally:
            self.over.set()
