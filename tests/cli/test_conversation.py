"""Questions and answers without a terminal: what is kept, and what is measured."""

from pathlib import Path
from typing import Any

import pytest

from hocket.chat_history import FileChatMessageHistory
from hocket.cli.chat.answering import Outcome, ask_and_show, undo
from hocket.conversation import Conversation
from hocket.errors import AuthenticationError, HistoryError, StreamTruncated
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessage, AIMessageChunk

USAGE: Any = {"input_tokens": 12, "output_tokens": 5, "total_tokens": 17}


def say(conversation: Conversation, question: str, stop_at: str = "") -> tuple[Outcome, str]:
    """Ask, and press Ctrl-C when ``stop_at`` has been shown."""
    shown: list[str] = []

    def show(chunk: AIMessageChunk) -> None:
        shown.append(chunk.text)
        if stop_at and stop_at in chunk.text:
            raise KeyboardInterrupt

    return ask_and_show(conversation, question, show), "".join(shown)


def kept(conversation: Conversation) -> list[tuple[str, str]]:
    return [(message.type, message.text) for message in conversation.history.messages]


def test_what_was_asked_can_be_undone() -> None:
    """The last question and its answer, and those before."""
    model = ScriptedChatModel(script=["one", "two", "three"])
    conversation = Conversation(model)
    assert say(conversation, "1?")[1] == "one"
    say(conversation, "2?")
    assert undo(conversation)
    say(conversation, "3?")
    assert [message.text for message in model.requests[2].messages] == ["1?", "one", "3?"]
    assert undo(conversation) and undo(conversation) and not undo(conversation)
    assert kept(conversation) == []


def test_what_is_stored_cannot_be_undone(tmp_path: Path) -> None:
    """A store can only forget all of it."""
    history = FileChatMessageHistory(tmp_path / "chat.jsonl")
    conversation = Conversation(ScriptedChatModel(script=["one"]), history=history)
    say(conversation, "1?")
    with pytest.raises(HistoryError, match="a conversation that is kept cannot be undone"):
        undo(conversation)
    assert len(kept(conversation)) == 2


def test_an_interrupted_answer_is_kept_as_far_as_it_was_shown() -> None:
    """Marked, and without what was still to come; the stream is closed."""
    model = ScriptedChatModel(script=[Turn(text=["one ", "two ", "three"], usage=USAGE), "and on"])
    conversation = Conversation(model)
    answer, shown = say(conversation, "count", stop_at="two")

    assert answer.is_interrupted and answer.message.text == shown == "one two "
    assert kept(conversation) == [("human", "count"), ("ai", "one two ")]
    assert conversation.history.messages[-1].response_metadata["partial"] is True
    assert not say(conversation, "go on")[0].is_interrupted
    assert [message.text for message in model.requests[1].messages] == ["count", "one two ", "go on"]


@pytest.mark.parametrize(
    "turn",
    [
        AuthenticationError("no key"),
        Turn(text=["half an ", "answer"], error=StreamTruncated("gone"), error_after=1),
        Turn(error=ConnectionError()),
    ],
    ids=repr,
)
def test_a_failed_turn_leaves_nothing(turn: Any) -> None:
    """Not even the question: two questions in a row are no valid conversation."""
    conversation = Conversation(ScriptedChatModel(script=["one", turn, "two"]))
    say(conversation, "1?")
    with pytest.raises(Exception):  # noqa: B017 (each its own)
        say(conversation, "2?")
    say(conversation, "3?")
    assert kept(conversation) == [("human", "1?"), ("ai", "one"), ("human", "3?"), ("ai", "two")]


def test_an_answer_without_text_leaves_nothing() -> None:
    """Whether the model had nothing to say, or was stopped before it did."""
    thinking = Turn(text=["", "so"])
    conversation = Conversation(ScriptedChatModel(script=["", thinking]))
    say(conversation, "1?")

    def stop(chunk: AIMessageChunk) -> None:
        raise KeyboardInterrupt

    assert ask_and_show(conversation, "2?", stop).is_interrupted
    assert kept(conversation) == []


def test_reasoning_counts_as_the_first_token_and_is_kept() -> None:
    """A provider may want its reasoning back, so a whole answer is kept as it came."""
    conversation = Conversation(ScriptedChatModel(script=[Turn(reasoning="hm", text="so")]))
    answer, shown = say(conversation, "1?")
    assert (answer.first_token is not None, shown) == (True, "so")
    assert conversation.history.messages[-1].content != "so"


STATS = [
    (USAGE, 0.5, 2.5, 3, "12 tokens in, 5 out; first token after 0.50 s; 2.0 tokens/s; 2.50 s in all"),
    (USAGE, 0.5, 2.5, 1, "12 tokens in, 5 out; first token after 0.50 s; 2.50 s in all"),
    (USAGE, 0.5, 0.5, 3, "12 tokens in, 5 out; first token after 0.50 s; 0.50 s in all"),
    ({**USAGE, "output_tokens": 1}, 0.5, 2.5, 3, "12 tokens in, 1 out; first token after 0.50 s; 2.50 s in all"),
    (None, 0.5, 2.5, 3, "tokens not reported; first token after 0.50 s; 2.50 s in all"),
    (None, None, 2.5, 0, "tokens not reported; 2.50 s in all"),
]


@pytest.mark.parametrize(("usage", "first", "seconds", "pieces", "line"), STATS)
def test_stats(usage: Any, first: float | None, seconds: float, pieces: int, line: str) -> None:
    """Only what is known is said; a rate needs more than one token, in pieces with time between them."""
    message = AIMessage("x", usage_metadata=usage)
    outcome = Outcome(message, is_interrupted=False, first_token=first, seconds=seconds, pieces=pieces)
    assert outcome.stats == line
