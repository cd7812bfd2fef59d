"""Results that are too long for the model, kept whole in a store, where the model can read on.

The model sees the beginning of such a result, and an id. The id is a hash of the call and the text, so the same result has
the same id in the next run of the conversation, and the prompt stays as it was. An id is no secret, so it opens nothing by
itself: what is read are those that stand in this conversation.
"""

import logging
from collections.abc import Iterable, Iterator, Sequence
from typing import Annotated

from hocket._pipeline.cache_key import hash_bytes
from hocket.errors import ToolException
from hocket.errors.hints import excerpt
from hocket.messages import BaseMessage, ToolMessage
from hocket.stores import BaseStore
from hocket.tools import InjectedToolArg, tool
from hocket.tools.result_messages import add_note, cut_content, cut_result

__all__ = ["INJECTED", "OFFLOADED", "Offload", "read_result"]

OFFLOADED = "offloaded"
"""Under this key of ``response_metadata`` a result has the id under which it is kept whole."""

INJECTED = "kept_results"
"""The name of `read_result`'s argument that a run injects: its `Offload`."""

_log = logging.getLogger("hocket.agents")

_CHARS = 50_000  # of an answer, where the agent has no limit
_LINE = 400  # characters of a line that are shown
_ID_DIGITS = 20


class Offload:
    """The results of one run that are kept whole. ``result_chars`` is what one may have, and what is read of it at once."""

    def __init__(self, store: BaseStore[str, str], result_chars: int | None) -> None:
        self._store = store
        self._chars = result_chars
        self._ids: set[str] = set()
        self._unsaved: dict[str, str] = {}
        self._has_failed = False

    def allow(self, messages: Iterable[BaseMessage]) -> None:
        """Let what ``messages``, of the conversation, have ids of be read."""
        self._ids.update(id for message in messages if (id := _find_id(message)))

    async def fit(self, message: ToolMessage) -> ToolMessage:
        """Return a result as the model is shown it. What is left out is kept, unless the store fails."""
        if self._chars is None or message.name == read_result.name:  # which has fitted itself
            return message
        short = self.cut(message, self._chars)
        return short if await self.save([short]) else cut_result(message, self._chars)

    def cut(self, message: ToolMessage, limit: int) -> ToolMessage:
        """Return a result of at most ``limit`` characters of text, with a note that has the id of the whole one.

        The text is not in the store before `save`. What `read_result` has read is cut, and not kept again.
        """
        content, missing = cut_content(message.content, limit)
        if not missing:
            return message
        if message.name == read_result.name:
            return cut_result(message, limit)
        id = _find_id(message)
        if id is None:
            whole = message.text
            id = hash_bytes(f"{message.tool_call_id}\n{whole}".encode("utf-8", "surrogatepass"))[:_ID_DIGITS]
            if id not in self._ids:
                self._unsaved[id] = whole
        note = f"\n[Cut here. {read_result.name}(id={id!r}, start={limit}) reads on, find='...' searches.]"
        return add_note(message, note, content=content, **{OFFLOADED: id})

    def cut_old(self, message: ToolMessage, limit: int) -> ToolMessage:
        """Do as `cut`, with a quarter of the characters: what is kept whole need not show as much of itself."""
        return self.cut(message, limit // 4)

    async def save(self, messages: Sequence[BaseMessage]) -> bool:
        """Keep what was cut of ``messages``, and return whether it is kept."""
        unsaved = {id: self._unsaved.pop(id) for message in messages if (id := _find_id(message)) in self._unsaved}
        if unsaved:
            try:
                await self._store.amset([*unsaved.items()])
            except Exception as error:
                if not self._has_failed:
                    _log.warning("results that are too long cannot be kept, and are cut: %s", type(error).__name__)
                self._has_failed = True
                return False
            self._ids |= unsaved.keys()
        return True

    async def read(self, id: str, start: int, find: str | None) -> str:
        """Return a part of a result, or the lines that have a text; see `read_result`. The model is told what it raises."""
        if id not in self._ids:
            raise ToolException(f"the id {excerpt(id)} is unknown; ids are in the notes of results that were cut")
        try:
            [whole] = await self._store.amget([id])
        except Exception as error:
            raise ToolException(
                f"the result {id} cannot be read now ({type(error).__name__}); try again later"
            ) from error
        if whole is None:
            raise ToolException(f"the result {id} is gone: it is kept no longer. Make its call again if you need it")
        most, start = self._chars or _CHARS, min(max(0, start), len(whole))
        if find:
            return (
                _join_lines(_find_lines(whole, find, start), most) or f"No line from character {start} on has {find!r}."
            )
        end = min(len(whole), start + most)
        return f"[characters {start} to {end} of {len(whole)}]\n{whole[start:end]}"


@tool
async def read_result(
    id: str,
    start: int = 0,
    find: str | None = None,
    *,
    kept_results: Annotated[Offload, InjectedToolArg],
) -> str:
    """Read on in a result that was cut.

    Args:
        id: from the note at the end of the result.
        start: the character to begin at.
        find: a text; only the lines that have it are shown, whatever its case.
    """
    return await kept_results.read(id, start, find)


def _find_id(message: BaseMessage) -> str | None:
    id: object = message.response_metadata.get(OFFLOADED)
    return id if isinstance(id, str) and isinstance(message, ToolMessage) else None


def _find_lines(whole: str, find: str, start: int) -> Iterator[str]:
    """Yield the lines behind ``start`` that have a text, numbered; of a long one what stands around the text."""
    needle, begin = find.lower(), 0
    for number, line in enumerate(whole.splitlines(keepends=True), 1):
        at = line.lower().find(needle, max(0, start - begin))
        if at >= 0 and len(line) <= _LINE:
            yield f"{number}: {line.rstrip()}"
        elif at >= 0:
            yield f"{number}, character {begin + at}: …{line[max(0, at - _LINE // 4) : at + _LINE * 3 // 4].rstrip()}…"
        begin += len(line)


def _join_lines(lines: Iterator[str], most: int) -> str:
    """Return lines as one text of about ``most`` characters, with a note if there are more."""
    shown: list[str] = []
    for line in lines:
        if shown and sum(map(len, shown)) + len(line) > most:
            shown.append("[There are more lines; look for less, or begin further on with start.]")
            break
        shown.append(line)
    return "\n".join(shown)
