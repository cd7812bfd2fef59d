"""What stays LangChain's in a program that moves: integrations that hocket has no equal of, and where they are called.

A class of LangChain's that is called takes LangChain's objects and gives them, and the rest of the program has hocket's. So
`from_langchain` is put around it where it is called, and where it is handed to something that moved:
``from_langchain(Qdrant.from_documents)(documents, embedding)``. Where its objects go need not be known for that: the bridge
converts what it knows and leaves what it does not.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import libcst as cst
from libcst.metadata import MetadataWrapper

from hocket.migration.dotted import Placed, name_module, read_dotted
from hocket.migration.findings import Finding
from hocket.migration.table import Absence, find_place, is_langchain
from hocket.migration.uses import ProgramReader

__all__ = ["Stayer", "StayingReader", "find_home"]

_CHANGE = "change that call, and run the command again"
_MAKERS = frozenset(
    {
        *("get_tools", "aget_tools"),
        *("split_documents", "create_documents", "transform_documents", "atransform_documents"),
        *("batch_as_completed", "load_and_split"),
    }
)
"""Methods of objects that have no form in hocket (toolkits, splitters), which take or give objects that have one."""

_CLASSIC = frozenset(
    {
        *("adapters", "agents", "base_language", "base_memory", "cache"),
        *("callbacks", "chains", "chat_loaders", "chat_models", "docstore"),
        *("document_loaders", "document_transformers", "embeddings", "env", "evaluation"),
        *("example_generator", "formatting", "globals", "graphs", "hub"),
        *("indexes", "input", "llms", "load", "memory"),
        *("model_laboratory", "output_parsers", "prompts", "python", "requests"),
        *("retrievers", "runnables", "schema", "serpapi", "smith"),
        *("sql_database", "storage", "text_splitter", "tools", "utilities"),
        *("utils", "vectorstores"),
    }
)
"""The rooms of langchain_classic 1.0, which has what LangChain had before its version 1."""
_NEW_MODULES = ("agents.factory", "agents.middleware", "agents.structured_output", "tools.tool_node")
"""Modules in such a room that came with LangChain 1, and are there alone."""
_NEW_NAMES: Mapping[str, frozenset[str]] = {
    "agents": frozenset({"AgentState", "create_agent"}),
    "tools": frozenset({"InjectedState", "InjectedStore", "ToolNode", "ToolRuntime"}),
}
"""The same for names of a room that both have."""


@dataclass
class Stayer:
    """A name that stays LangChain's.

    Args:
        absence: why it stays.
        bridged: how many uses of it go through the bridge.
        others: the lines where it is used as it is, as a base class for one.
        is_done: whether the program has a use that went through the bridge before.
    """

    absence: Absence
    bridged: int = 0
    others: list[int] = field(default_factory=list[int])
    is_done: bool = False

    def describe(self, name: str, line: int) -> Iterator[Finding]:
        """Yield what is to be said of it.

        Args:
            name: the name, with its module.
            line: where it is imported.
        """
        reason, way_out = self.absence.reason, self.absence.way_out
        if self.bridged:
            text = f"{reason}; it stays LangChain's and goes through from_langchain (hocket[langchain]); or {way_out}"
            yield Finding(line, name, text, "check")
        for other in self.others:
            yield Finding(other, name, f"{reason}, and no bridge goes around this use of LangChain's own; {way_out}")
        if not (self.bridged or self.others or self.is_done):
            yield Finding(line, name, f"{reason}, and nothing here calls it; remove the import, or {way_out}")


def find_home(module: str, name: str) -> str:
    """Return the module of today's LangChain that has a name which stays there."""
    package, _, rest = module.partition(".")
    room = rest.partition(".")[0]
    is_old = not rest or (room in _CLASSIC and not f"{rest}.".startswith(tuple(f"{one}." for one in _NEW_MODULES)))
    is_new = not is_old or name in _NEW_NAMES.get(room, ())
    return module if package != "langchain" or is_new else f"langchain_classic{module.removeprefix('langchain')}"


