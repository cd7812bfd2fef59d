"""LangChain's older names are in `hocket.classic`, and an import from where they were says so."""

import importlib
from collections.abc import Iterator

import pytest

import hocket.chains
from hocket._runtime.lazy import _CLASSIC
from hocket.load import dumpd, load


def list_moved() -> Iterator[tuple[str, str, str]]:
    """Yield each name that has moved: the package that it was in, the name, and the room that it is in."""
    for package, (room, names) in _CLASSIC.items():
        home = f"hocket.classic.{room}"
        for name in names.split():
            yield package, name, home


@pytest.mark.parametrize(("package", "name", "home"), list(list_moved()))
def test_an_old_import_names_the_new_one(package: str, name: str, home: str) -> None:
    """And the new one works."""
    with pytest.raises(ImportError) as caught:
        exec(f"from {package} import {name}", {})
    way_out = f"from {home} import {name}"
    assert str(caught.value) == f"{name} has moved: {way_out}"
    exec(way_out, {})


def test_every_class_of_the_older_interfaces_is_found_from_where_it_was() -> None:
    """No name was left out of the table; those beside it have never been anywhere else."""
    rooms = {room for room, _ in _CLASSIC.values()}
    moved = {(home, name) for _, name, home in list_moved()}
    offered = {
        (f"hocket.classic.{room}", name)
        for room in rooms
        for name in importlib.import_module(f"hocket.classic.{room}").__all__
    }
    assert offered <= moved


def test_a_misspelt_name_is_no_moved_one() -> None:
    """It is an `AttributeError`, so that `hasattr` and `getattr` with a default answer as ever."""
    assert not hasattr(hocket.chains, "LLMChian")


def test_what_was_stored_from_the_old_place_is_read() -> None:
    """The id of a class is that of its public room, without "classic"."""
    parser = importlib.import_module("hocket.classic.output_parsers").RegexParser(regex="(a)", output_keys=["a"])
    data = dumpd(parser)
    assert data["id"] == ["hocket", "output_parsers", "RegexParser"]
    assert load(data) == parser
