"""Small files, small functions, and no drawer for odds and ends: what a reader can take in at once."""

import ast
from pathlib import Path

FILE_LINES = 400
FUNCTION_LINES = 60
DRAWERS = {"util", "utils", "helper", "helpers", "common", "misc", "shared"}


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function from its ``def`` to its end, without the docstring."""
    first = function.body[0]
    is_docstring = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_a_file_is_at_most_400_lines_long(source_file: Path) -> None:
    """A file that grows beyond the limit is split by concern before it dissolves."""
    count = len(source_file.read_text().splitlines())
    assert count <= FILE_LINES, f"{source_file} has {count} lines, the limit is {FILE_LINES}: split it by concern."


def test_a_function_is_at_most_60_lines_long(source_file: Path) -> None:
    """Docstrings are free; tables of data belong to the module and not into a function."""
    functions = [
        node
        for node in ast.walk(ast.parse(source_file.read_text()))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    ]
    too_long = {f"{node.name} (line {node.lineno})": lines_of(node) for node in functions}
    too_long = {name: count for name, count in too_long.items() if count > FUNCTION_LINES}
    assert not too_long, f"{source_file}: longer than {FUNCTION_LINES} lines: {too_long}"


def test_no_module_is_a_drawer(modules: dict[str, Path]) -> None:
    """A module is named after what it does; `utils` and its like name nothing, and collect everything."""
    drawers = [name for name in modules if any(part.strip("_").lower() in DRAWERS for part in name.split("."))]
    assert drawers == []


def test_the_count_leaves_the_docstring_out() -> None:
    """The measure itself: one docstring of three lines, two lines of code."""
    function = ast.parse('def f():\n    """One.\n\n    Two."""\n    return 1\n').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert lines_of(function) == 2
