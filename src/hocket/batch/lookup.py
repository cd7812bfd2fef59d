"""Is there a batch already? Asked where it is not known whether one was made: a reply was lost, or a process was killed."""

import logging
from collections.abc import Awaitable, Callable
from contextlib import aclosing
from functools import partial
from typing import TypeVar

from pydantic_core import from_json

from hocket._runtime import clock
from hocket.batch.entry import BatchEntry
from hocket.batch.journal import BatchJournal
from hocket.batch.patience import Patience, may_pass
from hocket.errors import LLMError, Unsupported
from hocket.remote.batch_api import BatchState
from hocket.remote.batch_client import BatchClient

__all__ = ["explain_refusal", "find_batch", "is_refused"]

T = TypeVar("T")

LISTS_LAG = 60.0
"""Seconds after which a batch is in its provider's list, and between two looks at one that is under way."""

LONGEST_REQUEST = 1200.0
"""Seconds after which a batch must have been made, if it was, by a run that may have been killed meanwhile."""

LONGEST_SKEW = 3600.0
"""Seconds by which a provider's clock may be behind ours."""

NAMELESS_SKEW = 300.0
"""The same, where each batch of that time has to be looked into."""

_log = logging.getLogger("hocket.batch")


async def find_batch(
    client: BatchClient, entry: BatchEntry, journal: BatchJournal, patience: Patience
) -> BatchState | None:
    """Return the state of a batch that its provider has; None: it has none, also when its lists must have it.

    Args:
        client: asks the provider.
        entry: of the batch.
        journal: of the file that it is for, which knows the other batches.
        patience: how long is waited.

    Raises:
        NotNow: the time to wait is over first.
        LLMError: the provider failed or refused.
    """
    began_at = clock.current().time()
    state = await _look(client, entry, journal, patience)
    left = min(began_at, entry.sent_at + LONGEST_REQUEST) + LISTS_LAG - clock.current().time()
    if state is None and left > 0:
        await patience.pause(left)
        state = await _look(client, entry, journal, patience)
    return state


async def _look(client: BatchClient, entry: BatchEntry, journal: BatchJournal, patience: Patience) -> BatchState | None:
    states = await _ask(patience, lambda: client.list(entry.at - LONGEST_SKEW))
    ours = [state for state in reversed(states) if state.key == entry.key]  # the elder first, within a second, too
    ours.sort(key=lambda state: state.created_at)
    for other in ours[1:]:
        _log.warning("there are two batches %s; %s is cancelled, and may have to be paid", entry.key, other.id)
        await client.cancel(other.id)
    return ours[0] if ours else await _find_nameless(client, entry, journal, states, patience)


async def _find_nameless(
    client: BatchClient,
    entry: BatchEntry,
    journal: BatchJournal,
    states: list[BatchState],
    patience: Patience,
) -> BatchState | None:
    """Look into each batch that may be it: the lines of its results say whose it is, so it has to end first.

    Also where servers repeat keys: one that speaks another's format may keep none.
    """
    count = len(entry.numbers)
    for found in states:
        if found.key is not None or found.created_at < entry.at - NAMELESS_SKEW or found.id in journal.batch_ids:
            continue
        state = found
        while state.state == "running" and state.total in (0, count):
            await patience.pause(LISTS_LAG)
            state = await _ask(patience, partial(client.get, state.id))
        for place in state.results if state.total in (0, count) else ():
            if await _ask(patience, partial(_read_key, client, place)) == entry.key:
                return state
    return None


async def _read_key(client: BatchClient, place: str) -> str | None:
    """Return the key in the first line of results; None: they have none, or are gone."""
    try:
        async with aclosing(client.fetch(place)) as lines:
            async for line in lines:
                id, _ = client.api.read_line(from_json(line) if isinstance(line, bytes) else line)
                return id.rpartition("-")[0]
    except LLMError as error:
        if error.status != 404:
            raise
    except (ValueError, TypeError, KeyError, AttributeError):
        pass
    return None


async def _ask(patience: Patience, ask: Callable[[], Awaitable[T]]) -> T:
    """Return an answer, asked for again each minute while it fails of what may pass."""
    while True:
        try:
            return await ask()
        except LLMError as error:
            if not may_pass(error):
                raise
        await patience.pause(LISTS_LAG)


def is_refused(error: LLMError) -> bool:
    """Whether a provider has certainly not taken what it was sent."""
    return not error.was_sent or (
        error.status is not None and 400 <= error.status < 500 and error.status not in (408, 409, 429)
    )


def explain_refusal(error: LLMError) -> LLMError:
    """Return the error of a batch that a provider has refused, which says it where there are none."""
    if error.status not in (404, 405):
        return error
    return Unsupported(
        f"the server knows no batches ({error}); leave via out: rows are then asked live", provider=error.provider
    )
