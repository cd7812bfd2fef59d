"""Small files, small functions, and no drawer for odds and ends: what a reader can take in at once."""

import ast

from tests.measures.source import FILES, MODULES, read_nodes, show_path

FILE_LINES = 400
FUNCTION_LINES = 60
DRAWERS = {"util", "utils", "helper", "helpers", "common", "misc", "shared"}


def lines_of(function: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    """Count the lines of a function from its ``def`` to its end, without the docstring."""
    first = function.body[0]
    is_docstring = ast.get_docstring(function, clean=False) is not None
    docstring = (first.end_lineno or 0) - first.lineno + 1 if is_docstring else 0
    return (function.end_lineno or 0) - function.lineno + 1 - docstring


def test_a_file_is_at_most_400_lines_long() -> None:
    """A file that grows beyond the limit is split by concern before it dissolves."""
    counts = {show_path(path): len(path.read_text().splitlines()) for path in FILES}
    too_long = {name: count for name, count in counts.items() if count > FILE_LINES}
    assert not too_long, f"longer than {FILE_LINES} lines: {too_long}; split them by concern."


def test_a_function_is_at_most_60_lines_long() -> None:
    """Docstrings are free; tables of data belong to the module and not into a function."""
    counts = {
        f"{show_path(path)}:{node.lineno} {node.name}": lines_of(node)
        for path in FILES
        for node in read_nodes(path)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    too_long = {name: count for name, count in counts.items() if count > FUNCTION_LINES}
    assert not too_long, f"longer than {FUNCTION_LINES} lines: {too_long}"


def test_no_module_is_a_drawer() -> None:
    """A module is named after what it does; `utils` and its like name nothing, and collect everything."""
    drawers = [name for name in MODULES if any(part.strip("_").lower() in DRAWERS for part in name.split("."))]
    assert drawers == []


def test_the_count_leaves_the_docstring_out() -> None:
    """The measure itself: one docstring of three lines, two lines of code."""
    function = ast.parse('def f():\n    """One.\n\n    Two."""\n    return 1\n').body[0]
    assert isinstance(function, ast.FunctionDef)
    assert lines_of(function) == 2
