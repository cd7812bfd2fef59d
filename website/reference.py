"""The reference: a page for every public package, with every public name of its modules.

The sources are read, not imported, so that no extra is needed. A page opens with a table of its names. A name that several
modules offer is described once, on the page of the shortest of its paths; ``hocket`` itself, the door to names of all
rooms, has only the table, which leads there.
"""

from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import griffe

from website.pages import ROOT

DOOR = "hocket"
WITH_INHERITED = {"hocket.language_models.BaseChatModel"}  # what people call most is all in one place


@dataclass(frozen=True)
class Name:
    """A public name: the path that it is described under, the module that offers it there, and what it is."""

    path: str
    module: str
    target: griffe.Object | griffe.Alias

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return summarise(self.target)


@cache
def load() -> griffe.Module:
    """Read the sources."""
    package = griffe.load(DOOR, search_paths=[ROOT / "src"], resolve_aliases=True, allow_inspection=False)
    assert isinstance(package, griffe.Module)
    return package


def walk(module: griffe.Module) -> Iterator[griffe.Module]:
    """Yield a module and all public ones inside it."""
    yield module
    for inner in module.members.values():
        if isinstance(inner, griffe.Module) and not inner.name.startswith("_"):
            yield from walk(inner)


def offered(module: griffe.Module) -> Iterator[tuple[str, griffe.Object | griffe.Alias]]:
    """Yield the names of a module's `__all__`, each with what it stands for."""
    for exported in module.exports or []:
        name = str(exported)
        member = module.members[name]
        if isinstance(member, griffe.Module):  # a function like `load` hides the module of its name
            member = member.members[name]
        yield name, member.final_target if isinstance(member, griffe.Alias) else member


def list_names() -> dict[str, Name]:
    """Return every public name, by each of the paths that it is offered under."""
    paths = defaultdict(list)
    for module in walk(load()):
        for name, target in offered(module):
            paths[target.path].append(Name(f"{module.path}.{name}", module.path, target))
    names: dict[str, Name] = {}
    for places in paths.values():
        home = min(places, key=lambda place: (place.module == DOOR, place.path.count("."), place.path))
        names |= {place.path: home for place in places}
    return names


def page_of(module: str) -> str:
    """Return the page that describes the names of a module: its package's, unless it is a room of one file."""
    is_page = find_module(module).is_init_module or module.count(".") == 1
    return module if is_page else module.rpartition(".")[0]


def find_module(path: str) -> griffe.Module:
    """Return the module of a dotted path."""
    found = load() if path == DOOR else load()[path.removeprefix(f"{DOOR}.")]
    assert isinstance(found, griffe.Module)
    return found


def list_reference() -> dict[str, list[Name]]:
    """Return the packages that have a page, each with the names described there: its own first, then its modules'."""
    pages: dict[str, list[Name]] = defaultdict(list, {DOOR: []})
    for name in set(list_names().values()):
        pages[page_of(name.module)].append(name)
    for page, names in pages.items():
        names.sort(key=lambda name: (name.module != page, name.module, name.path.lower()))
    return dict(sorted(pages.items()))


def write_reference(to: Path) -> None:
    """Write the pages of the reference, and the one that leads to them."""
    to.mkdir()
    pages = list_reference()
    for page, names in pages.items():
        (to / f"{page}.md").write_text(render(page, names))
    (to / "index.md").write_text(render_index(list(pages)))


def render(page: str, names: list[Name]) -> str:
    """Return the page of a package: its docstring, a table of its names, then each of them."""
    package = find_module(page)
    parts = [f"# {page}\n", package.docstring.value if package.docstring else ""]
    parts.append(render_table(page, list_door() if page == DOOR else names))
    module = page
    for name in names:
        if name.module != module:
            module = name.module
            parts.append(f"## Module {module.removeprefix(page)[1:]}\n\n`{module}`: {summarise(find_module(module))}\n")
        level = 2 if module == page else 3
        inherited = ", inherited_members: true" if name.path in WITH_INHERITED else ""
        parts.append(f"::: {name.path}\n    options: {{heading_level: {level}{inherited}}}\n")
    return "\n\n".join(parts)


def list_door() -> list[Name]:
    """Return the names that may be imported from `hocket` itself, which are described on other pages."""
    names = list_names()
    return [names[f"{DOOR}.{name}"] for name, _ in offered(load())]


def render_table(page: str, names: list[Name]) -> str:
    """Return the table of a page's names, each with what its docstring says first and a link to where it says the rest."""
    lines = ["| name | |", "| --- | --- |"]
    for name in names:
        shown = name.path.rpartition(".")[2] if page == DOOR else name.path.removeprefix(f"{page}.")
        lines.append(f"| [`{shown}`][{name.path}] | {name.summary.replace('|', '&#124;')} |")
    return "\n".join([*lines, ""])


def render_index(pages: list[str]) -> str:
    """Return the page that lists the packages."""
    lines = ["# Reference\n", "Every public name, from its docstring.\n", "| package | |", "| --- | --- |"]
    for page in pages:
        package = find_module(page)
        lines.append(f"| [`{page}`]({page}.md) | {summarise(package)} |")
    return "\n".join([*lines, ""])


def summarise(found: griffe.Object | griffe.Alias) -> str:
    """Return the first paragraph of a docstring, on one line."""
    return " ".join(found.docstring.value.partition("\n\n")[0].split()).rstrip(":") if found.docstring else ""
