"""What a program does with LangChain's modules and names, read before anything is rewritten."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

import libcst as cst
from libcst.metadata import MetadataWrapper, QualifiedNameProvider

from hocket.migration.arguments import describe_missing, find_product, has_attribute
from hocket.migration.calls import rewrite_arguments
from hocket.migration.dotted import BRIDGE, Placed, name_module, read_dotted, split_chain
from hocket.migration.findings import Finding
from hocket.migration.methods import Verb, find_verb, write_verb
from hocket.migration.table import Place, find_module, find_place, is_langchain
from hocket.prompts.hub import KNOWN
from hocket.retrievers import BaseRetriever

__all__ = ["ModuleUse", "ProgramReader"]

_ROOTS = {"langchain", "langchain_classic", "langchain_community", "langchain_core"}
"""Packages whose modules are imported by `from package import module`."""

_ATTRIBUTES = {"similarity_search_with_relevance_scores": "similarity_search_with_score"}
"""Methods that have another name here."""

_PROPERTIES = {"get_messages": "messages"}
"""Methods without arguments that are attributes here."""

_INTEGRATIONS = {"hocket.chat_history", "hocket.document_loaders", "hocket.retrievers", "hocket.vectorstores"}
"""Rooms whose classes stand for those of other vendors: what they do not take may be another's own."""

_OVER = {"to_langchain", "langchain_callbacks"}
"""What of the bridge hands hocket's objects over to LangChain's own code."""

_HUB = Place("hocket.prompts", "hub")

# Packages that work with LangChain's own messages, tools and models: a file that imports one keeps them.
_BOUND = re.compile(r"(langgraph\w*|deepagents|langserve|open_deep_research)(\.|$)")


@dataclass(frozen=True)
class ModuleUse:
    """A name that is reached through an imported module, such as ``m.HumanMessage``.

    Args:
        binding: the name that the import binds.
        chain: the whole dotted name, by LangChain's modules.
        place: where it is in hocket; None if it is not there.
        line: where it is used.
    """

    binding: str
    chain: str
    place: Place | None
    line: int


