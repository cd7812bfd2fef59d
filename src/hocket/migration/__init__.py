"""Programs that were written for LangChain, moved over: the table of names, and what rewrites a program by it.

`hocket migrate` is this room's command. It needs the extra ``migrate``; the table alone does not.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader
from hocket.migration.table import Absence, Place, find_module, find_place

if TYPE_CHECKING:
    from hocket.migration.programs import Program, list_programs, migrate_program
    from hocket.migration.rewrite import rewrite_program

_LATER = {
    "programs": "Program list_programs migrate_program",
    "rewrite": "rewrite_program",
}

__all__ = [
    "Absence",
    "Place",
    "Program",
    "find_module",
    "find_place",
    "list_programs",
    "migrate_program",
    "rewrite_program",
]

__getattr__: Loader = loader(__name__, _LATER)
