"""Write the tables of docs/moving-from-langchain.md from the table that the command goes by.

    python -m tests.migration.page

What stands outside of the marks is written by hand and stays.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

from hocket.migration.answers import Absence, read_answers
from hocket.migration.arguments import DROPPED
from hocket.migration.rooms import read_names
from hocket.migration.table import Place, find_place
from hocket.remote.options import FIELDS_INSTEAD, OTHER_FIELDS

PAGE = Path(__file__).parents[2] / "docs" / "moving-from-langchain.md"
BEGIN, END = "<!-- made by `python -m tests.migration.page`: from here -->", "<!-- to here -->"
RECORDED: Mapping[str, list[str]] = json.loads((Path(__file__).parent / "langchain_core_names.json").read_text())


_SAME = {name: own for name, own in OTHER_FIELDS.items() if own != "timeout"} | {"max_retries=2": "retry=3"}


def write_tables() -> str:
    """Return the part of the page that is made from the table."""
    return "\n".join([BEGIN, "", *_list_lines(), "", END])


def _list_lines() -> Iterator[str]:
    total, same, elsewhere, others = _count()
    moved = same + elsewhere + others
    yield f"Of langchain-core's {total} public names {moved} are moved: {same} are in the room of the same name,"
    yield f"{elsewhere} in another room of hocket, and {others} are of Python or pydantic. Each other one is answered below."
    yield ""
    yield "### Names that are called otherwise, or are elsewhere"
    yield ""
    yield from _write_rows(("LangChain", "hocket", "look at"), _list_renamed())
    yield ""
    yield "### Arguments"
    yield ""
    yield "Of models and embeddings behind HTTP these mean the same, and are renamed:"
    yield ""
    yield (", ".join(f"`{name}` → `{own}`" for name, own in sorted(_SAME.items())) + ".")
    yield ""
    yield "`timeout=2`, `request_timeout=2` and `default_request_timeout=2` of a chat model become"
    yield "`timeout=hocket.Timeout(connect=2, first_token=2, idle=2, total=1200)`: LangChain's number is the longest silence"
    yield "of an attempt, hocket's the time of all of a call. An answer that comes whole is held by the `total` alone."
    yield "An `httpx.Timeout` and a tuple are told, since hocket refuses them; of embeddings the name alone is changed."
    yield ""
    yield "These have no equal:"
    yield ""
    yield from _write_rows(
        ("argument", "instead"), [(f"`{name}`", text) for name, text in sorted(FIELDS_INSTEAD.items())]
    )
    yield ""
    yield "These are left out:"
    yield ""
    yield from _write_rows(("argument", "because"), _list_dropped())
    yield ""
    yield "### Names that have no place"
    yield ""
    yield from _write_rows(("module", "names", "why", "instead"), _list_answers())
    yield ""
    yield "What another package has is answered as a whole:"
    yield ""
    yield from _write_rows(("package", "why", "instead"), _list_packages())


def _count() -> tuple[int, int, int, int]:
    """Return how many names there are, and how many are in the room of the same name, another one, and elsewhere."""
    found = [(module, find_place(module, name)) for module, names in RECORDED.items() for name in names]
    places = [(module, place.module) for module, place in found if isinstance(place, Place)]
    same = sum(room == f"hocket.{module.split('.')[1]}" for module, room in places)
    others = sum(not room.startswith("hocket.") for _, room in places)
    return len(found), same, len(places) - same - others, others


def _list_renamed() -> Iterator[tuple[str, ...]]:
    known = read_names()
    for name, own in sorted(known["places"].items()):
        yield f"`{name}`", f"`{own}`", known["notes"].get(own, "")
    for name, own in sorted(known["places_of_files"].items()):
        yield f"`{name}` with `persist_directory`", f"`{own}`", known["notes"].get(own, "")


def _list_dropped() -> Iterator[tuple[str, ...]]:
    for place, names in sorted(DROPPED.items()):
        for name, reason in sorted(names.items()):
            yield f"`{name}` of `{place.rpartition('.')[2]}`", reason


def _list_answers() -> Iterator[tuple[str, ...]]:
    """Yield a row for each answer that counts: a name that a room offers by now needs none."""
    for module, answers in sorted(read_answers().items()):
        groups: dict[Absence, list[str]] = {}
        for name, answer in answers.items():
            if name != "*" and _is_absent(module, name):
                groups.setdefault(answer, []).append(f"`{name}`")
        for answer, names in groups.items():
            yield f"`{module}`", ", ".join(names), answer.reason, answer.way_out
        if "*" in answers and "." in module:
            yield f"`{module}`", "all others", answers["*"].reason, answers["*"].way_out


def _list_packages() -> Iterator[tuple[str, ...]]:
    """Yield a row for each package that is answered as a whole."""
    for package, answers in sorted(read_answers().items()):
        if "*" in answers and "." not in package and package != "langchain_core":
            shown = f"`{package}`" if package != "*" else "any other"
            yield shown, answers["*"].reason, answers["*"].way_out


def _is_absent(module: str, name: str) -> bool:
    """Whether a name has no place in one of the modules below another at least."""
    homes = [one for one, names in RECORDED.items() if f"{one}.".startswith(f"{module}.") and name in names]
    return any(not isinstance(find_place(one, name), Place) for one in homes or [module])


def _write_rows(head: tuple[str, ...], rows: Iterator[tuple[str, ...]] | list[tuple[str, ...]]) -> Iterator[str]:
    """Yield a table."""
    yield f"| {' | '.join(head)} |"
    yield f"| {' | '.join('---' for _ in head)} |"
    for row in rows:
        cells = [cell.replace("|", "\\|") for cell in row]
        yield f"| {' | '.join(cells)} |"


def update_page(text: str) -> str:
    """Return the page with its tables written anew."""
    before, _, rest = text.partition(BEGIN)
    return before + write_tables() + rest.partition(END)[2]


if __name__ == "__main__":
    PAGE.write_text(update_page(PAGE.read_text()))