class ProgramReader(cst.CSTVisitor, Placed):
    """Collects what is needed before the rewriting: bindings, uses through them, what variables are made of.

    Args:
        keeps_files: whether the program keeps vectors on the disk.

    Attributes:
        modules: names that imports bind to LangChain's modules.
        imported: the dotted names that are imported from LangChain's modules.
        uses: names reached through those, by node.
        stars: modules of star imports, with their lines.
        renamed: attributes of hocket's objects that have another name here, by node.
        properties: those of them that are called, and are no methods here.
        verbs: calls of methods that hocket never had, and what they are now.
        has_langchain: whether anything is imported from LangChain.
        has_other_star: whether another module than LangChain's has a star import.
        first_hocket: the line where something of hocket's is imported first; None: nowhere.
        bound: an import that binds the file to LangChain's own objects, and its line.
        hands_over: a name of the bridge that hands hocket's objects over to LangChain, and its line.
        findings: attributes that hocket's classes do not have.
        refused: those of objects whose class may stay LangChain's, by the dotted name of that class.
        receivers: calls of methods, and the class of hocket's whose object they are called on, where it is known.
        is_structured: whether a model is asked for objects.
        kept: dotted names that stay LangChain's although hocket has a class for them.
    """

    def __init__(self, *, keeps_files: bool = False) -> None:
        super().__init__()
        self.keeps_files: bool = keeps_files
        self.modules: dict[str, str] = {}
        self.imported: set[str] = set()
        self.uses: dict[cst.CSTNode, ModuleUse] = {}
        self.stars: dict[str, int] = {}
        self.renamed: dict[cst.CSTNode, str] = {}
        self.properties: set[cst.CSTNode] = set()
        self.verbs: dict[cst.Call, Verb] = {}
        self.has_langchain: bool = False
        self.has_other_star: bool = False
        self.first_hocket: int | None = None
        self.bound: tuple[str, int] | None = None
        self.hands_over: tuple[str, int] | None = None
        self.findings: list[Finding] = []
        self.refused: dict[str, Finding] = {}
        self.receivers: dict[cst.Call, object] = {}
        self.is_structured: bool = False
        self.kept: set[str] = set()
        self._makers: dict[str, str] = {}
        self._loaded: dict[str, None] = {}
        self._keys: dict[str, str | None] = {}
        self._called: list[tuple[cst.Call, str, str, int]] = []
        self._awaited: set[cst.CSTNode] = set()
        self._words: set[cst.CSTNode] = set()  # names of arguments and attributes
        self._kinds: dict[str, object] = {}
        self._asked: list[tuple[cst.Attribute, str, str, int]] = []

    def read(self, program: MetadataWrapper) -> None:
        """Read a program: its imports first, since a function may use what is imported below it."""
        program.visit(_ImportReader(self))
        program.visit(self)
        for call, owner, name, line in self._called:
            if name:
                self.receivers[call] = self._kinds.get(owner)
            kind = self._kinds.get(owner, BaseRetriever)
            verb = find_verb(kind, name, self._keys.get(owner))
            if verb is None:
                continue
            is_open = verb.is_async and (verb.key or verb.is_text) and call not in self._awaited
            if not is_open and write_verb(call, verb) is not None:
                self.verbs[call] = verb
            elif not name:
                text = f"hocket's {getattr(kind, '__name__', 'object')} is not called; write {owner}.{verb.name}(...)"
                self.findings.append(Finding(line, f"{owner}(...)", text))
        replaced = {call.func for call in self.verbs}
        for node, owner, name, line in self._asked:
            kind = self._kinds.get(owner)
            if node in replaced or kind is None or name.startswith("__") or has_attribute(kind, name):
                continue
            own = _ATTRIBUTES.get(name) or _PROPERTIES.get(name)
            if own and has_attribute(kind, own):
                self.renamed[node] = own
                if name in _PROPERTIES:
                    self.properties.add(node)
            else:
                shown = getattr(kind, "__name__", "object")
                finding = Finding(line, f"{owner}.{name}", describe_missing(shown, name))
                if maker := self._makers.get(owner):
                    self.refused.setdefault(maker, finding)
                else:
                    self.findings.append(finding)
        self.kept.update(self.refused)

    def uses_of(self, binding: str) -> list[ModuleUse]:
        """Return the uses through a binding."""
        return [use for use in self.uses.values() if use.binding == binding]

    def split(self, chain: list[str]) -> tuple[Place, tuple[str, ...]] | None:
        """Return where a dotted name of LangChain's is in hocket for this program, and what follows the name."""
        if any(".".join(chain[:at]) in self.kept for at in range(2, len(chain) + 1)):
            return None
        return split_chain(chain, keeps_files=self.keeps_files)

    def is_core(self, owner: cst.BaseExpression) -> bool:
        """Whether a variable has an object that is hocket's in the place of one of langchain_core itself."""
        name = ".".join(read_dotted(owner))
        return self._kinds.get(name) is not None and name not in self._makers

    def star_names(self, module: str) -> Iterable[str]:
        """Return the names that the program takes from a star import, as far as nothing else defines them."""
        return [name for name in self._loaded if isinstance(find_place(module, name), Place)]

    def unknown_names(self) -> list[str]:
        """Return the names that nothing in the program defines, and that hocket does not have for a star import."""
        return [
            name
            for name in self._loaded
            if not name.startswith("__") and not any(name in self.star_names(module) for module in self.stars)
        ]

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False

    def visit_Arg(self, node: cst.Arg) -> None:
        self._words.update(filter(None, [node.keyword]))

    def visit_MatchKeywordElement(self, node: cst.MatchKeywordElement) -> None:
        self._words.add(node.key)

    def visit_Name(self, node: cst.Name) -> None:
        self._note_name(node)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        self.is_structured |= node.attr.value == "with_structured_output"
        parts = read_dotted(node)
        if not parts:
            return True
        self._asked.append((node, ".".join(parts[:-1]), parts[-1], self.line_of(node)))
        module = self.modules.get(parts[0])
        if module is None or not self.trace_name(node):
            self._note_name(_first_name(node))
            return False
        chain = [*module.split("."), *parts[1:]]
        found = self.split(chain)
        place, rest = found if found else (None, ())
        target: cst.BaseExpression = node
        for _ in rest:
            assert isinstance(target, cst.Attribute)
            target = target.value
        self.uses[target] = ModuleUse(parts[0], ".".join(chain), place, self.line_of(node))
        return False

    def visit_Await(self, node: cst.Await) -> None:
        self._awaited.add(node.expression)

    def visit_Call(self, node: cst.Call) -> None:
        parts = read_dotted(node.func)
        if parts and self.has_langchain:
            line = self.line_of(node)
            self._called += [(node, ".".join(parts), "", line), (node, ".".join(parts[:-1]), parts[-1], line)]
        elif isinstance(node.func, cst.Attribute):
            self.receivers[node] = self._read_kind(node.func.value)
        if self.is_bridge(node.func):
            for arg in node.args:
                if found := self._find_integration(arg.value):
                    self.refused.setdefault(found[0], Finding(self.line_of(node), found[1].name, "it is bridged"))
        if found := self._find_integration(node.func):
            name, place, attributes = found
            line = self.line_of(node)
            _, _, findings = rewrite_arguments(node.args, place, attributes, line)
            if place == _HUB and not _is_known_prompt(node):
                findings.append(Finding(line, "hub.pull", "this prompt is not known here, and none is fetched"))
            for finding in findings:
                if finding.kind == "left":
                    self.refused.setdefault(name, finding)

    def visit_Assign(self, node: cst.Assign) -> None:
        for one in node.targets:
            self._note_made(one.target, node.value)

    def visit_AnnAssign(self, node: cst.AnnAssign) -> None:
        if node.value:
            self._note_made(node.target, node.value)

    def _note_made(self, target: cst.BaseExpression, value: cst.BaseExpression) -> None:
        """Note what a variable is made of."""
        if owner := ".".join(read_dotted(target)):
            kind = self._read_kind(value)
            if kind is not None and (maker := self._find_maker(value)):
                self._makers[owner] = maker
            self._keys[owner] = _read_key(value)
            self._kinds[owner] = kind if self._kinds.get(owner, kind) is kind else None

    def _note_name(self, node: cst.Name) -> None:
        """Note a name that nothing in the program defines: a star import may have brought it."""
        if node not in self._words and not self.get_metadata(QualifiedNameProvider, node, ()):
            self._loaded[node.value] = None

    def _find_integration(self, node: cst.CSTNode) -> tuple[str, Place, tuple[str, ...]] | None:
        """Return the dotted name of an integration's class behind a name, where it is in hocket, and what follows it."""
        chain = self.trace_name(node)
        found = self.split(chain) if chain and chain[0] != "langchain_core" else None
        if found is None or (found[0].module not in _INTEGRATIONS and found[0] != _HUB):
            return None
        name = ".".join(chain[: len(chain) - len(found[1])])
        return (name, *found) if name in self.imported else None

    def _find_maker(self, value: cst.BaseExpression) -> str | None:
        found = self._find_integration(value.func) if isinstance(value, cst.Call) else None
        return found[0] if found else None

    def _read_kind(self, value: cst.BaseExpression) -> object | None:
        """Return the class of hocket's that an expression makes an object of, or None."""
        found = self.split(self.trace_name(value.func)) if isinstance(value, cst.Call) else None
        if found is None or not all(name.startswith("from_") for name in found[1]):
            return None
        return find_product(found[0])


