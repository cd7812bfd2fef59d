"""The final answer of an agent that writes text, shown while it comes, by a handler of callbacks.

It needs nothing but the tokens of models, so it serves agents of other makes. It knows an answer by words in front of
it, wherever they stand. A `ReActFormat` reads replies by all of its rules: its ``stream_filter`` knows an answer better.
"""

import inspect
from collections import deque
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any
from uuid import UUID

import anyio

from hocket.callbacks import AsyncCallbackHandler
from hocket.errors import InvalidInput

__all__ = ["FinalAnswerStream"]

_KEYWORDS = ("Final Answer:", "Final:", "AI:")


class FinalAnswerStream(AsyncCallbackHandler):
    """Hands on what a streaming model says behind "Final Answer:", to a function or to ``async for``.

    Each run of a model has its own text: runs at once do not mix in the search, and the answer of each is handed on as
    it comes. Blanks before an answer are left out.

    Args:
        send: is called with each piece of the answer; may be ``async``. Without it, iterate over the handler, once and
            in the loop that the agent runs in: the iteration ends with the outermost run, or with the model's run in
            which an answer began.
        keywords: that stand before an answer, as they are written. Of several that are there the first one counts.

    Raises:
        InvalidInput: there is no keyword, or an empty one.

    Examples:
        >>> import anyio
        >>> from hocket.language_models import FakeListChatModel
        >>> model = FakeListChatModel(responses=["Thought: easy. Final Answer: 84"])
        >>> pieces = []
        >>> async def ask():
        ...     async for _ in model.astream("12 * 7?", config={"callbacks": [FinalAnswerStream(pieces.append)]}):
        ...         pass
        >>> anyio.run(ask)
        >>> "".join(pieces)
        '84'
    """

    def __init__(self, send: Callable[[str], object] | None = None, *, keywords: Sequence[str] = _KEYWORDS) -> None:
        self.keywords: tuple[str, ...] = (keywords,) if isinstance(keywords, str) else tuple(keywords)
        if not self.keywords or not all(self.keywords):
            raise InvalidInput(f"keywords is {keywords!r}; it must hold at least one word, and no empty one")
        self._send = send
        self._searches: dict[UUID, _Search] = {}
        self._pieces: deque[str] = deque()
        self._wake: anyio.Event | None = None
        self._is_over = False

    async def on_llm_new_token(self, token: str, *, run_id: UUID, **kwargs: Any) -> None:
        """Hand on what the token adds to the answer."""
        search = self._searches.setdefault(run_id, _Search(self.keywords))
        piece = search.feed(token)
        if not piece:
            return
        if self._send is None:
            self._pieces.append(piece)
            self._notify()
        elif inspect.isawaitable(result := self._send(piece)):
            await result

    async def on_llm_end(self, *args: Any, **kwargs: Any) -> None:
        """Note that a run of a model is over."""
        self._end(**kwargs)

    async def on_llm_error(self, *args: Any, **kwargs: Any) -> None:
        """Note that a run of a model is over."""
        self._end(**kwargs)

    async def on_chain_end(self, *args: Any, **kwargs: Any) -> None:
        """Note that a run is over."""
        self._end(**kwargs)

    async def on_chain_error(self, *args: Any, **kwargs: Any) -> None:
        """Note that a run is over."""
        self._end(**kwargs)

    def _end(self, *, run_id: UUID, parent_run_id: UUID | None = None, **kwargs: object) -> None:
        search = self._searches.pop(run_id, None)
        if parent_run_id is None or (search is not None and search.has_begun):
            self._is_over = True
            self._notify()

    def _notify(self) -> None:
        if self._wake is not None:
            self._wake.set()

    async def __aiter__(self) -> AsyncIterator[str]:
        """Yield the pieces of the answer as they come."""
        while True:
            while self._pieces:
                yield self._pieces.popleft()
            if self._is_over:
                return
            self._wake = anyio.Event()
            await self._wake.wait()


class _Search:
    """Looks for a keyword in a text that comes in pieces; what follows it is the answer."""

    def __init__(self, keywords: Sequence[str]) -> None:
        self._keywords = keywords
        self._longest = max(map(len, keywords))
        self._tail = ""  # as much as may belong to a keyword
        self._skipped: str | None = None  # blanks that are left out before an answer
        self.has_begun = False

    def feed(self, token: str) -> str:
        """Return what a token adds to the answer."""
        if not self.has_begun:
            text = self._tail + token
            places = [(place, word) for word in self._keywords if (place := text.find(word)) >= 0]
            if not places:
                self._tail = text[1 - self._longest :] if self._longest > 1 else ""
                return ""
            place, word = min(places, key=lambda found: (found[0], -len(found[1])))
            self.has_begun = True
            self._skipped = " \t\r\n" if word.endswith((":", "：")) else " \t\r\n:："
            token = text[place + len(word) :]
        if self._skipped is not None:
            token = token.lstrip(self._skipped)
            self._skipped = None if token else self._skipped
        return token
