"""`ChatOpenAI` passes the exam with a real server, as far as a server need not misbehave for it."""

from typing import Any

import pytest

from hocket.errors import LLMError
from hocket.language_models import BaseChatModel
from hocket.messages import HumanMessage
from hocket.providers.openai import ChatOpenAI
from hocket.testing import ChatModelConformance
from hocket.testing.conformance.suite import IMAGE

pytestmark = pytest.mark.nightly  # at each change the embedded model takes this exam, and real servers are asked less


@pytest.fixture(scope="module")
def anyio_backend() -> str:
    """The network is the same on trio, and the model slow."""
    return "asyncio"


class TestChatOpenAI(ChatModelConformance):
    """The very small model answers in few tokens, differently when it is asked several things at once."""

    repeatable = False
    long_question = "What do you make of this? " + "word " * 60
    options: dict[str, Any]

    @pytest.fixture(autouse=True)
    def ask_the_live_server(self, live_server: Any) -> None:
        self.options = live_server.options

    async def test_images_are_read_or_refused(self) -> None:
        """What a server can read is for the server to say; llama.cpp says that it has failed."""
        question = HumanMessage([{"type": "text", "text": self.question}, IMAGE])
        with pytest.raises(LLMError, match="image input is not supported"):
            await self.make().ainvoke([question], retry=None)

    def make(self) -> BaseChatModel:
        return ChatOpenAI(**{**self.options, "max_tokens": 2, "temperature": 0})
