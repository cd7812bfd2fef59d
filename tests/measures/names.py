"""Functions that are called by a bare participle, and public names with two definitions."""

import ast
from typing import NamedTuple

from tests.measures.source import MODULES, read_nodes, read_tree

# Past forms that do not end in -ed. Verbs whose past form is also their imperative (put, cut, set, read, split, run) are
# not here: as the name of a function they are a command.
_IRREGULAR_TEXT = """
arisen awoken beaten become been began begot begun bent bet bitten bled blown born borne bought bound bred broken
brought built burnt came caught chosen clung crept dealt done drawn dreamt driven drunk dug dwelt eaten fallen fed
felt flown flung forbidden forgiven forgot forgotten fought found frozen gave given gone got gotten ground grown had
heard held hidden hung kept knelt knew known laid lain leapt learnt led left lent lit lost made meant met mistaken
overridden paid proven ran ridden risen rung said sat saw seen sent sewn shaken shone shot shown shrunk slain slept
slid slung sold sought sown spelt spent spoiled spoke spoken sprung spun stolen stood strewn striven struck stuck
stung sung sunk swept sworn swollen swum swung taken taught thought thrown told took torn understood went wept won
worn wound woven written wrote wrung
"""
# Words in -ed that are no past forms, or are names of things.
_NO_PARTICIPLES_TEXT = """
aembed bed bleed breed embed exceed feed heed indeed instead need proceed red seed shed speed succeed weed
"""
_IRREGULAR = frozenset(_IRREGULAR_TEXT.split())
_NO_PARTICIPLES = frozenset(_NO_PARTICIPLES_TEXT.split())
_PREFIXES = ("un", "re", "over", "mis", "under", "out", "with", "up")


class Function(NamedTuple):
    """A function of the package: its module, its name (with its class, for a method), and whether it is a method."""

    module: str
    name: str
    is_method: bool


def is_participle(word: str) -> bool:
    """Return whether a name is one English word, in lower case: the past form or the past participle of a verb."""
    if word in _NO_PARTICIPLES or "_" in word:
        return False
    bare = next((word.removeprefix(one) for one in _PREFIXES if word.removeprefix(one) in _IRREGULAR), word)
    return bare in _IRREGULAR or (len(word) > 4 and word.endswith("ed"))


def find_functions() -> list[Function]:
    """Return the functions and methods of hocket. A property is a value, and a name of Python's own is not ours."""
    kinds = ast.FunctionDef | ast.AsyncFunctionDef
    found = []
    for module, path in MODULES.items():
        tree = read_tree(path)
        found += [Function(module, node.name, is_method=False) for node in tree.body if isinstance(node, kinds)]
        for owner in (node for node in read_nodes(path) if isinstance(node, ast.ClassDef)):
            found += [
                Function(module, f"{owner.name}.{node.name}", is_method=True)
                for node in owner.body
                if isinstance(node, kinds) and not node.name.startswith("__") and not _is_value(node)
            ]
    return found


def _is_value(node: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    names = {ast.unparse(one).rpartition(".")[2].partition("(")[0] for one in node.decorator_list}
    return bool(names & {"property", "cached_property", "setter", "computed_field"})


def find_participles() -> list[Function]:
    """Return the functions and methods whose whole name is one word, and a participle."""
    return [one for one in find_functions() if is_participle(one.name.rpartition(".")[2].strip("_"))]


def find_double_names() -> dict[str, list[str]]:
    """Return the public classes and functions that more than one module defines at its top, with these modules.

    Providers do the same things, each in a room of its own, and call them by the same names: there they count once.
    """
    homes: dict[str, list[str]] = {}
    for module, path in MODULES.items():
        names = {
            node.name
            for node in read_tree(path).body
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and not node.name.startswith("_")
        }
        for name in names:
            homes.setdefault(name, []).append(module)
    return {name: modules for name, modules in sorted(homes.items()) if len(set(map(_room_of, modules))) > 1}


def _room_of(module: str) -> str:
    return "providers" if module.startswith("hocket.providers.") else module
