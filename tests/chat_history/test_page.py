"""The store that `docs/writing-a-history.md` writes from nothing passes the exam that the page gives it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-history.md"


def test_the_store_of_the_page_passes(pytester: pytest.Pytester) -> None:
    """As it stands on the page, in a test module."""
    store, exam = re.findall(r"```python[^\n]*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(test_shelf=store + exam)

    passed, _, failed = pytester.inline_run("-q").countoutcomes()
    assert failed == 0
    assert passed > 25  # on both loops
