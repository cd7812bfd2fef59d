"""Figures that may only get better: what the house was when they were last lowered, in `tests/house/ratchets.json`."""

import json
from collections import Counter
from typing import TypedDict

from tests.measures.annotations import count_any_by_room
from tests.measures.imports import find_import_circles
from tests.measures.names import find_double_names, find_participles
from tests.measures.passages import find_passages
from tests.measures.source import ROOT

FILE = ROOT / "tests" / "house" / "ratchets.json"


class Ratchets(TypedDict):
    """What is held.

    Args:
        any_per_thousand_lines: words ``Any`` by room.
        bare_participles: how many functions of modules have each of these names.
        names_defined_twice: how many public names have more than one definition.
        import_circles: the sizes of the circles of imports, the largest first.
        pairs_of_passages: how many pairs of files share a passage.
    """

    any_per_thousand_lines: dict[str, float]
    bare_participles: dict[str, int]
    names_defined_twice: int
    import_circles: list[int]
    pairs_of_passages: int


def measure_ratchets() -> Ratchets:
    """Measure the house as it is."""
    bare = Counter(one.name for one in find_participles() if not one.is_method)
    return {
        "any_per_thousand_lines": {room: round(one.per_thousand, 1) for room, one in count_any_by_room().items()},
        "bare_participles": dict(sorted(bare.items())),
        "names_defined_twice": len(find_double_names()),
        "import_circles": [len(circle) for circle in find_import_circles()],
        "pairs_of_passages": len(find_passages()),
    }


def read_ratchets() -> Ratchets:
    """Read what is held."""
    held: Ratchets = json.loads(FILE.read_text())
    return held


def lower_ratchets() -> None:
    """Write every figure that got better, and the figures of new rooms; what got worse stays as it was."""
    now = measure_ratchets()
    if FILE.exists():
        held = read_ratchets()
        limits = held["any_per_thousand_lines"]
        now["any_per_thousand_lines"] = {
            room: min(figure, limits.get(room, figure)) for room, figure in now["any_per_thousand_lines"].items()
        }
        now["bare_participles"] = _lower(held["bare_participles"], now["bare_participles"])
        now["names_defined_twice"] = min(held["names_defined_twice"], now["names_defined_twice"])
        now["import_circles"] = min(held["import_circles"], now["import_circles"])
        now["pairs_of_passages"] = min(
            held.get("pairs_of_passages", now["pairs_of_passages"]), now["pairs_of_passages"]
        )
    FILE.write_text(json.dumps(now, indent=2) + "\n")


def _lower(held: dict[str, int], now: dict[str, int]) -> dict[str, int]:
    return {name: min(count, now[name]) for name, count in held.items() if name in now}
