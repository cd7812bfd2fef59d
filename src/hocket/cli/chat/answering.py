"""Questions to a model and its answers, without a terminal."""

from collections.abc import Callable
from dataclasses import dataclass

from hocket._runtime import clock
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.cli.chat.talks import TalkHistory
from hocket.cli.printer import read_reasoning
from hocket.conversation import Conversation
from hocket.errors import HistoryError
from hocket.message_toolkit.exchanges import join_exchanges, split_exchanges
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, UsageMetadata

__all__ = ["Outcome", "ask_and_show", "undo"]


@dataclass(frozen=True)
class Outcome:
    """How a question was answered.

    Attributes:
        message: the answer, or as much of it as came.
        is_interrupted: whether Ctrl-C stopped it.
        first_token: seconds until its first text or reasoning; None: there was none.
        seconds: from the question to the end of the answer.
        pieces: in which its text and reasoning came.
    """

    message: AIMessage
    is_interrupted: bool
    first_token: float | None
    seconds: float
    pieces: int

    @property
    def stats(self) -> str:
        """Tokens and times, as one line. The rate is that of the tokens after the first, where one call had them come one
        by one.
        """
        usage: UsageMetadata | None = self.message.usage_metadata
        calls: int = self.message.response_metadata.get("model_calls", 1)  # of a model that works with tools
        tokens = f"{usage['input_tokens']} tokens in, {usage['output_tokens']} out" if usage else "tokens not reported"
        parts = [f"{tokens}, in {calls} calls of the model" if calls > 1 else tokens]
        if self.first_token is not None:
            parts.append(f"first token after {self.first_token:.2f} s")
            rest = self.seconds - self.first_token
            if usage and rest > 0 and usage["output_tokens"] > 1 and self.pieces > 1 and calls == 1:
                parts.append(f"{(usage['output_tokens'] - 1) / rest:.1f} tokens/s")
        return "; ".join([*parts, f"{self.seconds:.2f} s in all"])


def ask_and_show(
    conversation: Conversation, question: str | HumanMessage, show: Callable[[AIMessageChunk], None]
) -> Outcome:
    """Ask. Ctrl-C stops the answer; what was said until then stays in the conversation, marked as a part.

    Args:
        conversation: gets question and answer.
        question: a text, or a message with attachments.
        show: is handed the answer's chunks as they come.

    Raises:
        Exception: what the model, the history or ``show`` raises.
    """
    now = clock.current().now
    started_at, first_token, is_interrupted, pieces = now(), None, False, 0
    with conversation.stream(question) as chunks:
        try:
            for chunk in chunks:
                if chunk.text or read_reasoning(chunk):
                    pieces += 1
                    first_token = now() - started_at if first_token is None else first_token
                show(chunk)
        except KeyboardInterrupt:
            is_interrupted = True
    return Outcome(chunks.message, is_interrupted, first_token, now() - started_at, pieces)


def undo(conversation: Conversation) -> bool:
    """Forget the last question and its answer; False if there is none.

    Raises:
        HistoryError: the conversation is stored, and is not a talk. Stores can add and forget everything, and a command
            that is killed between the two would lose it all.
    """
    history = conversation.history
    if isinstance(history, TalkHistory):
        return history.remove_last_turn()
    if not isinstance(history, InMemoryChatMessageHistory):
        raise HistoryError("a conversation that is kept cannot be undone, only forgotten as a whole, by /clear")
    parts = split_exchanges(history.messages)
    history.clear()
    history.add_messages(join_exchanges(parts[:-1]))
    return bool(parts)
