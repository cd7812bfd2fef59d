"""What the site that came out must hold: it is whole, and loads nothing from outside."""

import zlib
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

from website.reference import list_names

# What a browser fetches by itself, while the page is shown.
LOADING = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src")}


class Page(HTMLParser):
    """A page's anchors, and what it points to: (tag, attribute, address)."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.anchors: set[str] = set()
        self.pointers: list[tuple[str, str, str]] = []
        self.feed(path.read_text())

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Take up what a tag says."""
        for name, value in attrs:
            if name == "id" and value:
                self.anchors.add(value)
            elif name in ("href", "src") and value:
                self.pointers.append((tag, name, value))


def find_faults(site: Path) -> list[str]:
    """Return what is wrong with a site, one line each."""
    pages = {path.resolve(): Page(path) for path in site.rglob("*.html")}
    faults = [fault for path, page in pages.items() for fault in check_page(path, page, pages, site)]
    described = read_inventory(site / "objects.inv")
    missing = sorted({name.path for name in list_names().values()} - described)
    return sorted(faults) + [f"{name} is public and not in the reference." for name in missing]


def check_page(path: Path, page: Page, pages: dict[Path, Page], site: Path) -> Iterator[str]:
    """Yield what is wrong with the pointers of a page."""
    here = path.relative_to(site.resolve())
    for tag, attribute, address in page.pointers:
        url = urlsplit(address)
        if url.scheme or url.netloc:
            if (tag, attribute) in LOADING and url.scheme != "data":
                yield f"{here} loads {address} from outside."
            continue
        target = (path.parent / unquote(url.path)).resolve() if url.path else path
        if here.name == "404.html":
            continue  # it is shown under any address, so its own are from the root
        if not target.exists():
            yield f"{here} points to {address}, which does not exist."
        elif url.fragment and target in pages and unquote(url.fragment) not in pages[target].anchors:
            yield f"{here} points to {address}: there is no such anchor."


def read_inventory(path: Path) -> set[str]:
    """Return the names that the reference describes, from the inventory that the generator writes."""
    lines = zlib.decompress(path.read_bytes().split(b"\n", 4)[4]).decode().splitlines()
    return {line.split(" ", 1)[0] for line in lines}
