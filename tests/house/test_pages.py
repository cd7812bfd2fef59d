"""What a page points to is there: files of this project, tests in them, pages and their headings, and names of hocket."""

import functools
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

from tests.measures.source import ALL_MODULES, MODULES, ROOT, show_path

PAGES = [*sorted(ROOT.glob("*.md")), *sorted((ROOT / "docs").rglob("*.md"))]

FILE = re.compile(r"`((?:tests|src|docs|benchmarks|scripts|hocket)/[\w./-]+)`")
TEST = re.compile(r"`(tests/[\w./-]+)::(\w+)`")
LINK = re.compile(r"\]\((?!\w+:)([^)#\s]*)#?([^)\s]*)\)")
FENCE = re.compile(r"^ *```.*?^ *```[ ]*$", re.MULTILINE | re.DOTALL)
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)
NAME = re.compile(r"(?<![\w./@-])hocket(?:\.[A-Za-z_]\w*)+(?![\w/-])")
IMPORT = re.compile(r"^ *from (hocket[\w.]*) import ([\w, ]+)$", re.MULTILINE)

PAGE = re.compile(r'\bpage(?:=| = )"([\w/-]+\.md)?#?([\w-]*)"')

# Attributes of spans, which look like names of Python.
OF_SPANS = {f"hocket.{name}" for name in ("cache_hit", "closed", "deployment", "prefix_break", "replayed", "retry")}


@functools.cache
def anchors_of(page: Path) -> set[str]:
    """Return the anchors of a page's headings, as GitHub and the site make them."""
    headings = HEADING.findall(FENCE.sub("", page.read_text()))
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def missing_on(page: Path) -> list[str]:
    """Return what a page names and is not there."""
    text = page.read_text()
    named = [ROOT / ("src" if name.startswith("hocket/") else ".") / name for name in FILE.findall(text)]
    linked = [page.parent / name for name, _ in LINK.findall(text) if name]
    missing = [show_path(path.absolute()) for path in (*named, *linked) if not path.exists()]
    return missing + [
        f"{file}::{name}" for file, name in TEST.findall(text) if f"def {name}(" not in (ROOT / file).read_text()
    ]


def missing_anchors(page: Path) -> list[str]:
    """Return the links of a page that lead to a heading that is not there."""
    links = [
        ((page.parent / name).resolve() if name else page, anchor) for name, anchor in LINK.findall(page.read_text())
    ]
    return [
        f"{show_path(target)}#{anchor}"
        for target, anchor in links
        if anchor and target.suffix == ".md" and target.exists() and anchor not in anchors_of(target)
    ]


def names_on(page: Path) -> Iterator[str]:
    """Yield the dotted names of hocket on a page, in its prose and in its code."""
    text = page.read_text()
    yield from set(NAME.findall(text)) - OF_SPANS
    for module, names in IMPORT.findall(text):
        yield from (f"{module}.{name.split()[0]}" for name in names.split(",") if name.strip())


def is_there(name: str) -> bool:
    """Tell whether a dotted name can be used; one of a module whose package is not installed here is let pass."""
    try:
        pkgutil.resolve_name(name)
    except (ImportError, AttributeError):
        return any(name.startswith(module) for module in ALL_MODULES.keys() - MODULES.keys())
    return True


def test_pages_point_to_what_exists() -> None:
    """A reader who follows a page finds the file, the test or the page that it names."""
    missing = {show_path(page): missing_on(page) for page in PAGES}
    assert {page: names for page, names in missing.items() if names} == {}


def test_links_lead_to_headings() -> None:
    """A link into the middle of a page finds its heading there."""
    missing = {show_path(page): missing_anchors(page) for page in PAGES}
    assert {page: links for page, links in missing.items() if links} == {}


def test_errors_lead_to_headings() -> None:
    """The page that an error names is there, and so is its heading."""
    named = {found for source in MODULES.values() for found in PAGE.findall(source.read_text()) if found[0]}
    assert len(named) > 30, "the pattern no longer finds how an error names its page"
    pages = {(ROOT / "docs" / name, anchor) for name, anchor in named}
    missing = [page for page, anchor in pages if not page.exists() or (anchor and anchor not in anchors_of(page))]
    assert missing == []


def test_names_of_hocket_exist() -> None:
    """A name that a page writes out, `hocket.room.Name`, is one that a reader can import."""
    missing = {show_path(page): [name for name in names_on(page) if not is_there(name)] for page in PAGES}
    assert {page: names for page, names in missing.items() if names} == {}


def test_security_has_a_row_for_each_room() -> None:
    """Who reviews a room finds what strangers control there, and the tests of what is done about it."""
    table = (ROOT / "docs" / "security.md").read_text().partition("## Room by room")[2]
    rooms = {path.name for path in (ROOT / "src" / "hocket").iterdir() if path.is_dir() and path.name[0] not in "_."}
    assert rooms - set(re.findall(r"`(\w+)`", table)) == set()
    rows = [line for line in table.splitlines() if line.startswith("| `")]
    assert [row for row in rows if not TEST.search(row)] == []
