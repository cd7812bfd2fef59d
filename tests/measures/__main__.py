"""Print the measurements that CONTRIBUTING.md names: `scripts/measure [MEASURE]...`.

With ``--lower`` it writes the figures that got better into `tests/house/ratchets.json`, which the house tests hold; with
``--interface`` the public names, parameters and fields into `tests/house/interface.txt`.
"""

import sys

from tests.measures.annotations import AnyCount, count_any_by_room, count_any_types
from tests.measures.imports import (
    find_foreign_assignments,
    find_import_circles,
    find_string_imports,
    find_upward,
    read_lazy_arrows,
)
from tests.measures.interface import write_interface
from tests.measures.names import find_double_names, find_functions, find_participles
from tests.measures.passages import find_passages
from tests.measures.ratchets import lower_ratchets
from tests.measures.size import count_lines, read_doors
from tests.measures.walks import measure_walks


def print_table(title: str, rows: list[tuple[object, ...]]) -> None:
    """Print rows under a title, in columns; the first row is the head."""
    texts = [[str(cell) for cell in row] for row in rows]
    widths = [max(len(cell) for cell in column) for column in zip(*texts, strict=True)]
    print(f"\n{title}")
    is_text = [all(isinstance(row[index], str) for row in rows[1:]) for index in range(len(widths))]
    for row in texts:
        cells = zip(row, widths, is_text, strict=True)
        print(
            "  " + "  ".join(cell.ljust(width) if left else cell.rjust(width) for cell, width, left in cells).rstrip()
        )


def print_lines() -> None:
    """Print the lines of each room."""
    counts = count_lines()
    rows = sorted(counts.items(), key=lambda row: -row[1])
    print_table("Lines", [("room", "lines"), *rows, ("all", sum(counts.values()))])


def print_doors() -> None:
    """Print how many names the doors show."""
    doors = read_doors()
    print_table(
        "Public names, without `testing` and `classic`", [("doors", "names"), (len(doors.rooms), len(doors.names))]
    )


def print_passages() -> None:
    """Print the passages that stand twice."""
    found = find_passages()
    rows = [(one.lines, f"{one.path}:{one.line}", f"{one.copy_path}:{one.copy_line}") for one in found]
    print_table(f"Pairs of files with the same passage: {len(found)}", [("lines", "passage", "copy"), *rows])


def print_circles() -> None:
    """Print who imports whom in a circle, and the arrows that no import statement shows."""
    circles = find_import_circles()
    rows: list[tuple[object, ...]] = [("modules", "circle")]
    rows += [(len(circle), ", ".join(one.removeprefix("hocket.") for one in circle[:6])) for circle in circles]
    print_table("Import circles, imports for typing counted, the contract's exceptions left out", rows)
    upward = find_upward(read_lazy_arrows())
    print_table(
        "Arrows that no import statement shows",
        [
            ("kind", "count"),
            ("lazy names of a floor above", len(upward)),
            ("imports by a string", len(find_string_imports())),
            ("attributes set from another module", len(find_foreign_assignments())),
        ],
    )


def print_any() -> None:
    """Print the words ``Any`` of each room."""
    counts = count_any_by_room()
    total = AnyCount(*(sum(column) for column in zip(*counts.values(), strict=True)))
    rows = sorted(counts.items(), key=lambda row: -row[1].per_thousand)
    figures = [(room, one.words, one.lines, round(one.per_thousand, 1)) for room, one in [*rows, ("all", total)]]
    print_table("The word Any, outside imports", [("room", "words", "lines", "per 1,000"), *figures])
    types, lines = count_any_types(), sum(count_lines().values())
    rows = [("types", "lines", "per 1,000"), (types, lines, round(types / lines * 1000, 1))]
    print_table("The type Any, in all lines", rows)


def print_names() -> None:
    """Print the functions that are bare participles, and the names that are defined twice."""
    functions, bare = find_functions(), find_participles()
    rows: list[tuple[object, ...]] = [("", "all", "bare participles")]
    for kind, is_method in (("functions of modules", False), ("methods", True)):
        rows.append((kind, *(sum(one.is_method == is_method for one in found) for found in (functions, bare))))
    print_table("Names of functions", rows)
    listed = [(f"{one.module.removeprefix('hocket.')}:{one.name}",) for one in bare]
    print_table("Bare participles", [*sorted(listed)] or [("none",)])
    double = find_double_names()
    named = [(name, ", ".join(one.removeprefix("hocket.") for one in homes)) for name, homes in double.items()]
    print_table(f"Public names with two definitions: {len(double)}", [("name", "modules"), *named])


def print_walks() -> None:
    """Print how far real calls go."""
    walks = measure_walks()
    rows = [(name, *walk) for name, walk in walks.items()]
    print_table("Walks", [("call", "calls", "files", "rooms", "moves", "returns"), *rows])


MEASURES = {
    "lines": print_lines,
    "doors": print_doors,
    "passages": print_passages,
    "circles": print_circles,
    "any": print_any,
    "names": print_names,
    "walks": print_walks,
}


def main(words: list[str]) -> int:
    """Print what the words name, or everything."""
    if words in (["--lower"], ["--interface"]):
        (lower_ratchets if words == ["--lower"] else write_interface)()
        return 0
    unknown = set(words) - MEASURES.keys()
    if unknown:
        print(f"no measure is called {sorted(unknown)}; there are: {', '.join(MEASURES)}", file=sys.stderr)
        return 2
    for word in words or MEASURES:
        MEASURES[word]()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
