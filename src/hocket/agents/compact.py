"""A long run made short enough for its model, without what it cannot do without.

What is said twice, or matters least, goes first: old results lose all but their beginning, old thoughts become one line,
then whole exchanges before the question go, the oldest first. The question and the calls stay, each with its result, and
the last exchange is not touched before all else is. The history keeps everything.

What changes is not in the provider's prompt cache any more, nor is all that stands behind it. So a caller may have it go
further than it has to (``aim``), from the oldest on, where that costs old results and thoughts only: the next steps then
begin alike. What was cut once is left alone until nothing else can be: it would change the beginning for a few tokens.

Reasoning that a provider has signed, or has an id for, stays: its API refuses a conversation in which it was changed.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, cast

from hocket.agents.text_format import FEEDBACK_NAME
from hocket.errors import InvalidInput
from hocket.message_toolkit.counting import TokenCounter, list_counter
from hocket.message_toolkit.turns import turn_edges
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.base import Content, copy_containers, copy_message
from hocket.messages.content import Fields
from hocket.messages.roles import Role, calls_of, roles_of
from hocket.tools.result_messages import add_note, cut_content, cut_result

__all__ = ["Compaction", "compact", "count_tokens_by_bytes"]

_RESULT_CHARS = 200  # that an old result keeps
_LONG_THOUGHT = 50  # tokens, counted by bytes
_LEFT_OUT = "[This result is left out: the conversation is too long. Ask again if you need it.]"
_CUT = "compacted"  # under this key of ``response_metadata``, a result says that it was cut here
_ROUNDS = 8  # of counting what was saved, where a counter does not just add up its messages
_REASONING = ("reasoning_content", "reasoning")  # where servers of OpenAI's format have it, as plain text

_SUMMARIES = {  # of a thought that led to a call, and of another
    "en": (
        "Summary of the reasoning: after some thought, {} was called, and gave a result.",
        "Summary of the reasoning: after some thought, there was a result.",
    ),
    "zh": ("推理摘要: 经考虑后决定使用工具{}并获得结果", "推理摘要: 经考虑后获得结果"),
}

Cut = Callable[[ToolMessage, int], ToolMessage]
"""How a result is cut to so many characters: as `cut_result` does. One that has no more comes back as it is."""

Change = dict[int, BaseMessage | None]
"""What becomes of messages, by their index; None: they are left out."""


@dataclass(frozen=True, slots=True)
class Compaction:
    """A conversation that was made shorter.

    Attributes:
        messages: what is left. Those that did not change are the very ones that came.
        saved: tokens.
        remaining: tokens by which it is still too long, since the rest has to stay.
    """

    messages: list[BaseMessage]
    saved: int
    remaining: int


def compact(
    messages: Sequence[BaseMessage],
    max_tokens: int,
    count: TokenCounter = "approximate",
    *,
    aim: int | None = None,
    cut: Cut = cut_result,
    language: Literal["en", "zh"] = "en",
) -> Compaction:
    """Return a conversation with as little taken from it as fits a limit, or all that may be taken.

    System messages, the last question, what was called since, and a result for each call are always kept; so a
    conversation that providers accept is still one. The time is linear in its length.

    Args:
        messages: the conversation; not changed.
        max_tokens: that it may have.
        count: what counts them, as `trim_messages` takes it.
        aim: tokens to go down to where it has more than ``max_tokens``, by cutting old results and thoughts alone; None:
            as many as ``max_tokens``.
        cut: how a result is cut.
        language: of the line that takes the place of a thought, "en" or "zh".

    Raises:
        InvalidInput: ``max_tokens`` is below 0, ``count`` is no counter, or ``language`` is unknown.
    """
    if max_tokens < 0:
        raise InvalidInput(f"max_tokens is {max_tokens}; it is 0 or more")
    if language not in _SUMMARIES:
        raise InvalidInput(f"language is {language!r}; it is 'en' or 'zh'")
    work = _Work(messages, list_counter(count))
    before = work.total
    if before > max_tokens:
        plan = _Plan(messages, language, cut)
        low = max_tokens if aim is None else min(aim, max_tokens)
        work.apply(plan.list_light(), low)
        if work.total > max_tokens:  # the beginning changes, so as much as can be
            work.apply(plan.list_again(), low)
        work.apply(plan.list_heavy(), max_tokens)
    return Compaction(work.kept, before - work.total, max(0, work.total - max_tokens))


def count_tokens_by_bytes(messages: Sequence[BaseMessage]) -> int:
    """Return a rough number of tokens, by the bytes of UTF-8: texts, names of tools, their arguments; 4 make a token.

    A Chinese character has 3 bytes. It takes no tables, and is a counter that `compact` and `trim_messages` take.
    """
    return sum(map(_count_bytes, messages)) // 4


def _count_bytes(message: BaseMessage) -> int:
    texts = [message.text]
    for call in calls_of(message):
        args = call["args"]
        texts += [
            call["name"] or "",
            args if isinstance(args, str) else json.dumps(args, ensure_ascii=False, default=str),
        ]
    return sum(len(text.encode(errors="replace")) for text in texts)


class _Work:
    """A conversation that becomes shorter: what is ``kept`` of it, and the ``total`` of its tokens."""

    def __init__(self, messages: Sequence[BaseMessage], counter: Callable[[list[BaseMessage]], int]) -> None:
        self.kept = [*messages]
        self.total = counter(self.kept)
        self._now: list[BaseMessage | None] = [*messages]
        self._counter = counter

    def apply(self, changes: Iterator[Change], limit: int) -> None:
        """Make as many of ``changes`` as fit a limit, or all."""
        for _ in range(_ROUNDS):
            excess = self.total - limit
            if excess <= 0:
                break
            while excess > 0 and (change := next(changes, None)) is not None:
                excess -= self._make(change)
            self.kept = [message for message in self._now if message is not None]
            self.total = self._counter(self.kept)
            if excess > 0:  # nothing is left to change
                break

    def _make(self, change: Change) -> int:
        """Make a change, if it saves something, and return how many tokens."""
        saved = 0
        for index, new in change.items():
            old = self._now[index]
            saved += self._counter([old]) if old is not None else 0
            saved -= self._counter([new]) if new is not None else 0
        if saved <= 0:
            return 0
        for index, new in change.items():
            self._now[index] = new
        return saved


class _Plan:
    """What may be done to a conversation."""

    def __init__(self, messages: Sequence[BaseMessage], language: str, cut: Cut) -> None:
        self._messages = messages
        self._cut = cut
        self._roles: Sequence[Role] = roles_of(messages)
        self._summaries = _SUMMARIES[language]
        self._question = self._find_question()
        length = len(messages)
        self._last = next((index for index in reversed(range(length)) if calls_of(messages[index])), length)

    def list_light(self) -> Iterator[Change]:
        """Yield the changes that take nothing from the last exchange, and no exchange whole; from the oldest on."""
        old = range(self._last)
        yield from self._cut_results(old)
        yield from self._shorten_thoughts(old)

    def list_again(self) -> Iterator[Change]:
        """Yield the results that an earlier compaction has cut, without what it has left of them."""
        return self._cut_results(range(self._last), once_more=True)

    def list_heavy(self) -> Iterator[Change]:
        """Yield the others, those that hurt least first."""
        recent = range(self._last, len(self._messages))
        yield from self._drop_exchanges()
        yield from self._cut_results(recent)
        yield from self._shorten_thoughts(recent)

    def _find_question(self) -> int:
        """Return the index of the last question, or of the first of several in a row; 0: there is none.

        A message that tells the model what was wrong with its reply asks nothing.
        """
        asked = [index for index, role in enumerate(self._roles) if role == "human"]
        index = next((index for index in reversed(asked) if self._messages[index].name != FEEDBACK_NAME), 0)
        while index and self._roles[index - 1] == "human":
            index -= 1
        return index

    def _cut_results(self, part: range, *, once_more: bool = False) -> Iterator[Change]:
        """Yield the results that become shorter, those that an earlier compaction has cut ``once_more`` or not at all."""
        for index in part:
            if self._roles[index] != "tool":
                continue
            message = cast(ToolMessage, self._messages[index])
            if bool(message.response_metadata.get(_CUT)) is not once_more:
                continue
            if once_more and self._cut is cut_result:  # which would count what is left out of what is left
                short = add_note(message, _LEFT_OUT, content=cut_content(message.content, 0)[0])
            else:
                short = self._cut(message, 0 if once_more else _RESULT_CHARS)
            if short is not message:
                yield {index: short.model_copy(update={"response_metadata": {**short.response_metadata, _CUT: True}})}

    def _shorten_thoughts(self, part: range) -> Iterator[Change]:
        """Thoughts are what a reply says beside its calls, or instead of any, where it is not the answer."""
        for index in part:
            if self._roles[index] != "ai":
                continue
            names = [call["name"] or "" for call in calls_of(self._messages[index])]
            if names or self._question < index < len(self._messages) - 1:
                summary = self._summaries[0].format(", ".join(names)) if names else self._summaries[1]
                short = _shorten_thought(cast(AIMessage, self._messages[index]), summary)
                if short is not None:
                    yield {index: short}

    def _drop_exchanges(self) -> Iterator[Change]:
        """Each begins with a question, and nothing that belongs to one of its calls stands in another."""
        edges = [edge for edge in turn_edges(self._messages) if edge <= self._question]
        edges = [edge for edge in edges if not edge or self._roles[edge] == "human"]
        for start, end in pairwise(edges):
            yield dict.fromkeys(index for index in range(start, end) if self._roles[index] != "system")


def _shorten_thought(message: AIMessage, summary: str) -> AIMessage | None:
    """Return a reply with one line for what it thought; None: that was not long."""
    content = _shorten_content(message.content, summary)
    beside = {name: summary for name in _REASONING if _is_long(message.additional_kwargs.get(name))}
    if content is message.content and not beside:
        return None
    return copy_message(
        message, content=copy_containers(content), additional_kwargs={**message.additional_kwargs, **beside}
    )


def _shorten_content(content: Content, summary: str) -> Content:
    if isinstance(content, str):
        return summary if _is_long(content) else content
    texts = [block for block in content if _is_text(block)]
    if not _is_long("".join(block if isinstance(block, str) else str(block["text"]) for block in texts)):
        return content
    first = texts[0]
    line: str | Fields = summary if isinstance(first, str) else {**first, "text": summary}
    return [line if block is first else block for block in content if block is first or not _is_text(block)]


def _is_text(block: str | Fields) -> bool:
    """Whether a block is a text and nothing else: one with a signature, say, has to go back as it came."""
    return isinstance(block, str) or (block.keys() <= {"type", "text", "index"} and block.get("type") == "text")


def _is_long(text: object) -> bool:
    return isinstance(text, str) and len(text.encode(errors="replace")) // 4 > _LONG_THOUGHT
