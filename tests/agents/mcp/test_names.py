"""Names of a server's tools as providers take them."""

import re

import pytest
from hypothesis import given, strategies as st

from hocket.agents.mcp.client import assign_names, tell_apart

NAMES = st.lists(st.text(alphabet="ab.é/_-9", max_size=70), unique=True)
PREFIXES = st.text(alphabet="ab_", max_size=64)


@given(NAMES, PREFIXES)
def test_every_name_is_one_that_providers_take_and_no_two_are_one(names: list[str], prefix: str) -> None:
    assigned = assign_names(names, prefix)
    assert list(assigned) == names
    assert all(re.fullmatch(r"[A-Za-z0-9_-]{1,64}", made) for made in assigned.values())
    assert len(set(assigned.values())) == len(names)


@given(NAMES, PREFIXES)
def test_the_order_of_the_list_changes_no_name(names: list[str], prefix: str) -> None:
    """A stored conversation holds calls by name."""
    assert assign_names(names[::-1], prefix) == assign_names(names, prefix)


@pytest.mark.parametrize(
    ("names", "prefix", "assigned"),
    [
        (["search", "get-1"], "", ["search", "get-1"]),
        (["files.read"], "", ["files_read"]),
        (["files.read"], "disk_", ["disk_files_read"]),
        ([""], "", ["tool"]),
        (["a" * 128], "", ["a" * 64]),
        (["a.b", "a_b"], "", ["a_b_2e7336dc", "a_b"]),
        (["a.b", "a/b"], "", ["a_b_2e7336dc", "a_b_c14cddc0"]),
    ],
)
def test_a_name_that_fits_stays(names: list[str], prefix: str, assigned: list[str]) -> None:
    """Of two that would be one, each that does not fit gets a part of its hash."""
    assert list(assign_names(names, prefix).values()) == assigned


def test_a_name_that_another_one_with_its_hash_would_have() -> None:
    """A hostile server knows what becomes of its names; so none of them stays, however long it goes on."""
    names = ["a.b", "a/b"]
    for _ in range(20):
        names.append(assign_names(names)[names[-1]])
    assigned = assign_names(names)
    assert len(names) == len({*assigned.values()}) == 22


def test_two_names_with_one_hash() -> None:
    """Eight digits of a hash are not enough against a server that looks for such names; these were found in a second."""
    assigned = assign_names(["a.%*  ", "a/+!%%"])
    assert len({*assigned.values()}) == 2
    assert all(re.fullmatch(r"a______?[0-9a-f]{32}", made) for made in assigned.values())


def test_one_name_of_two_servers() -> None:
    """None of them has it: neither takes the place of the other one."""
    keys = {"a\0b_c": "a_b_c", "a_b\0c": "a_b_c", "a\0d": "a_d"}
    made = tell_apart(keys)
    assert made["a\0d"] == "a_d" and len({*made.values()}) == 3 and "a_b_c" not in made.values()
    assert tell_apart(dict(reversed(keys.items()))) == made
