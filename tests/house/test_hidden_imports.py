"""No import hides from the contract of the floors: not in a lazy table, not behind a string, not in an assignment."""

import ast
import re

import pytest

from tests.measures.imports import (
    Arrow,
    find_circles,
    find_foreign_assignments,
    find_string_imports,
    find_upward,
    read_lazy_arrows,
)
from tests.measures.source import ALL_MODULES, ROOT, read_tree, room_of

HOME = re.compile(r'^    "(\w+)": "([^"]+)"', re.MULTILINE)

# LangChain's users look for these names in rooms below the ones that define them.
OFFERED_FROM_ABOVE = {
    ("messages", "message_toolkit"): 8,
    ("messages", "tokens"): 1,
    ("runnables", "chat_history"): 1,
}

MAY_IMPORT_BY_STRING = {
    "hocket": "its own `__dir__`",
    "hocket._runtime.lazy": "what the lazy tables name, which `test_lazy_names_come_from_floors_below` holds",
    "hocket._runtime.cancellation": "the event loops, if the program uses them",
    "hocket.callbacks.base_manager": "the bridge to the library whose handlers it is given, if the program uses that",
    "hocket.cli.named_objects": "the user's module of tools or agents, which the command line names",
    "hocket.clouds.aws": "the extra `bedrock`, which has no types",
    "hocket.clouds.google": "the extra `vertex`, which has no types",
    "hocket.http.httpx_client": "httpx, or the package that replaces it",
    "hocket.load.serializable": "the packages of hocket that may be named in serialised objects",
    "hocket.migration.table": "the rooms of hocket, to see which names they offer",
    "hocket.providers.local.engine": "the extra `local`, which has no types",
    "hocket.tokens.packages": "the packages that count tokens, which are extras",
}

# These load nothing that needs their other modules: "hocket" what loads names late, the others two modules each.
LOAD_LITTLE = {"hocket", "hocket.caches", "hocket.tracing"}

MAY_BE_ASSIGNED = {
    "hocket.callbacks.manager: AsyncRunManager.manager_class = AsyncCallbackManager": "to go",
    "hocket.callbacks.manager: RunManager.manager_class = CallbackManager": "to go",
}


def test_no_name_of_a_door_is_that_of_its_file() -> None:
    """Whoever imports the file first, as a checker does, would find the file under the name at the door."""
    doors = [path for path in (ROOT / "src/hocket").rglob("__init__.py") if "_HOMES" in path.read_text()]
    homes = [(door, *pair) for door in doors for pair in HOME.findall(door.read_text())]
    assert len(homes) > 30
    assert [(str(door), home) for door, home, names in homes if home in names.split() and home != "load"] == []


def test_lazy_names_come_from_floors_below() -> None:
    """A name that is loaded when it is asked for is an import like any other; ten of LangChain's are the exceptions."""
    upward = find_upward(read_lazy_arrows())
    counts = {
        rooms: sum((room_of(one.module), room_of(one.target)) == rooms for one in upward)
        for rooms in OFFERED_FROM_ABOVE
    }
    others = [one for one in upward if (room_of(one.module), room_of(one.target)) not in OFFERED_FROM_ABOVE]
    assert others == []
    assert counts == OFFERED_FROM_ABOVE


def test_nothing_is_imported_by_a_string() -> None:
    """A string is invisible to import-linter, to the type checkers and to a reader's editor."""
    others = [(module, call) for module, call in find_string_imports() if module not in MAY_IMPORT_BY_STRING]
    assert others == []


def test_no_package_that_loads_its_modules_is_asked_by_them() -> None:
    """Two threads that import the two at once would wait for each other, and Python fails one of them."""
    asked = [
        f"{module}: from {node.module} import ..."
        for module, path in ALL_MODULES.items()
        for node in read_tree(path).body
        if isinstance(node, ast.ImportFrom) and node.module in ALL_MODULES and module.startswith(f"{node.module}.")
        if loads_its_modules(node.module) and node.module not in LOAD_LITTLE
    ]
    assert asked == []


def loads_its_modules(package: str) -> bool:
    """Tell whether a package imports modules of its own when it is imported."""
    body = read_tree(ALL_MODULES[package]).body
    return any(isinstance(one, ast.ImportFrom) and str(one.module).startswith(f"{package}.") for one in body)


def test_no_module_sets_attributes_of_what_it_imports() -> None:
    """A class that another module completes depends on that module, and no import says so."""
    assert [line for line in find_foreign_assignments() if line not in MAY_BE_ASSIGNED] == []


@pytest.mark.parametrize(
    ("arrow", "is_upward"),
    [
        (Arrow("hocket.messages", "hocket.runnables.base", "Runnable"), True),
        (Arrow("hocket.runnables", "hocket.messages.ai", "AIMessage"), False),
        (Arrow("hocket.runnables", "hocket.runnables.base", "Runnable"), False),
        (Arrow("hocket.tools", "hocket.prompts", "PromptTemplate"), True),  # on the same floor
        (Arrow("hocket", "hocket.cli", "main"), False),
    ],
    ids=str,
)
def test_an_arrow_is_held_to_the_floors(arrow: Arrow, is_upward: bool) -> None:
    """The check itself."""
    assert find_upward(iter([arrow])) == ([arrow] if is_upward else [])


def test_every_lazy_table_is_read() -> None:
    """The reader itself: tables with several names, one without a name, and homes beside the package."""
    arrows = set(read_lazy_arrows())
    (one,) = (
        arrow for arrow in arrows if (arrow.module, arrow.name) == ("hocket.messages", "count_tokens_approximately")
    )
    assert room_of(one.target) == "tokens"
    assert Arrow("hocket.runnables.history", "hocket.chat_history.with_history", "RunnableWithMessageHistory") in arrows
    assert Arrow("hocket", "hocket.providers.openai", "ChatOpenAI") in arrows


def test_circles_are_found() -> None:
    """The finder itself: one circle of three, one of two, and what only leads into a circle."""
    edges = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a", "e"}, "e": {"d"}, "f": {"a"}}
    assert find_circles(edges) == [["a", "b", "c"], ["d", "e"]]
