"""The embedded model passes the exam: real answers, of a few tokens."""

import pytest

from hocket.language_models import BaseChatModel
from hocket.providers.local import ChatLocal
from hocket.testing import ChatModelConformance


@pytest.fixture(scope="module", autouse=True)
def loaded(embedded_model: None) -> None:
    ChatLocal().load()


class TestChatLocal(ChatModelConformance):
    """What is computed at once changes the last digits of a score, so that the same question may get another answer."""

    repeatable = has_images = False
    long_question = "What do you make of this? " + "word " * 60  # its window is small

    @pytest.mark.nightly  # `tests/providers/local/test_local_chat_model.py` has one like it
    def test_one_model_in_many_loops(self) -> None:
        super().test_one_model_in_many_loops()

    def make(self) -> BaseChatModel:
        return ChatLocal(max_tokens=3, temperature=0)
