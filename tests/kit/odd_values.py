"""JSON with one value of the wrong type: what a server may say, too."""

import json
import random
from collections.abc import Iterator
from typing import Any

__all__ = ["paths_in", "spoil"]

ODD: list[Any] = [None, 5, -1.5, "x", [], {}, [1], {"a": 1}, True, "", [[]], [None]]


def paths_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The ways to all values inside of JSON."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield (*path, key)
        yield from paths_in(item, (*path, key))


def spoil(data: Any, draw: random.Random, copies: int) -> Iterator[Any]:
    """Copies of JSON with one value of the wrong type, at different places; as many as there are places at most."""
    for path in draw.sample(found := list(paths_in(data)), min(copies, len(found))):
        copy = inner = json.loads(json.dumps(data))
        for key in path[:-1]:
            inner = inner[key]
        inner[path[-1]] = draw.choice(ODD)
        yield copy
