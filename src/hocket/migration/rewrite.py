"""One program rewritten: its imports, the names behind them, and the arguments of what it calls.

The syntax tree keeps every comment and blank. A name that hocket calls otherwise is imported under its old name
(``from hocket.errors import LLMError as ModelError``), so that the rest of the program, its strings and its pickles hold.
"""

from collections.abc import Collection, Mapping
from typing import cast

import libcst as cst
from libcst import matchers
from libcst.codemod import CodemodContext
from libcst.codemod.visitors import AddImportsVisitor, ImportItem
from libcst.metadata import MetadataWrapper, QualifiedNameProvider

from hocket.migration.arguments import list_fields
from hocket.migration.calls import CONSTRUCTORS, rename_field_arguments, rewrite_arguments, write_retried_types
from hocket.migration.dotted import Placed, name_module, read_dotted
from hocket.migration.findings import Finding, Rewriting
from hocket.migration.imports import Written, write_import, write_import_from
from hocket.migration.limits import LIMITS
from hocket.migration.meanings import MeaningReader
from hocket.migration.methods import write_awaited, write_verb
from hocket.migration.reading import TOO_DEEP, NotPython, read_program
from hocket.migration.sdk_errors import describe_own_error, list_caught
from hocket.migration.staying import StayingReader
from hocket.migration.subclasses import SubclassReader
from hocket.migration.table import find_module, is_langchain
from hocket.migration.texts import judge_beginning, judge_text
from hocket.migration.uses import ProgramReader

__all__ = ["rewrite_program"]

_KINDS: Mapping[type[cst.BaseExpression], str] = {
    cst.SimpleString: "str",
    cst.ConcatenatedString: "str",
    cst.FormattedString: "str",
}
"""What a field is annotated with, by its value."""

_STARTS = frozenset({"on_llm_start", "on_chat_model_start"})
_SERIALIZED = (
    "serialized['kwargs'] has the fields of hocket's model: 'model', where langchain-openai's has 'model_name'; any model's "
    "name is metadata['ls_model_name']"
)

_BRIDGE = (
    "it works with LangChain's own messages, models and tools, so the whole file stays as it is; hand hocket's over, "
    "those of other files, too, with hocket.interop.langchain.to_langchain, or use hocket.agents.create_agent instead. "
    "What can do without this import is moved once it is in a file of its own"
)
_HANDED = "the program hands hocket's objects over to LangChain, so what it has of LangChain's stays as it is"
_BOTH = "the program had this beside LangChain's, which is hocket's now, too; look where it told the two apart"


def rewrite_program(code: bytes) -> Rewriting:
    """Rewrite a program.

    Args:
        code: its text, as it is on the disk.

    Returns:
        The text as it is now, and what was not moved.

    Raises:
        NotPython: it is no Python, or nests too deep.
    """
    program = read_program(code)
    try:
        return _rewrite(program, code)
    except RecursionError:
        raise NotPython(TOO_DEEP) from None


def _rewrite(program: MetadataWrapper, code: bytes) -> Rewriting:
    reader = ProgramReader(keeps_files=b"persist_directory" in code)
    reader.read(program)
    if reader.hands_over and reader.has_langchain:
        return Rewriting(code, findings=[Finding(reader.hands_over[1], reader.hands_over[0], _HANDED, "check")])
    if reader.bound:
        name, line = reader.bound
        has_langchain = b"langchain" in code
        return Rewriting(code, findings=[Finding(line, name, _BRIDGE)] if has_langchain else [])
    staying = StayingReader(reader)
    staying.read(program)
    writer = _ProgramWriter(reader, staying)
    subclasses, meanings = SubclassReader(reader), MeaningReader(reader)
    program.visit(subclasses)
    meanings.read(program)
    changed = program.visit(writer)
    if LIMITS in changed.code and LIMITS not in program.module.code:
        changed = AddImportsVisitor(CodemodContext(), [ImportItem("hocket")]).transform_module(changed)
    after = changed.bytes if writer.moved else code
    findings = {*writer.findings, *reader.findings, *subclasses.findings, *meanings.findings}
    if after != code and reader.first_hocket:
        findings.add(Finding(reader.first_hocket, "hocket", _BOTH, "check"))
    return Rewriting(after, writer.moved, sorted(findings))


