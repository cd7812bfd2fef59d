"""Pages written by hand, as the generator wants them.

They are written to be read in the repository too, so their links lead to files. Here a link to a file that is a page of
the site leads to that page, and one to any other file to the repository.
"""

import re
import shutil
import tomllib
from collections.abc import Iterator
from os.path import relpath
from pathlib import Path

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"

# Pages that are not in docs/, and what they are called on the site.
OTHER_PAGES = {
    "README.md": "index.md",
    "CHANGELOG.md": "changelog.md",
    "CONTRIBUTING.md": "contributing.md",
    "benchmarks/README.md": "benchmarks.md",
}
FENCE = re.compile(r"(^ *```.*?^ *```[ ]*$)", re.MULTILINE | re.DOTALL)
# `notest`, `continued`, and comments, which say what a model answers in the tests: not for readers
FENCE_WORDS = re.compile(r"\A( *```\w+)( title=\"[^\n\"]*\")?[^\n]*")
COMMENT = re.compile(r"^<!--.*?-->\n", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"""(\]\(|\b(?:src|href)=")(?!\w+:|#)([^)"\s#]+)""")


def list_pages() -> dict[Path, str]:
    """Return the site's path of each page that is written by hand."""
    pages = {path: path.relative_to(DOCS).as_posix() for path in sorted(DOCS.rglob("*.md"))}
    return pages | {ROOT / path: name for path, name in OTHER_PAGES.items() if (ROOT / path).exists()}


def list_decisions() -> dict[str, str]:
    """Return the site's path of each decision, with its title."""
    found = sorted((DOCS / "decisions").glob("*.md"))
    return {f"decisions/{path.name}": path.read_text().partition("\n")[0].lstrip("# ") for path in found}


def repository() -> str:
    """Return where the files of this project are shown."""
    urls: dict[str, str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["urls"]
    return f"{urls['Repository']}/blob/main"


def copy_pages(to: Path) -> None:
    """Copy the pages, and the pictures that they show."""
    shutil.copytree(DOCS, to)
    pages = list_pages()
    for path, name in pages.items():
        (to / name).write_text(rewrite(path, pages))
    (to / "assets").mkdir()
    for asset in ("extra.css", "iframe-worker.js"):
        shutil.copy(Path(__file__).with_name(asset), to / "assets")
    (to / "decisions/index.md").write_text(
        "# Decisions\n\nWhy hocket is built as it is, one decision a page.\n\n"
        + "".join(f"- [{title}]({Path(path).name})\n" for path, title in list_decisions().items())
    )


def rewrite(path: Path, pages: dict[Path, str]) -> str:
    """Return a page's text with its links pointed at the site."""
    here = Path(pages[path]).parent

    def point(link: re.Match[str]) -> str:
        target = (path.parent / link[2]).resolve()
        if target == DOCS / "decisions":
            return link[1] + relpath("decisions/index.md", here)
        if target in pages:
            return link[1] + relpath(pages[target], here)
        if target.is_relative_to(DOCS) or not target.exists():
            return link[1] + relpath(target.relative_to(DOCS), here) if target.is_relative_to(DOCS) else link[0]
        return f"{link[1]}{repository()}/{target.relative_to(ROOT)}"

    return "".join(
        FENCE_WORDS.sub(r"\1\2", part) if is_fence else LINK.sub(point, part)
        for is_fence, part in split_fences(COMMENT.sub("", path.read_text()))
    )


def split_fences(text: str) -> Iterator[tuple[bool, str]]:
    """Yield the parts of a page in order: is it a fence of code, and its text."""
    for position, part in enumerate(FENCE.split(text)):
        yield bool(position % 2), part
