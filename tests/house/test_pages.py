"""What a page points to is there: files of this project, tests in them, and pages beside it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

FILE = re.compile(r"`((?:tests|src|docs|benchmarks|scripts|hocket)/[\w./-]+)`")
TEST = re.compile(r"`(tests/[\w./-]+)::(\w+)`")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_a_page_points_to_what_exists(page: Path) -> None:
    text = page.read_text()
    named = [ROOT / ("src" if name.startswith("hocket/") else ".") / name for name in FILE.findall(text)]
    linked = [page.parent / name for name in LINK.findall(text)]
    missing = [str(path) for path in (*named, *linked) if not path.exists()]
    missing += [
        f"{file}::{name}" for file, name in TEST.findall(text) if f"def {name}(" not in (ROOT / file).read_text()
    ]
    assert missing == []
