"""What is shown of a stream: as HTML in a notebook, and as text elsewhere."""

from typing import Any

from hocket.agents.events import AgentEvent, PausedEvent, ToolEndEvent, ToolStartEvent
from hocket.messages import AIMessage, BaseMessage, BaseMessageChunk
from hocket.messages.html import shorten_text, write_box, write_message, write_text

__all__ = ["StreamView"]

LONGEST_STEP = 500
"""Characters of a tool's arguments or result that are shown: what it has read is often a whole page."""


class _Text:
    """Pieces of a text."""

    def __init__(self, piece: str) -> None:
        self.pieces = [piece]

    def __str__(self) -> str:
        return "".join(self.pieces)


class _Step(str):
    """What an agent does: a line."""


class _Latest:
    """An item that stands for those before it."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __str__(self) -> str:
        return repr(self.value)


_Part = BaseMessage | _Text | _Step | _Latest


class StreamView:
    """The items of a stream, one behind the other: texts and pieces of messages are joined.

    What an agent does with tools is told in lines. Of other items, such as an object that grows, the last is shown.
    """

    def __init__(self) -> None:
        self._parts: list[_Part] = []
        self._failure = ""

    def add(self, item: object) -> str:
        """Take an item, and return what a terminal prints of it, where nothing can be drawn over."""
        if isinstance(item, str):
            return self._add_text(item)
        if isinstance(item, BaseMessage):
            return self._add_message(item)
        if isinstance(item, AgentEvent):
            return self._add_event(item)
        self._add_value(item)
        return ""

    def end(self, failure: BaseException | None = None) -> str:
        """Take note of the end, and return what a terminal prints at it."""
        if isinstance(failure, Exception):
            self._failure = f"It broke off here: {type(failure).__name__}"
        elif failure is not None:  # cancelled, or Ctrl-C
            self._failure = "It was interrupted here."
        last = str(self._parts[-1]) if self._parts and isinstance(self._parts[-1], _Latest) else ""
        return f"{last}\n{self._failure}".rstrip("\n") + "\n"

    @property
    def html(self) -> str:
        """All of it, as HTML."""
        inside = "".join(map(_write, self._parts, [*self._parts[1:], None]))
        return inside + (write_box(write_text(self._failure), "#ef4444") if self._failure else "")

    @property
    def text(self) -> str:
        """All of it, as a text."""
        told = [part.text if isinstance(part, BaseMessage) else str(part) for part in self._parts]
        return "\n".join(one for one in (*told, self._failure) if one)

    def _add_text(self, text: str) -> str:
        last = self._parts[-1] if self._parts else None
        if isinstance(last, _Text):
            last.pieces.append(text)
        else:
            self._parts.append(_Text(text))
        return text

    def _add_message(self, message: BaseMessage) -> str:
        last: Any = self._parts[-1] if self._parts else None
        if isinstance(message, BaseMessageChunk) and isinstance(last, type(message)):
            self._parts[-1] = last + message
        else:
            self._parts.append(message)
        return message.text

    def _add_event(self, event: AgentEvent) -> str:
        if event.kind == "chunk":
            return self._add_message(event.chunk)
        if event.kind == "unreadable":
            return self._add_step(_Step(f"✗ a reply could not be read: {event.feedback}"))
        if event.kind == "end":
            if not isinstance(event.result.output, str):
                self._add_value(event.result.output)
        elif event.kind != "message":
            if self._parts and _is_call(self._parts[-1]):
                self._parts.pop()  # the line tells it
            return self._add_step(_describe_step(event))
        return ""

    def _add_step(self, step: _Step) -> str:
        self._parts.append(step)
        return f"\n{step}\n"

    def _add_value(self, value: object) -> None:
        if self._parts and isinstance(self._parts[-1], _Latest):
            self._parts.pop()
        self._parts.append(_Latest(value))


def _write(part: _Part, following: _Part | None) -> str:
    if isinstance(part, BaseMessage):
        return write_message(part, with_calls=not isinstance(following, _Step))  # the steps tell them
    return write_box(write_text(str(part), is_markdown=isinstance(part, _Text)))


def _is_call(part: _Part) -> bool:
    """Whether a part of an answer is calls of tools, and no word."""
    return isinstance(part, AIMessage) and not part.text and bool(part.tool_calls)


def _describe_step(event: ToolStartEvent | ToolEndEvent | PausedEvent) -> _Step:
    name = event.call["name"]
    if event.kind == "tool_end":
        return _Step(f"← {name}: {shorten_text(event.result.text, LONGEST_STEP)}")
    mark = "→ waits for a decision:" if event.kind == "paused" else "→"
    return _Step(f"{mark} {name}({shorten_text(str(event.call['args']), LONGEST_STEP)})")
