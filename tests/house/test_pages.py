"""What a page points to is there: files of this project, tests in them, and pages beside it."""

import re
from pathlib import Path

from tests.measures.source import ROOT, show_path

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

FILE = re.compile(r"`((?:tests|src|docs|benchmarks|scripts|hocket)/[\w./-]+)`")
TEST = re.compile(r"`(tests/[\w./-]+)::(\w+)`")
LINK = re.compile(r"\]\((?!\w+:|#)([^)#]+)")


def missing_on(page: Path) -> list[str]:
    """Return what a page names and is not there."""
    text = page.read_text()
    named = [ROOT / ("src" if name.startswith("hocket/") else ".") / name for name in FILE.findall(text)]
    linked = [page.parent / name for name in LINK.findall(text)]
    missing = [show_path(path.absolute()) for path in (*named, *linked) if not path.exists()]
    return missing + [
        f"{file}::{name}" for file, name in TEST.findall(text) if f"def {name}(" not in (ROOT / file).read_text()
    ]


def test_pages_point_to_what_exists() -> None:
    """A reader who follows a page finds the file, the test or the page that it names."""
    missing = {show_path(page): missing_on(page) for page in PAGES}
    assert {page: names for page, names in missing.items() if names} == {}
