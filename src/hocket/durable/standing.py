"""How a run stands, and what it was told, as data."""

from collections.abc import Sequence
from typing import NamedTuple, TypedDict

from hocket.agents.approval import Rerun

__all__ = ["Signal", "Standing", "Waiting"]


class Waiting(TypedDict, total=False):
    """What a run waits for: one of these.

    Attributes:
        call: the id of an agent's call, of the agent that keeps its messages in ``session``.
        signal: a name.
        sleep: until when, in seconds since 1970.
    """

    call: str
    session: str
    signal: str
    sleep: float


class Standing(NamedTuple):
    """How a run stands.

    Attributes:
        attempts: how often its execution has begun.
        waiting: what it waits for.
        rerun: "always": steps whose end nobody saw are made again.
        version: to which it was moved; None: that with which it was started.
    """

    attempts: int = 0
    waiting: Sequence[Waiting] = ()
    rerun: Rerun = "idempotent"
    version: str | None = None


class Signal(NamedTuple):
    """Something that a run was told; ``call``: which call of an agent it decides; None: none."""

    id: int
    run: str
    name: str
    value: str
    call: str | None = None
