"""In a notebook: a stream is shown as it comes.

    await ashow(model.astream("Why is the sky blue?"))

Messages, conversations, counted usage and the report of a bulk run show themselves (``_repr_html_``).

- `drawing`: `ashow` and its sync twin.
- `view`: what is shown of a stream.
- `output`: where it is shown: in a cell, or on a terminal.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.notebook.drawing import ashow, show

_HOMES = {"drawing": "ashow show"}

__all__ = ["ashow", "show"]

__getattr__: Loader = loader(__name__, _HOMES)
