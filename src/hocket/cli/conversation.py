"""A conversation with a model, without a terminal.

What is kept is always valid: questions and answers in turn, each question with its answer. A turn that failed, or that
was stopped before anything was said, leaves nothing behind.
"""

from collections.abc import Callable
from dataclasses import dataclass

from hocket._runtime import clock
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, UsageMetadata

__all__ = ["Answer", "Conversation", "reasoning_of"]


@dataclass(frozen=True)
class Answer:
    """How a question was answered.

    Attributes:
        message: the answer, or what came of it.
        interrupted: whether Ctrl-C stopped it.
        first_token: seconds until something was said; None: nothing was.
        seconds: until its end.
    """

    message: AIMessage
    interrupted: bool
    first_token: float | None
    seconds: float

    @property
    def stats(self) -> str:
        """Tokens and times, as one line. The rate is that of the tokens after the first, where they came one by one."""
        usage: UsageMetadata | None = self.message.usage_metadata
        parts = [f"{usage['input_tokens']} tokens in, {usage['output_tokens']} out" if usage else "tokens not reported"]
        if self.first_token is not None:
            parts.append(f"first token after {self.first_token:.2f} s")
            if usage and (rest := self.seconds - self.first_token) > 0 and usage["output_tokens"] > 1:
                parts.append(f"{(usage['output_tokens'] - 1) / rest:.1f} tokens/s")
        return "; ".join([*parts, f"{self.seconds:.2f} s in all"])


class Conversation:
    """Questions to a model, and its answers.

    Args:
        model: is asked.
        system: instructions that come before the first question.
    """

    def __init__(self, model: BaseChatModel, system: str | None = None) -> None:
        self.model = model
        self.system = system
        self.messages: list[BaseMessage] = []

    def ask(self, question: str, show: Callable[[AIMessageChunk], None]) -> Answer:
        """Ask, and keep question and answer. Ctrl-C stops the answer; what was said until then is kept, and marked.

        Args:
            question: the text.
            show: is handed the answer's chunks as they come.

        Raises:
            Exception: what the model or ``show`` raises; then nothing is kept.
        """
        asked = HumanMessage(question)
        system = [SystemMessage(self.system)] if self.system else []
        now = clock.current().now
        began, first, interrupted, said = now(), None, False, list[str]()
        with self.model.stream([*system, *self.messages, asked]) as chunks:
            try:
                for chunk in chunks:
                    if first is None and (chunk.text or reasoning_of(chunk)):
                        first = now() - began
                    show(chunk)
                    said.append(chunk.text)
            except KeyboardInterrupt:
                interrupted = True
        message = chunks.message
        if interrupted:  # what was shown, and nothing that a half of would be wrong: reasoning, say, with its signature
            facts = {**message.response_metadata, "interrupted": True}
            usage = message.usage_metadata
            message = AIMessage("".join(said), response_metadata=facts, usage_metadata=usage)
        if message.text:
            self.messages += [asked, message]
        return Answer(message, interrupted, first, now() - began)

    def undo(self) -> bool:
        """Forget the last question and its answer; False if there is none."""
        forgotten = bool(self.messages)
        del self.messages[-2:]
        return forgotten

    def clear(self) -> None:
        """Forget all questions and answers."""
        self.messages.clear()


def reasoning_of(chunk: AIMessageChunk) -> str:
    """Return the reasoning in a chunk, where the provider shows it."""
    if chunk.content.__class__ is str and not chunk.additional_kwargs:
        return ""
    return "".join(block.get("reasoning") or "" for block in chunk.content_blocks if block["type"] == "reasoning")
