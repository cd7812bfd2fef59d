"""A program as a tree, or why it is none.

Python's own parser looks first: it says best what is wrong, and is not harmed by what nests too deep. libcst, which keeps
comments and blanks, takes the process down with a few thousand brackets in one another, needs minutes for sums as long, and
walks trees by functions that call themselves. What only a later Python can read is libcst's to judge.
"""

import ast
import codecs
import tokenize
import warnings
from io import BytesIO

import libcst as cst
from libcst.metadata import MetadataWrapper

from hocket.errors import InvalidInput

__all__ = ["TOO_DEEP", "UTF16", "NotPython", "read_program"]

_BRACKETS = 200  # in one another: Python itself refuses more
_LEVELS = 1000  # of a tree: what libcst walks is less, and how much depends on what it is
TOO_DEEP = "it nests too deep to be rewritten; split what is so long, or move it by hand"
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""The marks that a file in UTF-16 begins with, which Python does not read."""


class NotPython(InvalidInput):
    """A file that cannot be read as a program.

    Args:
        text: why.
        line: where, from 1.
    """

    def __init__(self, text: str, line: int = 1) -> None:
        super().__init__(text)
        self.line: int = line


def read_program(code: bytes) -> MetadataWrapper:
    """Return the tree of a program.

    Raises:
        NotPython: it has none.
    """
    _check_text(code)
    wrong = _find_error(code)
    if wrong is not None and _count_brackets(code) > _BRACKETS:
        raise wrong
    try:
        return MetadataWrapper(cst.parse_module(code))
    except RecursionError:
        raise NotPython(TOO_DEEP) from None
    except cst.ParserSyntaxError as error:
        said = error.message.partition(": expected one of")[0]
        raise wrong or NotPython(f"it cannot be rewritten ({said}); move it by hand", error.raw_line) from None


def _check_text(code: bytes) -> None:
    """Refuse what is no text in the encoding that it says, or in UTF-8.

    Raises:
        NotPython: it is not.
    """
    if code.startswith(UTF16):
        raise NotPython("it is no Python: a text in UTF-16; save it as UTF-8")
    encoding = "utf-8"
    try:
        encoding, _ = tokenize.detect_encoding(BytesIO(code).readline)
        code.decode(encoding)
    except UnicodeDecodeError as error:
        line = code.count(b"\n", 0, error.start) + 1
        text = (
            f"byte {code[error.start]:#x} is not {encoding}; save it as UTF-8, or name its encoding in the first line"
        )
        raise NotPython(f"it is no Python: {text} (# coding: latin-1)", line) from None
    except (SyntaxError, LookupError) as error:
        raise NotPython(f"it is no Python: {error}") from None


def _find_error(code: bytes) -> NotPython | None:
    """Return what this Python says of a program, or None.

    Raises:
        NotPython: it nests too deep for Python, or for what comes after.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(code)
    except (RecursionError, MemoryError):
        raise NotPython(TOO_DEEP) from None
    except SyntaxError as error:
        return NotPython(f"it is no Python: {error.msg}", error.lineno or 1)
    except ValueError as error:
        return NotPython(f"it is no Python: {error}")
    if _measure_depth(tree) > _LEVELS:
        raise NotPython(TOO_DEEP)
    return None


def _measure_depth(tree: ast.AST) -> int:
    depth, level = 0, [tree]
    while level:
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        depth += 1
    return depth


def _count_brackets(code: bytes) -> int:
    """Return how many brackets are open at most; those in texts and comments count, too."""
    most = open_now = 0
    for byte in code:
        if byte in b"([{":
            open_now += 1
            most = max(most, open_now)
        elif byte in b")]}":
            open_now -= 1
    return most
