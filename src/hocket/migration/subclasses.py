"""What a program's own subclasses define that hocket never calls, or that switches something off in silence."""

import dataclasses
from collections.abc import Iterator
from typing import Literal

import libcst as cst
from libcst import matchers

from hocket.agents.middleware import AgentMiddleware, ModelRequest, ToolCallRequest, describe_strange_hook
from hocket.language_models import BaseLanguageModel
from hocket.migration.arguments import find_target
from hocket.migration.dotted import Placed, read_dotted
from hocket.migration.findings import Finding
from hocket.migration.uses import ProgramReader

__all__ = ["SubclassReader"]

_UNREAD = {
    "tools": "hocket reads no tools off a middleware: give them to create_agent",
    "state_schema": "an agent of hocket's has no state: keep what you need on the middleware, or in the history",
}
"""Attributes of LangChain's middleware that mean nothing here."""

_REQUESTS = {"wrap_model_call": ModelRequest, "wrap_tool_call": ToolCallRequest}
"""What a hook is given."""

_MAKERS = frozenset({"__init__", "model_post_init"})
"""Methods that set fields before a model is called."""

_CHANGES = frozenset({"add", "append", "clear", "extend", "insert", "pop", "popleft", "remove", "setdefault", "update"})
"""Methods that change what they are called on."""

_KEYED = (
    "this field changes with each call, and is part of the key of hocket's cache (LangChain's has _identifying_params "
    "alone), so that no answer is ever found in it; make it a PrivateAttr, or Field(..., exclude=True)"
)


class SubclassReader(cst.CSTVisitor, Placed):
    """Finds what to tell of classes.

    Args:
        reader: what was read of the program before.

    Attributes:
        findings: what is to be told.
    """

    def __init__(self, reader: ProgramReader) -> None:
        super().__init__()
        self.findings: list[Finding] = []
        self._reader = reader
        self._kinds: dict[str, type] = {}
        self._fields: dict[str, frozenset[str]] = {}

    def visit_ClassDef(self, node: cst.ClassDef) -> None:
        bases = [base.value for base in node.bases]
        kind = next(filter(None, map(self._find_kind, bases)), None)
        if kind is None:
            return
        name = node.name.value
        inherited = (self._fields.get(".".join(read_dotted(base)), frozenset()) for base in bases)
        self._kinds[name] = kind
        self._fields[name] = frozenset(_list_fields(node)).union(*inherited)
        if issubclass(kind, AgentMiddleware):
            self._judge_middleware(node)
        elif issubclass(kind, BaseLanguageModel):
            self._judge_model(node, self._fields[name])

    def _find_kind(self, base: cst.BaseExpression) -> type | None:
        """Return the class of hocket's that a base class is, or comes of."""
        inner = base.value if isinstance(base, cst.Subscript) else base
        found = self._reader.split(self.trace_name(inner))
        kind = find_target(*found) if found else self._kinds.get(".".join(read_dotted(inner)))
        return kind if isinstance(kind, type) else None

    def _judge_middleware(self, node: cst.ClassDef) -> None:
        for method in _list_methods(node):
            if text := describe_strange_hook(method.name.value):
                self._tell(method, f"{node.name.value}.{method.name.value}", text)
            elif request := _REQUESTS.get(method.name.value):
                self._judge_request(method, request)
        for target in _list_targets(node):
            name = ".".join(read_dotted(target)).removeprefix("self.")
            if name in _UNREAD:
                self._tell(target, f"{node.name.value}.{name}", _UNREAD[name])

    def _judge_request(self, hook: cst.FunctionDef, kind: type) -> None:
        """Tell of what a hook reads of its request that hocket's does not have."""
        known = ", ".join(one.name for one in dataclasses.fields(kind))
        for request in [one.name for one in hook.params.params[1:2]]:
            for one in matchers.findall(hook.body, matchers.Attribute(value=matchers.Name(request.value))):
                name = cst.ensure_type(one, cst.Attribute).attr.value
                if not hasattr(kind, name):
                    self._tell(one, f"{request.value}.{name}", f"hocket's {kind.__name__} has {known}")

    def _judge_model(self, node: cst.ClassDef, fields: frozenset[str]) -> None:
        told: set[str] = set()
        for method in _list_methods(node):
            if method.name.value in _MAKERS or any(_is_validator(one) for one in method.decorators):
                continue
            for place, field in _list_changes(method):
                if field in fields and field not in told:
                    told.add(field)
                    self._tell(place, f"{node.name.value}.{field}", _KEYED, "check")

    def _tell(self, node: cst.CSTNode, what: str, text: str, kind: Literal["left", "check"] = "left") -> None:
        self.findings.append(Finding(self.line_of(node), what, text, kind))


def _list_targets(node: cst.ClassDef) -> Iterator[cst.BaseExpression]:
    """Yield what a class assigns: its own names, and attributes in its methods."""
    assigned = matchers.AssignTarget() | matchers.AnnAssign()
    inside = {one for method in _list_methods(node) for one in matchers.findall(method, assigned)}
    for one in matchers.findall(node.body, assigned):
        assert isinstance(one, cst.AssignTarget | cst.AnnAssign)
        if isinstance(one.target, cst.Attribute) or one not in inside:
            yield one.target


def _list_methods(node: cst.ClassDef) -> list[cst.FunctionDef]:
    return [one for one in node.body.body if isinstance(one, cst.FunctionDef)]


def _list_fields(node: cst.ClassDef) -> Iterator[str]:
    """Yield the names of the fields of pydantic's that a class has, as far as they are in hocket's cache key."""
    private = matchers.Call(func=matchers.Name("PrivateAttr"))
    rest = matchers.ZeroOrMore()
    excluded = matchers.Call(args=[rest, matchers.Arg(keyword=matchers.Name("exclude")), rest])
    lines = [line for line in node.body.body if isinstance(line, cst.SimpleStatementLine)]
    for field in (part for line in lines for part in line.body):
        if not isinstance(field, cst.AnnAssign) or not isinstance(field.target, cst.Name):
            continue
        name = field.target.value
        is_class_var = bool(matchers.findall(field.annotation, matchers.Name("ClassVar")))
        is_left_out = field.value is not None and matchers.matches(field.value, private | excluded)
        if not (name.startswith("_") or is_class_var or is_left_out):
            yield name


def _is_validator(decorator: cst.Decorator) -> bool:
    made = decorator.decorator
    names = read_dotted(made.func if isinstance(made, cst.Call) else made)
    return bool(names) and names[-1].endswith(("_validator", "pre_init"))


def _list_changes(method: cst.FunctionDef) -> Iterator[tuple[cst.CSTNode, str]]:
    """Yield where a method changes ``self.name``, or what is in it, and the name."""
    for one in matchers.findall(
        method.body, matchers.AssignTarget() | matchers.AugAssign() | matchers.AnnAssign() | matchers.Call()
    ):
        match one:
            case cst.AssignTarget(target=target) | cst.AugAssign(target=target) | cst.AnnAssign(target=target):
                names = read_dotted(target.value if isinstance(target, cst.Subscript) else target)
            case cst.Call(func=cst.Attribute(value=owner, attr=cst.Name(verb))) if verb in _CHANGES:
                names = read_dotted(owner)
            case _:
                continue
        if len(names) == 2 and names[0] == "self":
            yield one, names[1]
