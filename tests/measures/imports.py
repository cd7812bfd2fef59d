"""Import circles, and arrows between modules that the import linter does not see."""

import ast
import importlib
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import grimp

from tests.measures.source import ALL_MODULES, MODULES, read_exceptions, read_floors, read_nodes, read_tree, room_of


class Arrow(NamedTuple):
    """A module that comes by a name of another module without importing it in a statement."""

    module: str
    target: str
    name: str


def find_circles(edges: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the sets of nodes that all reach one another, the largest first; a node alone is no circle."""

    def reach(start: str) -> set[str]:
        seen, rest = set[str](), [start]
        while rest:
            found = edges.get(rest.pop(), set()) - seen
            seen |= found
            rest += found
        return seen

    reached = {node: reach(node) for node in edges}
    circles = {frozenset(other for other in reached[node] if node in reached[other]) for node in edges}
    return sorted((sorted(circle) for circle in circles if len(circle) > 1), key=lambda circle: (-len(circle), circle))


def find_import_circles() -> list[list[str]]:
    """Return the modules of hocket that import one another, for typing too; the contract's exceptions are left out."""
    graph = grimp.build_graph("hocket", exclude_type_checking_imports=False, cache_dir=None)
    exceptions = read_exceptions()
    edges = {
        module: {one for one in graph.find_modules_directly_imported_by(module) if (module, one) not in exceptions}
        for module in graph.modules
    }
    return find_circles(edges)


def read_lazy_arrows() -> Iterator[Arrow]:
    """Yield the arrow of each entry of every table that a module gives to `loader`.

    The tables are found in the sources, so a new one counts too, whatever it is called.
    """
    for module, path in MODULES.items():
        for node in read_nodes(path):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "loader":
                names = vars(importlib.import_module(module))
                package, table = (eval(ast.unparse(argument), dict(names)) for argument in node.args)
                for home, names in table.items():
                    target = importlib.util.resolve_name(f".{home}", package)
                    yield from (Arrow(module, target, name) for name in names.split())


def find_upward(arrows: Iterator[Arrow]) -> list[Arrow]:
    """Return the arrows that lead out of their room to one that is not on a floor below it."""
    floor_of = {room: number for number, rooms in enumerate(read_floors()) for room in rooms}
    floor_of["hocket"] = -1  # the package itself, which offers names of all rooms
    return [
        arrow
        for arrow in arrows
        if room_of(arrow.module) != room_of(arrow.target)
        and floor_of[room_of(arrow.target)] <= floor_of[room_of(arrow.module)]
    ]


_IMPORTERS = {"import_module", "__import__", "resolve_name"}


def find_string_imports() -> list[tuple[str, str]]:
    """Return each import by a string: the module that does it, and the call or the look into `sys.modules`."""
    found = []
    for module, path in ALL_MODULES.items():
        for node in read_nodes(path):
            if not isinstance(node, ast.Call | ast.Subscript):
                continue
            name = ast.unparse(node.func if isinstance(node, ast.Call) else node.value)
            is_call = isinstance(node, ast.Call) and name.rpartition(".")[2] in _IMPORTERS
            is_look_up = isinstance(node, ast.Subscript) and name == "sys.modules"
            is_get = isinstance(node, ast.Call) and name in ("sys.modules.get", "vars.get")
            if is_call or is_look_up or is_get:
                found.append((module, ast.unparse(node)))
    return found


def find_foreign_assignments() -> list[str]:
    """Return the attributes that a module sets, while it is imported, on something it has imported."""
    found = []
    for module, path in ALL_MODULES.items():
        tree = read_tree(path)
        setting = [(node, targets) for node in _statements_at_import(tree.body) if (targets := _targets(node))]
        imported = _imported_names(tree) if setting else set()  # walks the whole tree: once, and where it is needed
        found += [f"{module}: {ast.unparse(node)}" for node, targets in setting if targets & imported]
    return found


def _statements_at_import(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements that run when a module is imported, those inside ``if``, ``with`` and ``try`` too."""
    for node in body:
        yield node
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            for field in ("body", "orelse", "finalbody"):
                yield from _statements_at_import(getattr(node, field, []))


def _imported_names(tree: ast.Module) -> set[str]:
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom))
    return {(alias.asname or alias.name).partition(".")[0] for node in imports for alias in node.names}


def _targets(node: ast.stmt) -> set[str]:
    """Return the names of the objects whose attributes a statement sets."""
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        is_set = ast.unparse(node.value.func) in ("setattr", "type.__setattr__", "object.__setattr__")
        return {ast.unparse(node.value.args[0]).partition(".")[0]} if is_set else set()
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    return {ast.unparse(one.value).partition(".")[0] for one in targets if isinstance(one, ast.Attribute)}
