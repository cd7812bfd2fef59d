"""The rooms of the providers: each is small, none knows another, and what two of them have in common stands in neither."""

import ast
from collections.abc import Iterator
from pathlib import Path

import hocket.providers

ROOMS = sorted(path for path in Path(hocket.providers.__path__[0]).iterdir() if (path / "__init__.py").exists())
RUN = 6
"""Lines that are equal in two rooms and make a repetition."""


def code_in(path: Path) -> list[tuple[int, str]]:
    """The lines of a file with their numbers, without blank ones, imports, and docstrings: these say what each promises."""
    source = path.read_text()
    skipped = {
        number
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Import | ast.ImportFrom)
        or (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str))
        for number in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }
    lines = [(number, line.strip()) for number, line in enumerate(source.splitlines(), start=1)]
    return [(number, line) for number, line in lines if line and number not in skipped]


def runs_in(room: Path) -> Iterator[tuple[tuple[str, ...], str]]:
    """The runs of lines in a room, each with its place."""
    for path in sorted(room.rglob("*.py")):
        lines = code_in(path)
        for at in range(len(lines) - RUN + 1):
            yield tuple(line for _, line in lines[at : at + RUN]), f"{path.relative_to(room.parent)}:{lines[at][0]}"


def test_nothing_stands_in_two_rooms() -> None:
    """Six equal lines or more in the folders of two providers: what they share belongs in `hocket.remote`."""
    seen: dict[tuple[str, ...], tuple[Path, str]] = {}
    repeated: list[str] = []
    for room in ROOMS:
        for run, place in runs_in(room):
            first, where = seen.setdefault(run, (room, place))
            if first != room:
                repeated.append(f"{where} = {place}")
    assert not repeated, "\n".join(repeated)
