"""What a store has of a live answer: its head, its log, its lease and the mark that it is to stop."""

import hashlib
import json
from dataclasses import asdict, dataclass, replace
from typing import Literal, NamedTuple
from urllib.parse import quote

from hocket._databases.store import Lease
from hocket.serving.page_writer import StreamProtocol

__all__ = ["ENDS", "RUNNING", "Head", "LivePlace", "LiveState", "State"]

LONGEST_KEY = 1_000
"""Bytes of a name in the store; in place of a longer one stands a digest, for PostgreSQL's indexes have an end."""

State = Literal["running", "done", "failed", "stopped", "lost"]
"""How far an answer is; "lost": its process is gone."""

RUNNING = b"r"
"""What a row of a log begins with, before the bytes of an event; of the last row, one of `ENDS`."""

ENDS: dict[State, bytes] = {"done": b"d", "failed": b"f", "stopped": b"s", "lost": b"l"}
"""How the answer ended."""


@dataclass(frozen=True)
class LiveState:
    """How far a live answer is.

    Attributes:
        id: its name.
        state: "running", or how it ended: "done", "failed", "stopped" or "lost", where its process is gone.
        protocol: of its events.
        events: how many are stored. size: in bytes.
        started_at: in seconds since 1970.
    """

    id: str
    state: State
    protocol: StreamProtocol
    events: int
    size: int
    started_at: float


@dataclass(frozen=True)
class Head:
    """The latest answer of an id. ``token`` is its own name, and new for each."""

    token: str
    protocol: StreamProtocol
    started_at: float
    state: State = "running"
    events: int = 0
    size: int = 0

    @property
    def is_running(self) -> bool:
        return self.state == "running"

    @classmethod
    def read(cls, data: bytes | None) -> "Head | None":
        return None if data is None else cls(**json.loads(data))

    def write(self) -> bytes:
        return json.dumps(asdict(self)).encode()

    def end(self, state: State, events: int, size: int) -> "Head":
        return replace(self, state=state, events=events, size=size)


class LivePlace(NamedTuple):
    """Where the answers of an id are in a store. In Redis the braces keep them together."""

    name: str
    id: str

    @property
    def key(self) -> str:
        """Of the head, and of the lease."""
        key = f"{quote(self.name)}:{self.id}"
        if len(data := key.encode()) > LONGEST_KEY:
            key = hashlib.sha256(data).hexdigest()
        return f"live:{{{key}}}"

    def stop_key(self, token: str) -> str:
        """Of the mark that an answer is to stop."""
        return f"{self.key}:stop:{token}"

    def log(self, token: str) -> str:
        """Of the events of an answer."""
        return f"{self.key}:{token}"

    def lease(self, owner: str) -> Lease:
        return Lease(self.key, owner)
