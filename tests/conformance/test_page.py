"""The provider that `docs/writing-a-provider.md` writes from nothing passes the exam that the page gives it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs" / "writing-a-provider.md"


@pytest.mark.nightly
def test_the_provider_of_the_page_passes(pytester: pytest.Pytester) -> None:
    """As it stands on the page, in a test module, with nothing but pytest and what hocket brings along."""
    _, _, remote = PAGE.read_text().partition("\n## A provider behind HTTP\n")
    fences = re.findall(r"```python[^\n]*\n(.*?)```", remote, re.DOTALL)
    pytester.makeini("[pytest]\nfilterwarnings = error\nasyncio_default_fixture_loop_scope = function\n")
    pytester.makepyfile(test_parlour="\n".join(fence for fence in fences if "\nclass " in fence))

    outcomes = pytester.inline_run("-q").countoutcomes()
    passed, _, failed = outcomes
    assert failed == 0
    assert passed > 100  # on both loops
