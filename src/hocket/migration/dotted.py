"""Dotted names in a program: read off its tree, and followed to what they stand for."""

from collections.abc import Collection
from typing import Any, ClassVar

import libcst as cst
from libcst.metadata import CodeRange, PositionProvider, QualifiedNameProvider, QualifiedNameSource

from hocket.migration.table import Place, find_place, is_langchain

__all__ = ["BRIDGE", "Placed", "name_module", "read_dotted", "split_chain"]

BRIDGE = "hocket.interop.langchain"
"""The room whose `from_langchain` is put around what stays."""


def read_dotted(node: cst.CSTNode | None) -> list[str]:
    """Return the names of a dotted expression; none, if it is more than names."""
    match node:
        case cst.Name():
            return [node.value]
        case cst.Attribute():
            base = read_dotted(node.value)
            return [*base, node.attr.value] if base else []
        case _:
            return []


def name_module(node: cst.ImportFrom) -> str:
    """Return the module that names are imported from; an empty text for a relative import."""
    return "" if node.relative else ".".join(read_dotted(node.module))


def split_chain(parts: list[str], *, keeps_files: bool = False) -> tuple[Place, tuple[str, ...]] | None:
    """Return where a dotted name of LangChain's is in hocket, and what follows the name; None if no part is there.

    Args:
        parts: the name.
        keeps_files: whether the program keeps vectors on the disk.
    """
    for at in range(1, len(parts)):
        place = find_place(".".join(parts[:at]), parts[at], keeps_files=keeps_files)
        if isinstance(place, Place):
            return place, tuple(parts[at + 1 :])
    return None


class Placed(cst.MetadataDependent):
    """A visitor that asks where a node stands, and what its name stands for."""

    METADATA_DEPENDENCIES: ClassVar[Collection[Any]] = (PositionProvider, QualifiedNameProvider)

    def trace_name(self, node: cst.CSTNode) -> list[str]:
        """Return the dotted name, by LangChain's modules, that a name or attribute stands for; none, if it is another's.

        What a call returns has no name: ``RunnableParallel(...).pick`` stands for nothing here.
        """
        if not read_dotted(node):
            return []
        names = list(self.get_metadata(QualifiedNameProvider, node, ()) or ())
        is_clear = bool(names) and all(one.source is QualifiedNameSource.IMPORT for one in names)  # nor assigned again
        return names[0].name.split(".") if is_clear and is_langchain(names[0].name) else []

    def is_bridge(self, func: cst.CSTNode) -> bool:
        """Whether a name stands for the bridge to LangChain's objects."""
        names = self.get_metadata(QualifiedNameProvider, func, ()) or ()
        return any(one.name == f"{BRIDGE}.from_langchain" for one in names)

    def line_of(self, node: cst.CSTNode) -> int:
        """Return the line where a node begins."""
        place = self.get_metadata(PositionProvider, node)
        assert isinstance(place, CodeRange)
        return place.start.line