def _read_key(value: cst.BaseExpression) -> str | None:
    """Return the name that a call gives the output of a chain, or None."""
    for arg in value.args if isinstance(value, cst.Call) else ():
        if arg.keyword and arg.keyword.value == "output_key" and isinstance(arg.value, cst.SimpleString):
            key = arg.value.evaluated_value
            return key if isinstance(key, str) else None
    return None


def _is_known_prompt(node: cst.Call) -> bool:
    """Whether a prompt is pulled by a name that is known here."""
    name = node.args[0].value if node.args else None
    value = name.evaluated_value if isinstance(name, cst.SimpleString) else None
    return isinstance(value, str) and value.partition(":")[0] in KNOWN


def _first_name(node: cst.Attribute) -> cst.Name:
    inner = node.value
    while isinstance(inner, cst.Attribute):
        inner = inner.value
    assert isinstance(inner, cst.Name)
    return inner


class _ImportReader(cst.CSTVisitor, Placed):
    """Collects the imports of a program into a reader."""

    def __init__(self, reader: ProgramReader) -> None:
        super().__init__()
        self._reader = reader

    def visit_Import(self, node: cst.Import) -> None:
        for alias in node.names:
            module = ".".join(read_dotted(alias.name))
            self._note_module(module, node)
            if is_langchain(module):
                self._reader.has_langchain = True
                binding = read_dotted(alias.asname.name) if alias.asname else [module.partition(".")[0]]
                self._reader.modules[binding[0]] = module if alias.asname else binding[0]

    def visit_ImportFrom(self, node: cst.ImportFrom) -> None:
        module = name_module(node)
        self._note_module(module, node)
        names = (
            [] if isinstance(node.names, cst.ImportStar) else [".".join(read_dotted(one.name)) for one in node.names]
        )
        if module == BRIDGE and (over := [name for name in names if name in _OVER]):
            self._reader.hands_over = (f"{BRIDGE}.{over[0]}", self.line_of(node))
        if not is_langchain(module):
            self._reader.has_other_star |= isinstance(node.names, cst.ImportStar)
            return
        self._reader.has_langchain = True
        if isinstance(node.names, cst.ImportStar):
            self._reader.stars[module] = self.line_of(node)
            return
        for alias in node.names:
            name = ".".join(read_dotted(alias.name))
            self._reader.imported.add(f"{module}.{name}")
            is_room = module in _ROOTS and name.islower() and not isinstance(find_place(module, name), Place)
            if is_room and find_module(f"{module}.{name}"):
                binding = read_dotted(alias.asname.name) if alias.asname else [name]
                self._reader.modules[binding[0]] = f"{module}.{name}"

    def _note_module(self, module: str, node: cst.CSTNode) -> None:
        if module.partition(".")[0] == "hocket" and self._reader.first_hocket is None:
            self._reader.first_hocket = self.line_of(node)
        if _BOUND.match(module) and self._reader.bound is None:
            self._reader.bound = (module, self.line_of(node))
