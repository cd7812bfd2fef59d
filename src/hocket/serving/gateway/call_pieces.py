"""Calls of tools that come in pieces, and how much of the arguments of each a client was told."""

from typing import NamedTuple

from hocket._runtime.clock import new_run_id
from hocket.messages import ToolCallChunk
from hocket.messages.folding import ToolCallFold

__all__ = ["CallPiece", "CallPieces", "new_call_id"]


def new_call_id() -> str:
    """Return an id for a call whose model gave it none: the client has to name the call that a result belongs to."""
    return f"call_{new_run_id().hex}"


class CallPiece(NamedTuple):
    """What a piece adds to a call.

    Attributes:
        place: of the call among those of the answer: what a model's server numbers them by is its own affair.
        id, name: of the call, as far as they are known; "": not yet.
        text: the arguments that are new.
        is_first: whether the call begins.
    """

    place: int
    id: str
    name: str
    text: str
    is_first: bool


class CallPieces:
    """The calls of one answer."""

    def __init__(self) -> None:
        self._fold = ToolCallFold()
        self._places: dict[int, int] = {}  # of the calls, which the fold keeps
        self._sent: list[int] = []  # characters of the arguments of each

    def __len__(self) -> int:
        return len(self._sent)

    def add(self, chunk: ToolCallChunk) -> CallPiece:
        """Add a piece."""
        call = self._fold.add(chunk)
        place = self._places.setdefault(id(call), len(self._places))
        is_first = place == len(self._sent)
        if is_first:
            self._sent.append(0)
        # Some servers send a finished call once more.
        text = call.text()[self._sent[place] :] if chunk["name"] and not is_first else chunk["args"] or ""
        self._sent[place] += len(text)
        return CallPiece(place, call.id or "", call.name or "", text, is_first)

    def list_empty(self) -> list[int]:
        """Return the places of calls of whose arguments nothing was told."""
        return [place for place, size in enumerate(self._sent) if size == 0]

    def is_whole(self, place: int) -> bool:
        """Whether the arguments of a call are complete, so that nothing can follow."""
        return self._fold.calls[place].is_whole()
