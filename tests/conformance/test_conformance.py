"""Models that pass the exam: fakes, a script, and `ChatOpenAI`."""

import subprocess
import sys
from typing import Any

from hocket.language_models import BaseChatModel
from hocket.language_models.fakes import FakeChatModel, FakeListChatModel, GenericFakeChatModel
from hocket.messages import AIMessage
from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIFormat, ScriptedChatModel, Turn
from hocket.testing.conformance import ChatModelConformance, RemoteChatModelConformance

ANSWER = "Air scatters blue light."
USAGE: Any = {"input_tokens": 5, "output_tokens": 4, "total_tokens": 9}
CALLS = 1000  # more than all of one test


def test_pytest_is_needed_for_the_exam_only() -> None:
    """The other tools for tests can be imported without it."""
    code = "import sys; from hocket.testing import *; virtual_clock, serve; sys.exit('pytest' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_exam_says_that_it_needs_pytest() -> None:
    """With the command that installs it."""
    code = "import sys; sys.modules['pytest'] = None; from hocket.testing import RemoteChatModelConformance"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "MissingDependency: the exam runs in pytest; run `pip install pytest`" in done.stderr


class TestFakeListChatModel(ChatModelConformance):
    """It streams character by character, and knows no usage."""

    has_usage = has_stream_usage = False

    def make(self) -> BaseChatModel:
        return FakeListChatModel(responses=[ANSWER])


class TestFakeChatModel(ChatModelConformance):
    """It does not stream."""

    streams = has_usage = has_stream_usage = False

    def make(self) -> BaseChatModel:
        return FakeChatModel()


class TestGenericFakeChatModel(ChatModelConformance):
    """It streams what a message has besides text, too."""

    def make(self) -> BaseChatModel:
        return GenericFakeChatModel(messages=[AIMessage(ANSWER, usage_metadata=USAGE)] * CALLS)


class TestScriptedChatModel(ChatModelConformance):
    """It takes its time."""

    def make(self) -> BaseChatModel:
        return ScriptedChatModel(script=[Turn(text=ANSWER, usage=USAGE, delay=0.001, pause=0.001)] * CALLS)


class TestChatOpenAI(RemoteChatModelConformance):
    """It has everything."""

    format = OpenAIFormat()
    has_names = True

    def make(self, server_url: str) -> BaseChatModel:
        return ChatOpenAI(model="test-model", base_url=server_url, api_key=self.api_key)
