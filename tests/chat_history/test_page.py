"""The store that `docs/conversations.md` writes from nothing passes the exam that the page gives it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "conversations.md"


def test_the_store_of_the_page_passes(pytester: pytest.Pytester) -> None:
    """As it stands on the page, in a test module."""
    _, _, section = PAGE.read_text().partition("### A store of your own\n")
    store, exam = re.findall(r"```python[^\n]*\n(.*?)```", section.partition("\n### ")[0], re.DOTALL)
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(test_shelf=store + exam)

    passed, _, failed = pytester.inline_run("-q").countoutcomes()
    assert failed == 0
    assert passed > 25  # on both loops
