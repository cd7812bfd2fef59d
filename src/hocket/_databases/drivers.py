"""When the packages that speak to databases are imported.

To import one takes a tenth of a second and more, for which all tasks of a running loop would stand still. A store that is
made inside a loop is therefore opened at its first use, in a thread; one that is made anywhere else, where it is made, so
that an address that cannot be used is told there.
"""

import sys
from importlib.util import find_spec

from hocket._runtime.portal import holds_up_a_loop

__all__ = ["may_open_here"]

_PACKAGES = {"redis": "redis", "postgres": "psycopg"}


def may_open_here(kind: str) -> bool:
    """Whether opening a database of this kind (`hocket._databases.urls.DatabaseAddress`) keeps no running loop waiting.

    It does not either where the package is missing, which is then told at once.
    """
    package = _PACKAGES.get(kind)
    if package is None or f"{__package__}.{kind}" in sys.modules:
        return True
    return not holds_up_a_loop() or find_spec(package) is None
