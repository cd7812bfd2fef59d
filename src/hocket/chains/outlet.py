"""Where a chain puts those of its outputs that come piece by piece."""

import functools
from collections.abc import Awaitable, Mapping

from hocket._runtime.sinks import MappingSink, Sink
from hocket.messages.content import Fields
from hocket.runnables.folding import AddableDict
from hocket.runnables.stage import put_one

__all__ = ["Outlet"]


class Outlet:
    """The stream of a chain's outputs, or nothing where nobody reads along.

    Args:
        sink: takes mappings that add up to the output; None: there is no stream.
    """

    def __init__(self, sink: Sink[Fields] | None) -> None:
        self.sink = sink
        self.put_keys: set[str] = set()

    def get_sink(self, key: str) -> "Sink[str] | None":
        """Return what takes the text of one output, piece by piece; None if nobody reads along."""
        return None if self.sink is None else MappingSink(self.sink, functools.partial(self._name_text, key))

    def _name_text(self, key: str, text: str) -> Fields:
        self.put_keys.add(key)
        return AddableDict({key: text})

    def put_as(self, piece: Fields, names: Mapping[str, str]) -> Awaitable[None] | None:
        """Put what a piece of another chain's outputs has of ours.

        Args:
            piece: its values by name.
            names: its name of each output → ours.
        """
        ours = AddableDict({names[key]: value for key, value in piece.items() if key in names})
        if self.sink is None or not ours:
            return None
        self.put_keys |= ours.keys()
        return self.sink.put(ours)

    async def put_rest(self, outputs: Fields) -> None:
        """Put those outputs that have not come in pieces."""
        rest = {key: value for key, value in outputs.items() if key not in self.put_keys}
        if self.sink is not None and rest:
            await put_one(self.sink, AddableDict(rest))
