"""Jinja2's sandbox, with a bound on the size of what a template makes.

The sandbox of Jinja2 keeps a template from private attributes, from changing values, and from long ranges, but not from
`'a' * 10**10`, which fills the memory. Here everything that makes a long text out of short ones is measured beforehand: a
product, a power, a concatenation, a width, a replacement.

This module needs Jinja2, and is imported when the first such template is read.
"""

import functools
import re
from collections.abc import Callable, Sequence, Sized
from typing import Any, cast

from jinja2 import Environment, StrictUndefined, meta, nodes
from jinja2.nodes import EvalContext
from jinja2.runtime import Context
from jinja2.sandbox import ImmutableSandboxedEnvironment
from jinja2.visitor import NodeTransformer

__all__ = ["LARGEST", "BoundedEnvironment", "find_variables"]

LARGEST = 10_000_000
"""Characters of a text, or items of a list, that a template may make; bits of a number."""

_GROWING_FILTERS = ("center", "format", "indent", "join", "replace", "tojson", "wordwrap")
_WIDTH = re.compile(r"\d{1,20}")
_NUMBER = int | float | complex
_NESTED_WIDTH = re.compile(r"%[^a-zA-Z%]*\*|:[^{}:]*\{")


class BoundedEnvironment(ImmutableSandboxedEnvironment):
    """The sandbox in which templates run. Nothing is escaped, for a prompt is no HTML; a missing value is an error."""

    intercepted_binops: frozenset[str] = frozenset({"*", "**", "+", "%"})

    def __init__(self) -> None:
        super().__init__(keep_trailing_newline=True, undefined=StrictUndefined)
        for name in _GROWING_FILTERS:
            self.filters[name] = _measure(name, self.filters[name])

    def _parse(self, source: str, name: str | None, filename: str | None) -> nodes.Template:
        parsed: nodes.Template = super()._parse(source, name, filename)
        return cast(nodes.Template, _ConcatenationToAddition().visit(parsed))

    def call_binop(self, context: Context, operator: str, left: Any, right: Any) -> Any:
        """Compute ``left operator right``, unless the result would be larger than `LARGEST`."""
        has_numbers = isinstance(left, _NUMBER) and isinstance(right, _NUMBER)
        if operator == "%" and isinstance(left, str):
            values = cast("tuple[object, ...]", right) if isinstance(right, tuple) else (right,)
            _check_size(_get_result_size("format", left, *values))
        elif operator == "**":
            _check_size(_count_bits(left) * abs(right) if has_numbers else 0)
        elif operator == "*":
            _check_size(_count_bits(left) + _count_bits(right) if has_numbers else _get_size(left) * _get_size(right))
        elif operator == "+" and not has_numbers:
            _check_size(_get_size(left) + _get_size(right))
        return super().call_binop(context, operator, left, right)

    def call(self, __context: Context, __obj: Any, *args: Any, **kwargs: Any) -> Any:
        """Call a method, unless it would make a text larger than `LARGEST`."""
        owner = getattr(__obj, "__self__", None)
        if isinstance(owner, str | bytes):
            _check_size(_get_result_size(__obj.__name__, owner, *args, *kwargs.values()))
        return super().call(__context, __obj, *args, **kwargs)

    def wrap_str_format(self, value: Any) -> Callable[..., str] | None:
        """Return the sandbox's form of ``str.format``, measured."""
        wrapped = super().wrap_str_format(value)
        if wrapped is None:
            return None

        @functools.wraps(wrapped)
        def call(*args: Any, **kwargs: Any) -> str:
            _check_size(_get_result_size("format", value.__self__, *args, *kwargs.values()))
            return wrapped(*args, **kwargs)

        return call


class _ConcatenationToAddition(NodeTransformer):
    """Writes ``a ~ b`` as the sum of two texts, which the environment measures."""

    def visit_Concat(self, node: nodes.Concat) -> nodes.Expr:
        line = node.lineno
        first, *others = (
            nodes.Filter(self.visit(one), "string", [], [], None, None, lineno=line) for one in node.nodes
        )
        total: nodes.Expr = first
        for other in others:
            total = nodes.Add(total, other, lineno=line)
        return total


def _measure(name: str, filter: Callable[..., object]) -> Callable[..., object]:
    """Return a filter of Jinja2 that refuses to make a text larger than `LARGEST`."""

    @functools.wraps(filter)
    def call(*args: object, **kwargs: object) -> object:
        values = [one for one in (*args, *kwargs.values()) if not isinstance(one, Environment | Context | EvalContext)]
        _check_size(_get_result_size(name, *values))
        return filter(*args, **kwargs)

    return call


def _get_result_size(name: str, value: object, *args: object) -> int:
    """Return a bound on the size of what a text's method, or a filter, returns.

    Args:
        name: of the method or filter.
        value: the text, or what the filter is applied to.
        args: further arguments.
    """
    size = _get_size(value)
    numbers = [abs(one) for one in args if isinstance(one, int)]
    largest = max([1, *map(_get_size, args)])
    if name in ("format", "format_map"):
        text = str(value)
        widths = [int(digits) for digits in _WIDTH.findall(text)]
        nested = numbers if _NESTED_WIDTH.search(text) else []
        return size + (text.count("{") + text.count("%")) * largest + max([0, *widths, *nested])
    if name == "join":
        items = [cast("Sequence[object]", one) for one in (value, *args) if isinstance(one, list | tuple)]
        return sum(_get_size(one) for some in items for one in some) + size * largest
    if name in ("replace", "translate"):
        return size * largest
    if name in ("expandtabs", "indent", "tojson", "wordwrap"):
        lines = str(value).count("\n") + str(value).count("\t") + 1 if isinstance(value, str) else size
        return size + lines * max([largest, *numbers])
    if name in ("center", "ljust", "rjust", "zfill"):
        return max([size, *numbers])
    return size


def _get_size(value: object) -> int:
    if isinstance(value, int):
        return abs(value)
    return len(value) if isinstance(value, Sized) else 1


def _count_bits(value: object) -> int:
    return value.bit_length() if isinstance(value, int) else 64


def _check_size(size: float) -> None:
    if size > LARGEST:
        raise ValueError(f"it would make more than {LARGEST:,} characters, items or bits, which is not allowed")


def find_variables(environment: Environment, template: str) -> list[str]:
    """Return the names of the variables of a template, sorted."""
    return sorted(meta.find_undeclared_variables(environment.parse(template)))
