"""Where a stream is shown: in the output of a notebook's cell, which is drawn anew, or else on standard output.

IPython is not imported: where a notebook runs, it has been.
"""

import sys
from collections.abc import Callable
from typing import Any, Protocol, cast

from hocket.notebook.view import StreamView

__all__ = ["Cell", "Output", "Terminal", "find_output"]


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
    # A terminal's publisher is the plain one: it cannot draw anew.
    is_plain = type(shell.display_pub) is ipython.core.displaypub.DisplayPublisher
    return Terminal() if is_plain else Cell(ipython.display.display)
