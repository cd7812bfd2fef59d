"""Passages that stand twice: six lines of code or more, the same to the letter, in two places of the package.

Blank lines, comments, imports and lines of brackets alone do not count, and space at the start of a line is left out. Two
files that share several passages are one pair, and so is a file that repeats itself. A passage in more than eight places
is a form that the language wants (the end of a signature), and no copy.
"""

import re
from collections import defaultdict
from itertools import combinations
from pathlib import Path
from typing import NamedTuple

from tests.measures.source import FILES, show_path

LEAST_LINES = 6
MOST_PLACES = 8
_WORD = re.compile(r"\w")


class Passage(NamedTuple):
    """A passage and its copy: the file and the first line of each, and how many lines of code they share."""

    path: str
    line: int
    copy_path: str
    copy_line: int
    lines: int


def find_passages() -> list[Passage]:
    """Return the longest passage of each pair of files that share any, the longest first."""
    files = {show_path(path): _read_code(path) for path in FILES}
    places: dict[tuple[str, ...], list[tuple[str, int]]] = defaultdict(list)
    for path, code in files.items():
        for start in range(len(code) - LEAST_LINES + 1):
            places[tuple(text for _, text in code[start : start + LEAST_LINES])].append((path, start))
    longest: dict[tuple[str, str], Passage] = {}
    for found in places.values():
        if len(found) > MOST_PLACES:
            continue
        for (path, start), (copy_path, copy_start) in combinations(found, 2):
            if path == copy_path and copy_start - start < LEAST_LINES:
                continue
            code, copy = files[path], files[copy_path]
            passage = Passage(
                path, code[start][0], copy_path, copy[copy_start][0], _count_shared(code[start:], copy[copy_start:])
            )
            known = longest.get((path, copy_path))
            if known is None or passage.lines > known.lines:
                longest[path, copy_path] = passage
    return sorted(longest.values(), key=lambda passage: (-passage.lines, passage))


def _read_code(path: Path) -> list[tuple[int, str]]:
    code, is_import = [], False
    for number, line in enumerate(path.read_text().splitlines(), 1):
        text = line.strip()
        if is_import or text.startswith(("import ", "from ")):
            is_import = text.endswith("(") or (is_import and not text.endswith(")"))
        elif _WORD.search(text) and not text.startswith("#"):
            code.append((number, text))
    return code


def _count_shared(code: list[tuple[int, str]], copy: list[tuple[int, str]]) -> int:
    count = 0
    for (_, text), (_, copied) in zip(code, copy, strict=False):
        if text != copied:
            break
        count += 1
    return count
