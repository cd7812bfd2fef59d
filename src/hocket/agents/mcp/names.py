"""Names of a server's tools as providers take them: MCP allows 128 characters, and dots.

A name that fits stays. Others get an underscore for each character that does not fit, and are cut. Where that makes two
names one, both get the beginning of their hash: what a tool is called must not depend on the order of the list, for a
conversation that goes on tomorrow holds calls by name.
"""

import hashlib
import re
from collections import Counter
from collections.abc import Iterable

__all__ = ["LONGEST_TOOL_NAME", "assign_names"]

LONGEST_TOOL_NAME = 64
"""Characters that a tool's name may have; providers take no more."""

_HASH = 8


def assign_names(names: Iterable[str], prefix: str = "") -> dict[str, str]:
    """Return a name for each of a server's tools, by the server's name: different ones, of at most 64 characters.

    Args:
        names: the server's; different ones.
        prefix: goes before each.
    """
    cleaned = {name: prefix + (re.sub(r"[^A-Za-z0-9_-]", "_", name) or "tool") for name in names}
    cut = {name: made[:LONGEST_TOOL_NAME] for name, made in cleaned.items()}
    counts = Counter(cut.values())
    assigned: dict[str, str] = {}
    for name, made in cut.items():
        is_own = made == prefix + name
        assigned[name] = made if counts[made] == 1 or is_own else _add_hash(made, name)
    return assigned


def _add_hash(made: str, name: str) -> str:
    digest = hashlib.sha256(name.encode("utf-8", "surrogatepass")).hexdigest()[:_HASH]
    return f"{made[: LONGEST_TOOL_NAME - _HASH - 1]}_{digest}"
