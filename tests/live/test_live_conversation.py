"""A conversation with the embedded model: what is sent fits into its window."""

import pytest

from hocket.chat_history import InMemoryChatMessageHistory
from hocket.conversation import Conversation
from hocket.messages import AIMessage, HumanMessage
from hocket.providers.local import ChatLocal


@pytest.mark.nightly
@pytest.mark.usefixtures("embedded_model")
def test_the_embedded_model_takes_what_is_sent() -> None:
    """Of a history that is many times as long as its window, in a text with more tokens than it seems to have."""
    messages = [message for _ in range(20) for message in (HumanMessage("0123456789 " * 8), AIMessage("so"))]
    history = InMemoryChatMessageHistory(messages)
    answer = Conversation(ChatLocal(n_ctx=256, max_tokens=4), history=history).send("Hello")
    assert answer.usage_metadata is not None and 100 < answer.usage_metadata["input_tokens"] <= 252
    assert len(history.messages) == 42
