"""How much of the code is typed ``Any``."""

import ast
import functools
import re
from pathlib import Path
from typing import NamedTuple

from tests.measures.source import ALL_MODULES, read_nodes, room_of

_ANY = re.compile(r"\bAny\b")


class AnyCount(NamedTuple):
    """The words ``Any`` of some files outside their imports, and their lines that are neither empty nor a comment."""

    words: int
    lines: int

    @property
    def per_thousand(self) -> float:
        """Words in a thousand lines."""
        return self.words / self.lines * 1000 if self.lines else 0.0


def count_any(paths: list[Path]) -> AnyCount:
    """Count in these files; a line of a docstring is a line like any other."""
    words = count = 0
    for path in paths:
        lines = path.read_text().splitlines()
        imports = [node for node in read_nodes(path) if isinstance(node, ast.Import | ast.ImportFrom)]
        left_out = {line for node in imports for line in range(node.lineno, (node.end_lineno or 0) + 1)}
        count += sum(bool(line.strip()) and not line.lstrip().startswith("#") for line in lines)
        words += sum(len(_ANY.findall(line)) for number, line in enumerate(lines, 1) if number not in left_out)
    return AnyCount(words, count)


@functools.cache
def count_any_by_room() -> dict[str, AnyCount]:
    """Return the counts of each room."""
    files: dict[str, list[Path]] = {}
    for module, path in ALL_MODULES.items():
        files.setdefault(room_of(module), []).append(path)
    return {room: count_any(paths) for room, paths in sorted(files.items())}


def count_any_types() -> int:
    """Return how often the code, without its docstrings and comments, says the type ``Any``."""
    nodes = (node for path in ALL_MODULES.values() for node in read_nodes(path))
    return sum(isinstance(node, ast.Name) and node.id == "Any" for node in nodes)