class StayingReader(cst.CSTVisitor, Placed):
    """Finds what stays LangChain's, and where the bridge goes.

    Args:
        reader: what was read of the program before.

    Attributes:
        stayers: by the dotted name that an import binds, such as ``langchain_community.retrievers.BM25Retriever``.
        wrapped: the names, attributes and calls that `from_langchain` is put around.
        done: those that it is around already.
    """

    def __init__(self, reader: ProgramReader) -> None:
        super().__init__()
        self.stayers: dict[str, Stayer] = {}
        self.wrapped: set[cst.CSTNode] = set()
        self._reader = reader
        self.done: set[cst.CSTNode] = set()
        self._owners: set[str] = set()

    def read(self, program: MetadataWrapper) -> None:
        """Read a program, after the reader has."""
        for name, finding in self._reader.refused.items():
            absence = Absence(
                f"hocket's class would not take line {finding.line} ({finding.text})", _CHANGE, is_bridged=True
            )
            self.stayers[name] = Stayer(absence)
        program.visit(_StayingImports(self.stayers, self._reader))
        program.visit(self)

    def find(self, node: cst.CSTNode) -> Stayer | None:
        """Return what stays behind a dotted name, or None."""
        return self.find_chain(".".join(self.trace_name(node)))

    def find_chain(self, chain: str) -> Stayer | None:
        """Return what stays behind a dotted name of LangChain's, or None."""
        parts = chain.split(".")
        names = (".".join(parts[:at]) for at in range(1, len(parts) + 1))
        return next((self.stayers[name] for name in names if name in self.stayers), None)

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Annotation(self, node: cst.Annotation) -> bool:
        return False

    def visit_Assign(self, node: cst.Assign) -> None:
        self._note_owners(node.value, [one.target for one in node.targets])

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        self._note_owners(node.value, [node.target])

    def visit_With(self, node: cst.With) -> None:
        for item in node.items:
            self._note_owners(item.item, [item.asname.name] if item.asname else [])

    def visit_Decorator(self, node: cst.Decorator) -> None:
        """Put the bridge around a decorator, and around what a call gives that makes one."""
        made = node.decorator
        if not isinstance(made, cst.Call):
            self._wrap(made)
        elif self.find(made.func):
            self.wrapped.add(made)

    def visit_Call(self, node: cst.Call) -> None:
        if self.is_bridge(node.func):
            for arg in node.args:
                self._finish(arg.value)
            return
        self._wrap(node.func)
        if self._makes_more(node.func):
            self.wrapped.add(node.func)
        if self._reader.split(self.trace_name(node.func)):
            for arg in node.args:
                if not "".join(read_dotted(arg.value)[-1:]).isupper():
                    self._wrap(arg.value)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        parts = read_dotted(node)
        if parts:
            self._note(node)
        return not parts

    def visit_Name(self, node: cst.Name) -> None:
        self._note(node)

    def _note_owners(self, value: cst.BaseExpression | None, targets: Sequence[cst.BaseExpression]) -> None:
        """Note what an object that stays is called."""
        if isinstance(value, cst.Call) and self.find(value.func):
            self._owners.update(filter(None, (".".join(read_dotted(one)) for one in targets)))

    def _wrap(self, node: cst.CSTNode) -> None:
        if stayer := self.find(node):
            stayer.bridged += 1
            self.wrapped.add(node)

    def _finish(self, node: cst.CSTNode) -> None:
        self.done.add(node)
        if stayer := self.find(node):
            stayer.is_done = True

    def _note(self, node: cst.CSTNode) -> None:
        """Note a use of what stays that the bridge cannot go around."""
        if node not in self.wrapped and node not in self.done and (stayer := self.find(node)):
            stayer.others.append(self.line_of(node))

    def _makes_more(self, func: cst.CSTNode) -> bool:
        """Whether a method that takes or gives bridged objects is called, of an object that stays."""
        if not isinstance(func, cst.Attribute) or func.attr.value not in _MAKERS:
            return False
        owner = func.value
        return ".".join(read_dotted(owner)) in self._owners or (
            isinstance(owner, cst.Call) and self.find(owner.func) is not None
        )


class _StayingImports(cst.CSTVisitor, Placed):
    """Collects the names that stay: those of ``from`` imports, and those behind a module."""

    def __init__(self, stayers: dict[str, Stayer], reader: ProgramReader) -> None:
        super().__init__()
        self._stayers = stayers
        self._reader = reader

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = name_module(node)
        names = () if isinstance(node.names, cst.ImportStar) else node.names
        for name in (".".join(read_dotted(alias.name)) for alias in names):
            if f"{module}.{name}" not in self._reader.modules.values():
                self._add(module, name)

    def visit_Attribute(self, node: cst.Attribute) -> None:
        parts = self.trace_name(node)
        for module in _list_modules(parts):
            if module in self._reader.modules.values() and self._reader.split(parts) is None:
                self._add(module, parts[module.count(".") + 1])

    def _add(self, module: str, name: str) -> None:
        place = find_place(module, name, keeps_files=self._reader.keeps_files)
        if is_langchain(module) and isinstance(place, Absence) and place.is_bridged:
            self._stayers.setdefault(f"{module}.{name}", Stayer(place))


def _list_modules(parts: list[str]) -> Iterator[str]:
    """Yield what may be the module of a dotted name, the longest first."""
    return (".".join(parts[:at]) for at in range(len(parts) - 1, 0, -1))
