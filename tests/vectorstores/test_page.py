"""The store that `docs/writing-a-vector-store.md` writes from nothing passes the exam that the page gives it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-vector-store.md"


@pytest.mark.nightly
def test_the_store_of_the_page_passes(pytester: pytest.Pytester) -> None:
    """As it stands on the page, in a test module, with nothing but pytest and what hocket brings along."""
    fences = re.findall(r"```python[^\n]*\n(.*?)```", PAGE.read_text(), re.DOTALL)
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(test_json="\n".join(fence for fence in fences if "\nclass " in fence))

    passed, _, failed = pytester.inline_run("-q", "-k", "not trio").countoutcomes()
    assert failed == 0
    assert passed > 60
