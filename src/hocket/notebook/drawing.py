"""A stream, shown as it comes: in the output of a notebook's cell, which is drawn again, or else on standard output.

IPython is not imported: where a notebook runs, it has been.
"""

import sys
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Generator, Iterable, Mapping
from typing import Any, Protocol, cast

import anyio
from pydantic import BaseModel

from hocket._runtime import clock
from hocket._runtime.mode import ASYNC
from hocket._runtime.stream import Stream, SyncStream
from hocket.errors import InvalidInput
from hocket.messages import BaseMessage
from hocket.messages.html import load_markdown
from hocket.notebook.view import StreamView
from hocket.runnables import Runnable

__all__ = ["Cell", "Output", "Terminal", "ashow", "find_output", "show"]


async def ashow(stream: AsyncIterable[object]) -> None:
    """Show a stream as it comes, in the output of a notebook's cell; outside of a notebook it is printed.

        await ashow(model.astream("Why is the sky blue?"))

    An answer is rendered as Markdown with ``pip install 'hocket[notebook]'``. No markup, image or script of a model's gets
    into the page. If the stream fails, or the cell is interrupted, what has come stays, and the stream is closed.

    Args:
        stream: what an ``astream`` returns, of a model, a chain, a conversation or an agent; or any async iterable of
            texts, messages or other objects.

    Raises:
        InvalidInput: it is none.
        Exception: what the stream raises.
    """
    if not isinstance(stream, AsyncIterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
        raise InvalidInput(f"ashow takes what astream returns, not {type(stream).__name__}{_advise(stream)}")
    await ASYNC.call_sync(load_markdown)
    drawing = _Drawing()
    items = aiter(stream)
    try:
        while True:
            if isinstance(items, Stream) and drawing.is_late and not await items.wait(drawing.pause):
                drawing.draw()
            drawing.add(await anext(items))
    except StopAsyncIteration:
        drawing.end()
    except BaseException as error:
        drawing.end(error)
        raise
    finally:
        if isinstance(items, Stream | AsyncGenerator):
            with anyio.CancelScope(shield=True):
                await items.aclose()


def show(stream: Iterable[object]) -> None:
    """Show a stream as it comes: `ashow` for what ``stream`` returns.

    Raises:
        InvalidInput: it is no iterable.
        Exception: what the stream raises.
    """
    if not _is_stream(stream):
        raise InvalidInput(f"show takes what stream returns, not {type(stream).__name__}{_advise(stream)}")
    drawing = _Drawing()
    items = iter(stream)
    try:
        for item in items:
            drawing.add(item)
        drawing.end()
    except BaseException as error:
        drawing.end(error)
        raise
    finally:
        if isinstance(items, SyncStream | Generator):
            items.close()


_ONE_VALUE = (str, bytes, Mapping, BaseModel)
"""What can be iterated over, and is no stream: of a message the pairs of field and value would be shown."""


def _advise(given: object) -> str:
    """Return what to write instead of a value that is no stream."""
    if isinstance(given, AsyncIterable):
        return ": await ashow(...) is for what astream returns"
    if isinstance(given, BaseMessage):
        return ": it shows itself as the last line of a cell"
    if isinstance(given, Runnable):
        return ": give its stream, await ashow(model.astream(...)) or show(model.stream(...))"
    return ": show(...) is for what stream returns" if _is_stream(given) else ""


def _is_stream(given: object) -> bool:
    return isinstance(given, Iterable) and not isinstance(given, _ONE_VALUE)


class _Drawing:
    """A view, and when it was last drawn."""

    def __init__(self) -> None:
        self._view = StreamView()
        self._output = find_output()
        self._told: list[str] = []
        self._drawn_at = clock.current().now() - self._output.pause
        self.is_late = False
        """Whether something has come that is not drawn yet."""

    @property
    def pause(self) -> float:
        """Seconds until it may be drawn again."""
        return max(0.0, self._drawn_at + self._output.pause - clock.current().now())

    def add(self, item: object) -> None:
        self._told.append(self._view.add(item))
        self.is_late = True
        if not self.pause:
            self.draw()

    def draw(self) -> None:
        told, self._told = "".join(self._told), []
        self._output.update(self._view, told)
        self._drawn_at = clock.current().now()
        self.is_late = False

    def end(self, failure: BaseException | None = None) -> None:
        self._told.append(self._view.end(failure))
        self.draw()


class Output(Protocol):
    """Where a stream is shown.

    Attributes:
        pause: seconds between two updates.
    """

    pause: float

    def update(self, view: StreamView, told: str) -> None:
        """Show what has come: all of it is in the view, and what is new, as a terminal prints it, in ``told``."""
        ...


class Terminal:
    """Standard output."""

    pause: float = 0.0

    def update(self, view: StreamView, told: str) -> None:
        sys.stdout.write(told)
        sys.stdout.flush()


class Cell:
    """The output of a notebook's cell. Each update sends all of an answer: ten in a second are enough."""

    pause: float = 0.1

    def __init__(self, display: Callable[..., Any]) -> None:
        self._display = display
        self._handle: Any = None

    def update(self, view: StreamView, told: str) -> None:
        bundle = {"text/plain": view.text, "text/html": view.html}
        if self._handle is None:
            self._handle = self._display(bundle, raw=True, display_id=True)
        else:
            self._handle.update(bundle, raw=True)


def find_output() -> Output:
    """Return where the caller's output is seen."""
    ipython = cast(Any, sys.modules).get("IPython")
    find_shell = getattr(ipython, "get_ipython", None)  # None also while another thread imports IPython
    shell = None if find_shell is None else find_shell()
    if shell is None or shell.display_pub is None:
        return Terminal()
    # A terminal's publisher is the plain one: it cannot draw again.
    is_plain = type(shell.display_pub) is ipython.core.displaypub.DisplayPublisher
    return Terminal() if is_plain else Cell(ipython.display.display)
