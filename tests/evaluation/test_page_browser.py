"""The page of an evaluation in a real browser: at three widths, in the light and in the dark."""

from pathlib import Path

import pytest

from hocket.evaluation import compare, read_report, write_page
from tests.evaluation.page_scene import HOSTILE, make_runs, run_answers
from tests.kit.browser import use_browser

pytestmark = pytest.mark.nightly

SCRIPT = Path(__file__).with_name("page_browser.mjs")


def test_pages_in_a_browser(tmp_path: Path) -> None:
    """Nothing is said on the console, nothing is loaded but the page, and nothing is wider than the window."""
    old, new = make_runs(tmp_path, baseline=True)
    wide = [HOSTILE * 20, "w" * 3_000, "a b " * 500, ValueError("x" * 500)]
    report = run_answers(tmp_path / "wide.jsonl", wide, repeats=2)
    pages = [tmp_path / f"{name}.html" for name in ("comparison", "report", "wide")]
    for subject, path in zip((compare(old, new), read_report(old), report), pages, strict=True):
        write_page(subject, path)
    found = use_browser(SCRIPT, *map(str, pages), within=170)
    assert found["said"] == []
    assert found["loaded"] == [page.as_uri() for page in pages]
    assert len(found["seen"]) == 18
    for one in found["seen"]:
        assert one["overflow"] == [0, 0], one
        assert one["opened"] and one["plot"] > 150, one
    assert len({tuple(one["colours"]) for one in found["seen"]}) == 2
