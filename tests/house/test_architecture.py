"""The page that draws the floors draws them as the contract has them."""

import re

from tests.measures.source import FILES, ROOT, SRC, read_exceptions, read_floors

PAGE = ROOT / "docs" / "architecture.md"
ROW = re.compile(r"^\| *(\d*) *\| *`(\w+)` *\| *(.+?) *\|$", re.MULTILINE)


def read_drawing() -> list[tuple[int, list[str]]]:
    """Return the floors of the page: each one's number and rooms, the highest first."""
    floors: list[tuple[int, list[str]]] = []
    for number, room, _ in ROW.findall(PAGE.read_text()):
        if number:
            floors.append((int(number), []))
        floors[-1][1].append(room)
    return floors


def test_the_page_draws_the_floors_of_the_contract() -> None:
    """The same floors in the same order, each with the same rooms."""
    floors = read_floors()
    assert read_drawing() == list(zip(reversed(range(len(floors))), floors, strict=True))


def test_every_room_is_drawn_and_there() -> None:
    """A room in brackets may be missing in the contract, but not on the page."""
    rooms = {path.relative_to(SRC / "hocket").parts[0].removesuffix(".py") for path in FILES} - {"__init__"}
    assert {room for _, floor in read_drawing() for room in floor} == rooms


def test_the_page_names_the_exceptions() -> None:
    """Whoever looks for a name finds the room that offers it, and the one that defines it."""
    text = PAGE.read_text()
    rooms = {module.split(".")[1] for edge in read_exceptions() for module in edge}
    assert [room for room in sorted(rooms) if f"`{room}`" not in text.partition("Ten of")[2]] == []
