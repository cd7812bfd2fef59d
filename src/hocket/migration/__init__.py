"""Programs that were written for LangChain, moved over: the table of names, and what rewrites a program by it.

`hocket migrate` is this room's command. It needs the extra ``migrate``; the table alone does not.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.migration.programs import migrate_program

_LATER = {"programs": "migrate_program"}

__all__ = ["migrate_program"]

__getattr__: Loader = loader(__name__, _LATER)
