"""Public names, their parameters and fields are those that were written down."""

import difflib

import pytest

from tests.measures.interface import FILE, read_interface
from tests.measures.source import ALL_MODULES, MODULES


def test_public_interface_changes_on_purpose() -> None:
    """What users rely on changes with a line of `interface.txt` and of the changelog, not by the way."""
    if len(MODULES) < len(ALL_MODULES) - 1:
        pytest.skip("rooms are missing whose packages are not installed")
    changes = difflib.unified_diff(
        FILE.read_text().splitlines(), read_interface(), "written down", "now", n=0, lineterm=""
    )
    shown = "\n".join(changes)
    assert not shown, (
        f"{shown}\n`scripts/measure --interface` writes down what is meant; docs/versions.md says how it is told"
    )