class _ProgramWriter(cst.CSTTransformer, Placed):
    """Rewrites what the reader found."""

    def __init__(self, reader: ProgramReader, staying: StayingReader) -> None:
        super().__init__()
        self._reader = reader
        self._staying = staying
        self._depth = 0  # of indentation
        self._has_bridge = False
        self.moved = 0
        self.findings: list[Finding] = []
        self._callers: list[str] = []

    def _take(self, written: Written) -> list[cst.BaseSmallStatement]:
        self.moved += written.moved
        self.findings += written.findings
        if written.needs_bridge and not self._has_bridge:
            written.import_bridge()
            self._has_bridge = self._depth == 0  # inside of a function or a `try` it may not be reached
        return written.statements

    def visit_IndentedBlock(self, node: cst.IndentedBlock) -> None:
        self._depth += 1

    def leave_IndentedBlock(self, original_node: cst.IndentedBlock, updated_node: cst.IndentedBlock) -> cst.BaseSuite:
        self._depth -= 1
        return updated_node

    def visit_FunctionDef(self, node: cst.FunctionDef) -> None:
        """Tell of a handler that looks for the name of a model among the fields of LangChain's."""
        if node.name.value in _STARTS and self._reader.has_langchain:
            for text in matchers.findall(node.body, matchers.SimpleString()):
                if cst.ensure_type(text, cst.SimpleString).evaluated_value == "model_name":
                    self.findings.append(Finding(self.line_of(text), node.name.value, _SERIALIZED, "check"))

    def visit_ExceptHandler(self, node: cst.ExceptHandler) -> None:
        """Tell of errors of a provider's SDK."""
        for caught in list_caught(node) if self._reader.has_langchain else ():
            names = frozenset(self.get_metadata(QualifiedNameProvider, caught, ()) or ())
            text = describe_own_error(names, is_structured=self._reader.is_structured)
            if text is not None:
                name = ".".join(read_dotted(caught)) if isinstance(caught, cst.Name | cst.Attribute) else "except"
                self.findings.append(Finding(self.line_of(caught), name, text, "check"))

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.BaseExpression:
        return _bridge(updated_node) if original_node in self._staying.wrapped else updated_node

    def leave_Import(self, original_node: cst.Import, updated_node: cst.Import) -> cst.BaseSmallStatement:
        if not any(is_langchain(".".join(read_dotted(one.name))) for one in original_node.names):
            return updated_node
        statements = self._take(write_import(updated_node, self._reader, self._staying, self.line_of(original_node)))
        return cast("cst.BaseSmallStatement", cst.FlattenSentinel(statements))

    def leave_ImportFrom(self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom) -> cst.BaseSmallStatement:
        module = name_module(original_node)
        if not is_langchain(module):
            return updated_node
        line = self.line_of(original_node)
        statements = self._take(write_import_from(updated_node, module, self._reader, self._staying, line))
        return cast("cst.BaseSmallStatement", cst.FlattenSentinel(statements))

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.FlattenSentinel[cst.SimpleStatementLine]:
        """Give each import that came of one a line of its own; comments above it stay above, one behind it behind."""
        if len(original_node.body) > 1 or len(updated_node.body) < 2:
            return updated_node
        *first, last = (statement.with_changes(semicolon=cst.MaybeSentinel.DEFAULT) for statement in updated_node.body)
        lines = [cst.SimpleStatementLine([statement]) for statement in first]
        lines.append(cst.SimpleStatementLine([last], trailing_whitespace=updated_node.trailing_whitespace))
        lines[0] = lines[0].with_changes(leading_lines=updated_node.leading_lines)
        return cst.FlattenSentinel(lines)

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.BaseExpression:
        if own := self._reader.renamed.get(original_node):
            self.moved += 1
            return updated_node.with_changes(attr=cst.Name(own))
        if original_node in self._staying.wrapped:
            return _bridge(updated_node)
        use = self._reader.uses.get(original_node)
        if use is None or original_node in self._staying.done:
            return updated_node
        if use.place is None:
            text = "it is not in hocket; see what the table says of its module"
            self.findings.append(Finding(use.line, use.chain, text))
            return updated_node
        self.moved += 1
        module = self._reader.modules[use.binding]
        is_through_room = "." in module and find_module(module) == use.place.module
        if is_through_room:
            return updated_node.with_changes(value=cst.Name(use.binding), attr=cst.Name(use.place.name))
        return cst.parse_expression(str(use.place))

    def leave_ClassDef(self, original_node: cst.ClassDef, updated_node: cst.ClassDef) -> cst.ClassDef:
        """Annotate the fields that a subclass sets by ``name = "text"``: pydantic's second version wants that."""
        places = [self._reader.split(self.trace_name(base.value)) for base in original_node.bases]
        fields = {name for found in places if found for name in list_fields(found[0])}
        if not fields or not isinstance(updated_node.body, cst.IndentedBlock):
            return updated_node
        body = [self._annotate(line, fields) for line in updated_node.body.body]
        return updated_node.with_changes(body=updated_node.body.with_changes(body=body))

    def _annotate(self, line: cst.BaseStatement, fields: Collection[str]) -> cst.BaseStatement:
        match line:
            case cst.SimpleStatementLine(
                body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))], value=value)]
            ) if name in fields and type(value) in _KINDS:
                kind = cst.Annotation(cst.Name(_KINDS[type(value)]))
                self.moved += 1
                return line.with_changes(body=[cst.AnnAssign(cst.Name(name), kind, value)])
            case _:
                return line

    def visit_Call(self, node: cst.Call) -> None:
        func = node.func.attr if isinstance(node.func, cst.Attribute) else node.func
        name = func.value if isinstance(func, cst.Name) else ""
        known = self.get_metadata(QualifiedNameProvider, node.func, ()) or () if func is node.func else ()
        self._callers.append(min((one.name for one in known), default=name).rpartition(".")[2])

    def leave_Call(self, original_node: cst.Call, updated_node: cst.Call) -> cst.BaseExpression:
        self._callers.pop()
        if verb := self._reader.verbs.get(original_node):
            self.moved += 1
            return write_verb(updated_node, verb) or updated_node
        if original_node.func in self._reader.properties and not original_node.args:
            return updated_node.func
        if args := self._rewrite_method(original_node, updated_node):
            self.moved += 1
            return updated_node.with_changes(args=args)
        found = self._reader.split(self.trace_name(original_node.func))
        if found is None:
            return _bridge(updated_node) if original_node in self._staying.wrapped else updated_node
        place, attributes = found
        func = updated_node.func
        if isinstance(func, cst.Attribute) and f"{place.name}.{'.'.join(attributes)}" in CONSTRUCTORS:
            func, attributes = func.value, ()
            self.moved += 1
        source = ".".join(self.trace_name(original_node.func))
        line = self.line_of(original_node)
        args, moved, findings = rewrite_arguments(updated_node.args, place, attributes, line, source)
        self.moved += moved
        self.findings += findings
        return updated_node.with_changes(func=func, args=args)

    def _rewrite_method(self, original: cst.Call, updated: cst.Call) -> list[cst.Arg] | None:
        """Return the arguments of a method that every runnable of LangChain's has, or None if they stay."""
        if not (self._reader.has_langchain and isinstance(original.func, cst.Attribute)):
            return None
        match original.func.attr.value:
            case "configurable_fields":
                return rename_field_arguments(updated.args, self._reader.receivers.get(original))
            case "with_retry":
                return write_retried_types(updated.args)
            case _:
                return None

    def leave_Await(self, original_node: cst.Await, updated_node: cst.Await) -> cst.BaseExpression:
        is_verb = isinstance(original_node.expression, cst.Call) and original_node.expression in self._reader.verbs
        return write_awaited(updated_node) if is_verb else updated_node

    def visit_Expr(self, node: cst.Expr) -> bool:
        """Leave out what stands for itself: a docstring."""
        return not isinstance(node.value, cst.SimpleString | cst.ConcatenatedString)

    def leave_SimpleString(self, original_node: cst.SimpleString, updated_node: cst.SimpleString) -> cst.SimpleString:
        new, finding = judge_text(updated_node.raw_value, self._callers, self.line_of(original_node))
        if finding:
            self.findings.append(finding)
        if new is None:
            return updated_node
        self.moved += 1
        return updated_node.with_changes(value=f"{updated_node.prefix}{updated_node.quote}{new}{updated_node.quote}")

    def visit_FormattedString(self, node: cst.FormattedString) -> None:
        first = node.parts[0] if node.parts else None
        if isinstance(first, cst.FormattedStringText):
            finding = judge_beginning(first.value, self._callers, self.line_of(node))
            self.findings += [finding] if finding else []


def _bridge(node: cst.BaseExpression) -> cst.Call:
    """Return a name of LangChain's with the bridge around it."""
    return cst.Call(cst.Name("from_langchain"), [cst.Arg(node)])
