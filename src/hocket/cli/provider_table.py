"""The table of ``hocket models``: what can be used now, and what is in the way of the rest, in sixty columns.

What a provider tells about itself, both optional, is asked here only: its factory's ``setup_needed()`` returns None or,
as one line, what has to be done before it can be used; its models' ``alist_models()`` asks the server what it serves.
"""

import contextlib
import enum
import gc
import sys
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from typing import NamedTuple

import anyio

from hocket._runtime.portal import run_in_portal
from hocket.cli.exits import explain, use_command_words
from hocket.cli.output import find_size, squeeze, wrap_line
from hocket.errors import ConnectionFailed, LLMError
from hocket.http.address import parse_url
from hocket.language_models import BaseChatModel
from hocket.language_models.registry import list_providers, load_provider
from hocket.remote.endpoint import is_local

__all__ = ["AskForModels", "list_provider_lines"]

PATIENCE = 5.0  # seconds for a server to answer
NAMED = 3  # models that a row names
WIDTH = 60  # columns, or those of the terminal if it has fewer

AskForModels = Callable[[], Awaitable[Sequence[str]]]
"""Asks a server for the names of its models."""


class _Group(enum.Enum):
    """Whether providers can be used, and if not what would help; by the heading of their rows."""

    READY = "can be used now"
    SERVER = "no server is running"
    KEY = "need a key: `hocket keys set NAME`, or the variable"
    OTHER = "cannot be used yet"


class _State(NamedTuple):
    """Whether a provider can be used, and the text of its row."""

    group: _Group
    text: str


def list_provider_lines() -> Iterator[str]:
    """Yield the lines of the table; servers are asked at once."""
    names = list_providers()
    states: dict[str, _State] = {}

    async def note_state(name: str) -> None:
        states[name] = await _find_state(name)

    async def ask_all() -> None:
        async with anyio.create_task_group() as group:
            for name in names:
                group.start_soon(note_state, name)

    with _pause_collector():
        run_in_portal(ask_all)
    indent = max(map(len, names)) + 4
    columns = min(find_size(sys.stdout).columns, WIDTH)
    before: list[str] = []
    for group in _Group:
        rows = [name for name in names if states[name].group is group]
        if not rows:
            continue
        yield from [*before, *wrap_line(group.value, columns)]
        for name in rows:
            yield from wrap_line(f"  {name:<{indent - 2}}{states[name].text}", columns, indent)
        before = [""]


@contextlib.contextmanager
def _pause_collector() -> Generator[None]:
    """Have the classes of all providers made without a search for garbage among them, an eighth of the command's time."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


async def _find_state(provider: str) -> _State:
    """Return whether a provider can be used, and if not what to do."""
    try:
        factory = load_provider(provider)
        if needed := getattr(factory, "setup_needed", lambda: None)():
            return _explain_needed(needed, getattr(factory, "key_variables", lambda: ())())
        if provider == "fake" or (isinstance(factory, type) and not hasattr(factory, "alist_models")):
            return _State(_Group.READY, "")  # nobody to ask: the first model of a class takes some 20 ms to make
        return await _ask_for_models(factory(model="?"))
    except Exception as error:  # one broken package, or server, does not hide the others
        return _State(_Group.OTHER, explain(error))


def _explain_needed(needed: str, key_variables: Sequence[str]) -> _State:
    if any(name in needed for name in key_variables):
        return _State(_Group.KEY, " or ".join(key_variables))
    return _State(_Group.OTHER, use_command_words(needed))


async def _ask_for_models(model: BaseChatModel) -> _State:
    ask: AskForModels | None = getattr(model, "alist_models", None)
    if ask is None:
        return _State(_Group.READY, "")
    try:
        with anyio.move_on_after(PATIENCE):
            return _State(_Group.READY, _name_few(await ask()))
        return _State(_Group.SERVER, f"its server did not answer within {PATIENCE:g} s")
    except LLMError as error:
        address: str = getattr(model, "base_url", None) or ""
        # else it is another server that is away: one that gives keys
        is_its_own = is_local(address) and str(parse_url(address).origin) in error.message
        if isinstance(error, ConnectionFailed) and is_its_own:
            _, _, way_out = error.message.partition("; is its server running? ")
            return _State(_Group.SERVER, f"{address}; {way_out}" if way_out else address)
        return _State(_Group.OTHER, use_command_words(error.message))


def _name_few(models: Sequence[str]) -> str:
    more = len(models) - NAMED
    return ", ".join([*map(squeeze, models[:NAMED]), *([f"and {more} more"] if more > 0 else [])])
