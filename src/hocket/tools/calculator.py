"""Arithmetic that a model asks for, read as an expression and never run as code.

First the text is cut into signs, numbers and names, and only those of the lists pass; so what Python's own parser is
shown holds neither attributes nor texts nor keywords. It decides what belongs together, and the tree is walked here.
"""

import ast
import re
from collections.abc import Iterator

from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, near_name_hint
from hocket.tools.arithmetic import (
    CONSTANTS,
    FUNCTIONS,
    OPERATORS,
    SIGNS,
    Number,
    apply,
    check_number,
)

__all__ = ["calculate"]

_MAX_LENGTH = 500
_MAX_DEPTH = 50

_PART = re.compile(
    r"(?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<name>[A-Za-z_][A-Za-z_0-9]*)"
    r"|(?P<sign>\*\*|//|[-+*/%^,()\[\]{}])"
    r"|(?P<space>\s+)"
)
_FULL_WIDTH = {wide: wide - 0xFEE0 for wide in range(0xFF01, 0xFF5F)}  # ASCII as Chinese and Japanese fonts have it
_PRINT_SIGNS = str.maketrans("×✕⋅∗÷∕−–、【】〔〕", "****//--,[][]") | {ord("π"): " pi ", ord("√"): " sqrt "}  # noqa: RUF001 - their point
_EXCERPT = 60  # characters of an expression that a refusal shows


def calculate(expression: str) -> str:
    """Return the value of an arithmetic expression. Nothing of it is run as code.

    It has numbers, ``+ - * / // % **``, brackets of any kind, ``pi``, ``e``, ``tau`` and functions: ``sqrt``, ``log``
    (``log(x)`` is the natural one, ``log(x, 10)`` has base 10), ``sin`` (in radians), ``round``, ``max``, ``factorial``
    and others. ``^`` is a power, as in mathematics, not Python's "exclusive or"; ``%`` is the remainder. The
    signs of print for times, divided by and minus, full-width digits and signs and Chinese brackets are read as what they
    mean. A comma stands between arguments only: ``1,234`` means different numbers in different countries.

    Args:
        expression: at most 500 characters, nested at most 50 deep.

    Returns:
        an integer with all its digits, another number with 15 of them.

    Raises:
        InvalidInput: a `ValueError`: it is no such expression; or a result on the way is no real number, is infinite, or
            an integer of more than 4,000 bits. The text says what to write instead.

    Examples:
        >>> calculate("2 * (3 + 4) ^ 2")
        '98'
    """
    if not isinstance(expression, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a model may send anything
        raise InvalidInput(f"an expression is a text, not {type(expression).__name__}")
    if len(expression) > _MAX_LENGTH:
        raise InvalidInput(
            f"the expression has {len(expression):,} characters; at most {_MAX_LENGTH} are read. Compute it in parts"
        )
    source = " ".join(_split(expression.translate(_FULL_WIDTH).translate(_PRINT_SIGNS)))
    try:
        tree = ast.parse(source, mode="eval").body
    except (SyntaxError, RecursionError) as error:
        raise InvalidInput(
            f"{excerpt(expression, _EXCERPT)} is no expression: check the brackets, and write every operator, as in 2*(3+4)"
        ) from error
    value = _evaluate(tree, 0)
    return str(value) if isinstance(value, int) else format(value + 0.0, ".15g")  # + 0.0: there is no -0


def _split(text: str) -> Iterator[str]:
    """Yield the signs, numbers and names of a text, as Python writes them."""
    position = depth = 0
    while position < len(text):
        part = _PART.match(text, position)
        if part is None:
            raise InvalidInput(
                f"{text[position]!r} cannot be read in an expression: use numbers, + - * / // % **, brackets and functions"
            )
        position = part.end()
        depth += (part[0] in "([{") - (part[0] in ")]}")
        _check_depth(depth)
        if part["space"] is None:
            yield _check_name(part["name"].lower()) if part["name"] else part[0].replace("^", "**")


def _check_depth(depth: int) -> None:
    if depth > _MAX_DEPTH:
        raise InvalidInput(f"the expression is nested more than {_MAX_DEPTH} deep; compute it in parts")


def _check_name(name: str) -> str:
    known = [*CONSTANTS, *FUNCTIONS]
    if name not in known:
        raise InvalidInput(f"there is no function or constant {excerpt(name)}; {near_name_hint(name, known)}")
    return name


def _evaluate(node: ast.expr, depth: int) -> Number:
    _check_depth(depth)
    match node:
        case ast.Constant(value=int() | float() as value):
            return check_number(value)
        case ast.Name(id=name) if name in CONSTANTS:
            return CONSTANTS[name]
        case ast.Name(id=name):
            raise InvalidInput(f"{name!r} is a function; write {name}(...), with its arguments in brackets")
        case ast.UnaryOp(op=op, operand=operand) if type(op) in SIGNS:
            return SIGNS[type(op)](_evaluate(operand, depth + 1))
        case ast.List(elts=[only]) | ast.Set(elts=[only]):  # brackets around brackets: {[(1 + 2) * 3] - 4} / 5
            return _evaluate(only, depth + 1)
        case ast.BinOp():
            return _evaluate_chain(node, depth)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in FUNCTIONS:
            return _call(name, [_evaluate(argument, depth + 1) for argument in arguments])
        case ast.Tuple():
            raise InvalidInput("a comma is allowed between the arguments of a function only: write 1234.5, not 1,234.5")
        case _:
            raise InvalidInput("only numbers, + - * / // % **, brackets and functions are computed; * must be written")


def _evaluate_chain(node: ast.BinOp, depth: int) -> Number:
    """Evaluate ``1 + 2 + 3 + ...`` in a loop: it is as deep a tree as it is long, and not nested."""
    chain: list[tuple[ast.operator, ast.expr]] = []
    first: ast.expr = node
    while isinstance(first, ast.BinOp):
        chain.append((first.op, first.right))
        first = first.left
    value = _evaluate(first, depth + 1)
    for op, right in reversed(chain):
        if type(op) not in OPERATORS:
            raise InvalidInput("the operators are + - * / // % **")
        value = apply(*OPERATORS[type(op)], value, _evaluate(right, depth + 1))
    return value


def _call(name: str, values: list[Number]) -> Number:
    function = FUNCTIONS[name]
    if len(values) < function.fewest or (function.most is not None and len(values) > function.most):
        takes = f"{function.fewest}" if function.most == function.fewest else f"{function.fewest} or more"
        if function.most is not None and function.most > function.fewest:
            takes = f"{function.fewest} to {function.most}"
        raise InvalidInput(f"{name!r} takes {takes} arguments, and was given {len(values)}")
    return apply(name, function.call, *values)
