"""Conversations cut to a length.

A trim keeps one end of a conversation: the longest that fits, less what belongs to a turn beyond it (`turns`), so that no
tool call is ever parted from its results. What is counted is the list that would be returned, system message included:
so whatever a counter adds for a list as such, the result is not above the limit.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any, Literal, TypeAlias

from hocket.errors import InvalidInput
from hocket.message_toolkit.counting import ListCounter, TokenCounter, find_largest, list_counter
from hocket.message_toolkit.filter import Kinds, picker
from hocket.message_toolkit.repair import is_empty
from hocket.message_toolkit.turns import Conversation, make_step, turn_edges, whole_turns
from hocket.messages import BaseMessage, convert_to_messages
from hocket.messages.base import Content, copy_containers, copy_message
from hocket.messages.formats.blocks import text_at
from hocket.messages.roles import calls_of, role_of

__all__ = ["trim_messages"]

Splitter: TypeAlias = Callable[[str], list[str]]


@make_step
def trim_messages(
    messages: Conversation,
    *,
    max_tokens: int | None = None,
    token_counter: TokenCounter | None = None,
    max_messages: int | None = None,
    strategy: Literal["first", "last"] = "last",
    allow_partial: bool = False,
    end_on: Kinds | None = None,
    start_on: Kinds | None = None,
    include_system: bool = False,
    text_splitter: Splitter | Any = None,
    keep_tool_pairs: bool = True,
) -> list[BaseMessage]:
    """Return the last messages of a conversation that fit a limit, or the first. LangChain's rules, and two more.

    A tool call and its results stay together, so that a conversation which providers accept is still one when it is
    trimmed. And the limit may be a number of messages. Called without messages, returns a step of a chain.

    Args:
        messages: messages or message-likes, or a prompt value. Not changed; the messages returned are the same objects.
        max_tokens: the limit in tokens. If not even one turn fits, none is returned.
        token_counter: what counts them: a function of a list of messages (``len`` counts messages), one of a single
            message (its parameter is annotated `BaseMessage`), a model, or "approximate". A list is counted
            O(log n) times for n messages, a single message once.
        max_messages: the limit in messages, instead of tokens; a system message that is included does not count.
        strategy: which end to keep.
        allow_partial: whether the message at which the limit is reached is shortened, if there is room for some of it:
            to its last content blocks, or first; or else to the end of its text, or beginning. Never one with tool
            calls, nor a result, unless pairs are not kept.
        end_on: types of message, one of which must be the last; what comes after is dropped, before the limit is
            applied, or with "first" afterwards.
        start_on: types of message, one of which must be the first, after the system message; with "last" only.
        include_system: whether a system message at the beginning is kept, within `max_tokens`; with "last" only.
        text_splitter: splits a text into pieces that can be joined again, for `allow_partial`: a function, or an object
            with ``split_text``. Default: lines.
        keep_tool_pairs: False cuts anywhere, as LangChain does, which orphans calls and results.

    Raises:
        InvalidInput: options that contradict each other, a counter that is none, a type of message that does not exist;
            or a system message that is longer than `max_tokens` by itself.

    Examples:
        >>> from hocket import trim_messages
        >>> talk = [("system", "Be brief."), ("human", "One?"), ("ai", "One."), ("human", "Two?")]
        >>> kept = trim_messages(talk, max_tokens=2, token_counter=len, include_system=True, start_on="human")
        >>> [message.text for message in kept]
        ['Be brief.', 'Two?']
    """
    limit, counter = _limit(max_tokens, token_counter, max_messages, allow_partial)
    if strategy not in ("first", "last"):
        raise InvalidInput(f"strategy {strategy!r} is unknown; it is 'first' or 'last'")
    if strategy == "first" and (start_on or include_system):
        name = "start_on" if start_on else "include_system"
        raise InvalidInput(f"{name} goes with strategy='last' only; with 'first' the beginning is kept as it is")
    starts, ends = (picker(kinds) if kinds else None for kinds in (start_on, end_on))
    last = strategy == "last"
    conversation = convert_to_messages(messages)
    if last and ends:
        edges = turn_edges(conversation) if keep_tool_pairs else range(len(conversation) + 1)
        conversation = conversation[: _end(conversation, edges, ends)]
    has_head = include_system and bool(conversation) and role_of(conversation[0]) == "system"
    head = conversation[:1] if has_head else []
    window = _Window(conversation[len(head) :], last, keep_tool_pairs)
    if counter is None:
        window.shrink(limit)
    else:
        if head and (size := counter(head)) > limit:
            raise InvalidInput(
                f"the system message alone takes {size} tokens, more than max_tokens={limit}; "
                "shorten it, raise the limit, or leave it out with include_system=False"
            )
        split = getattr(text_splitter, "split_text", text_splitter) or _lines
        window.fit(lambda part: counter([*head, *part]) <= limit, split if allow_partial else None)
    if starts:
        window.start_on(starts)
    if ends and not last:
        window.end_on(ends)
    return [*head, *window.messages()]


def _limit(
    max_tokens: int | None, token_counter: TokenCounter | None, max_messages: int | None, allow_partial: bool
) -> tuple[int, ListCounter | None]:
    """Return the limit and what counts tokens, None where messages are to be counted."""
    limit = max_tokens if max_messages is None else max_messages
    if limit is None or (max_tokens is not None and max_messages is not None):
        raise InvalidInput("pass max_tokens, with a token_counter, or max_messages: one of the two")
    name = "max_tokens" if max_messages is None else "max_messages"
    if limit < 0:
        raise InvalidInput(f"{name} is {limit}; it is 0 or more")
    if max_messages is None:
        if token_counter is None:
            raise InvalidInput("max_tokens needs a token_counter: a function, a model, len, or 'approximate'")
        return limit, list_counter(token_counter)
    if token_counter is not None or allow_partial:
        other = "allow_partial" if token_counter is None else "token_counter"
        raise InvalidInput(f"{other} goes with max_tokens; max_messages counts whole messages")
    return limit, None


def _end(messages: Sequence[BaseMessage], edges: Sequence[int], is_end: Callable[[BaseMessage], bool]) -> int:
    """Return the last of ``edges`` that comes after a message which is an end; 0: none does."""
    return next((edge for edge in reversed(edges) if edge and is_end(messages[edge - 1])), 0)


class _Window:
    """One end of a conversation: what comes after the cut, or before; and perhaps a piece of the message beyond."""

    def __init__(self, messages: list[BaseMessage], last: bool, keep_tool_pairs: bool) -> None:
        self._all = messages
        self._last = last
        self._pairs = keep_tool_pairs
        self._cut = 0 if last else len(messages)
        self._piece: list[BaseMessage] = []

    def messages(self) -> list[BaseMessage]:
        """Return what is kept."""
        return [*self._piece, *self._all[self._cut :]] if self._last else [*self._all[: self._cut], *self._piece]

    def shrink(self, count: int) -> None:
        """Keep ``count`` messages, or fewer: whole turns."""
        if count < len(self._all):
            self._cut = len(self._all) - count if self._last else count
            self._cut = self._edges()[0 if self._last else -1]

    def fit(self, fits: Callable[[list[BaseMessage]], bool], split: Splitter | None = None) -> None:
        """Keep as many messages as ``fits``, in whole turns; with ``split``, and as much of the next as does."""
        count = find_largest(
            lambda count: fits(self._all[len(self._all) - count :] if self._last else self._all[:count]), len(self._all)
        )
        self.shrink(count)
        kept = len(self._all) - self._cut if self._last else self._cut
        if split is None or kept < count or count == len(self._all):
            return
        beyond = self._all[self._cut - 1 if self._last else self._cut]
        if self._pairs and (role_of(beyond) == "tool" or calls_of(beyond)):
            return

        def fits_with(piece: BaseMessage) -> bool:
            self._piece = [piece]
            return fits(self.messages())

        piece = _shorten(beyond, self._last, fits_with, split)
        self._piece = [] if piece is None or is_empty(piece) else [piece]

    def start_on(self, is_start: Callable[[BaseMessage], bool]) -> None:
        """Drop what comes before the first turn that begins with a start."""
        if not (self._piece and is_start(self._piece[0])):
            self._piece = []
            edges = self._edges()
            self._cut = next((edge for edge in edges[:-1] if is_start(self._all[edge])), edges[-1])

    def end_on(self, is_end: Callable[[BaseMessage], bool]) -> None:
        """Drop what comes after the last turn that ends with an end."""
        if not (self._piece and is_end(self._piece[0])):
            self._piece = []
            self._cut = _end(self._all, self._edges(), is_end)

    def _edges(self) -> Sequence[int]:
        """Where what is kept may be cut."""
        if self._pairs:
            return whole_turns(self._all, self._cut, self._last)
        return range(self._cut, len(self._all) + 1) if self._last else range(self._cut + 1)


def _shorten(
    message: BaseMessage, last: bool, fits: Callable[[BaseMessage], bool], split: Splitter
) -> BaseMessage | None:
    """Return ``message`` with as much of one end of its content as ``fits``; None: not even a piece does."""
    content = message.content
    text: str | None = content if isinstance(content, str) else None
    if content and not isinstance(content, str):
        blocks = content
        piece = _piece(message, lambda count: blocks[len(blocks) - count :] if last else blocks[:count])
        if count := find_largest(lambda count: fits(piece(count)), len(blocks) - 1):
            return piece(count)
        outermost = blocks[-1 if last else 0]
        if isinstance(outermost, str):
            text = outermost
        elif outermost.get("type") == "text":
            text = text_at(outermost, "text")
    if not text:
        return None
    texts = split(text)
    piece = _piece(message, lambda count: "".join(texts[len(texts) - count :] if last else texts[:count]))
    count = find_largest(lambda count: fits(piece(count)), len(texts))
    return piece(count) if count else None


def _piece(message: BaseMessage, content: Callable[[int], Content]) -> Callable[[int], BaseMessage]:
    return lambda count: copy_message(message, content=copy_containers(content(count)))


def _lines(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)
