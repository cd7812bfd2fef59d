"""The sources of hocket: files, modules, rooms, and the contract of the floors."""

import ast
import functools
import importlib.util
import tomllib
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
FILES = sorted((SRC / "hocket").rglob("*.py"))


def name_of(path: Path) -> str:
    """Turn a file into the dotted name of its module."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


ALL_MODULES = {name_of(path): path for path in FILES}
# The package `mcp` wants a newer pydantic than the lowest that hocket takes: with that one, what needs it is left out.
HAS_MCP = importlib.util.find_spec("mcp") is not None
HAS_LANGCHAIN = importlib.util.find_spec("langchain_core") is not None  # it comes with `dev`, and not with `test`
HAS_LIBCST = importlib.util.find_spec("libcst") is not None
HAS_OTEL = importlib.util.find_spec("opentelemetry") is not None and bool(importlib.util.find_spec("opentelemetry.sdk"))
NOT_FOR_IMPORT = (
    "hocket.__main__",
    *(() if HAS_MCP else ("hocket.agents.mcp",)),
    *(() if HAS_LANGCHAIN else ("hocket.interop.langchain",)),
    *(() if HAS_LIBCST else ("hocket.migration",)),
)
MODULES = {name: path for name, path in ALL_MODULES.items() if not name.startswith(NOT_FOR_IMPORT)}
PUBLIC_MODULES = {name: path for name, path in MODULES.items() if "._" not in name}


@functools.cache
def read_tree(path: Path) -> ast.Module:
    """Parse a file once."""
    return ast.parse(path.read_text(), str(path))


@functools.cache
def read_nodes(path: Path) -> list[ast.AST]:
    """Return all nodes of a file's tree, which is long to walk through."""
    return list(ast.walk(read_tree(path)))


def show_path(path: Path) -> str:
    """Return a file's path as people write it, from the root of the project."""
    return str(path.relative_to(ROOT))


def room_of(module: str) -> str:
    """Return the room of a module: the first name below ``hocket``; ``hocket`` itself for the package."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


@functools.cache
def read_contracts() -> dict[str, dict[str, Any]]:
    """Return the contracts of import-linter in pyproject.toml, by id."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    return {contract["id"]: contract for contract in settings["contracts"]}


def read_floors() -> list[list[str]]:
    """Return the rooms of each floor of the contract, the highest floor first."""
    return [[room.strip().strip("()") for room in layer.split("|")] for layer in read_contracts()["floors"]["layers"]]


def read_exceptions() -> set[tuple[str, str]]:
    """Return the imports that the contract of the floors names as its exceptions: (importer, imported)."""
    edges = (edge.split(" -> ") for edge in read_contracts()["floors"].get("ignore_imports", []))
    return {(importer, imported) for importer, imported in edges}
