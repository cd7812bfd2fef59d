"""Tool calls out of their fragments, parallel ones kept apart.

Servers exist that number every call 0, that send no index or no id, that repeat id and name in each fragment, and that
send a finished call once more. The rules below keep calls apart under all of these. They look at nothing but what the
calls say so far, so that folding may stop, show its result and go on from there.
"""

from pydantic_core import from_json

from hocket.messages.content import Fields, FieldsView
from hocket.messages.pieces import Deltas

__all__ = ["ToolCallFold"]


class _Call:
    """One call so far; ``args`` are the pieces of its arguments."""

    __slots__ = ("args", "extras", "id", "index", "name")

    def __init__(self) -> None:
        self.index: int | str | None = None
        self.id: str | None = None
        self.name: str | None = None
        self.args: list[str] | None = None
        self.extras: Deltas | None = None

    def text(self) -> str:
        """Return the arguments so far."""
        if not self.args:
            return ""
        if len(self.args) > 1:
            self.args[:] = ["".join(self.args)]
        return self.args[0]

    def is_whole(self) -> bool:
        """Whether the arguments are a JSON object, so that nothing can follow."""
        last = next((piece for piece in reversed(self.args or ()) if piece and not piece.isspace()), "")
        if not last.rstrip().endswith("}"):
            return False
        try:
            from_json(self.text())
        except ValueError:
            return False
        return True

    def value(self) -> Fields:
        """Return the call as one chunk."""
        args = None if self.args is None else self.text()
        made = {"name": self.name, "args": args, "id": self.id, "index": self.index, "type": "tool_call_chunk"}
        return made if self.extras is None else {**made, "extras": self.extras.value()}


class ToolCallFold:
    """The tool calls of one reply.

    A fragment continues the latest call of its ``index``; without an index, the call with its ``id``; with neither and
    no name, the latest call of all. It starts a call when its id differs from the one that call has, or when it names a
    tool although that call has a name and arguments already: unless it repeats the id, or the name while the arguments
    are unfinished.
    """

    __slots__ = ("calls", "known")

    def __init__(self) -> None:
        self.calls: list[_Call] = []
        self.known: dict[object, _Call] = {}
        """The latest call of each index, and of each pair of index and id."""

    def add(self, chunk: FieldsView) -> _Call:
        """Add one fragment, a tool call chunk, and return the call that it belongs to."""
        index, id_, name, args = chunk.get("index"), chunk.get("id"), chunk.get("name"), chunk.get("args")
        is_bare = index is not None and not id_ and not name  # most fragments are
        call = self.known.get(index) if is_bare else self._find_continued(index, id_, name)
        if call is None:
            call = self._start(index, id_)
        elif (id_ and not call.id) or (index is not None and call.index is None):
            self._identify(call, index, id_)
        if args is not None:
            if call.args is None:
                call.args = []
            if args and not (name and call.is_whole() and args == call.text()):  # else the whole call once more
                call.args.append(args)
        if name is not None and name != call.name:
            call.name = (call.name or "") + name
        if extras := chunk.get("extras"):
            if call.extras is None:
                call.extras = Deltas({})
            call.extras.add(extras)
        return call

    def _find_continued(self, index: int | str | None, id_: str | None, name: str | None) -> _Call | None:
        """The call that a fragment goes on with; None: it starts one."""
        if id_:
            call = self.known.get((index, id_)) or self._of_id(id_, any_index=index is None)
            if call is not None or index is None:
                return call
            call = self.known.get(index)
            if call is not None and call.id:
                return None
        elif index is not None:
            call = self.known.get(index)
        else:
            call = self.calls[-1] if self.calls and not name else None
        if call is not None and name and call.name and call.args and (name != call.name or call.is_whole()):
            return None
        return call

    def _of_id(self, id_: str, *, any_index: bool) -> _Call | None:
        calls = reversed(self.calls)
        return next((call for call in calls if call.id == id_ and (any_index or call.index is None)), None)

    def _start(self, index: int | str | None, id_: str | None) -> _Call:
        call = _Call()
        self.calls.append(call)
        if index is not None:
            self.known.pop(index, None)
        self._identify(call, index, id_)
        return call

    def _identify(self, call: _Call, index: int | str | None, id_: str | None) -> None:
        """Note what a fragment says of the call's identity, unless it is another call's."""
        call.id = call.id or id_ or None
        if call.index is None and index is not None and index not in self.known:
            call.index = index
            self.known[index] = call
        if call.index is not None and call.id:
            self.known[call.index, call.id] = call

    def value(self) -> list[Fields]:
        """Return the calls so far as tool call chunks, each with all of its arguments so far."""
        return [call.value() for call in self.calls]
