"""LangChain's modules and names in the texts of a program: what is imported by them is known only when it runs.

A whole name that is handed to what imports or patches by name is rewritten, and told; a name that is put together, or code
in a text, is told and stays. Any other text may mean anything: it stays, and is told if it names a module of LangChain's.
"""

import re
from collections.abc import Sequence

from hocket.migration.dotted import split_chain
from hocket.migration.findings import Finding
from hocket.migration.table import find_module

__all__ = ["judge_beginning", "judge_text"]

_DOTTED = re.compile(r"langchain(_\w+)?(\.\w+)+(:\w[\w.]*)?")
_PACKAGE = re.compile(r"langchain(_\w+)?")
_BEGUN = re.compile(r"langchain\w*(\.|$|[%{])")
_CODE = re.compile(r"(^|[;:\n])[^\S\n]*(from|import)\s+langchain|\b(import_module|__import__)\(\s*['\"]langchain")
_IMPORTERS = frozenset(
    {
        *("import_module", "__import__", "reload", "find_spec", "resolve_name", "run_module", "importorskip"),
        *("patch", "setattr", "delattr", "object", "multiple"),
    }
)
"""Functions whose texts are modules and names."""
_RUNNERS = frozenset({"exec", "eval", "compile"})
_WRITERS = frozenset({"format", "join", "replace"})
"""Methods that make a text of others."""


def judge_text(text: str, callers: Sequence[str], line: int) -> tuple[str | None, Finding | None]:
    """Return what a text becomes, None if it stays, and what is to be said of it.

    Args:
        text: as the program has it.
        callers: the functions that are called with it, the innermost last.
        line: where it is.
    """
    is_imported = _is_imported(callers)
    if _DOTTED.fullmatch(text):
        return _judge_name(text, is_imported=is_imported, line=line)
    if is_imported and _PACKAGE.fullmatch(text) and not text.endswith("_"):
        return None, Finding(line, text, "a package in a text; write the rooms of hocket that the program needs of it")
    if is_imported and _BEGUN.match(text):
        return None, _tell_made(text, line)
    if code := _CODE.search(text):
        at = line + text.count("\n", 0, code.end())
        if callers and callers[-1] in _RUNNERS:
            return None, Finding(
                at, f"code in {callers[-1]}", "code in a text, which is not rewritten; rewrite it by hand"
            )
        return None, Finding(at, "code in a text", "it imports LangChain; look what it is for", "check")
    if "_" in text and _PACKAGE.fullmatch(text):
        return None, Finding(line, text, "a text that names LangChain; look what it is for", "check")
    return None, None


def judge_beginning(text: str, callers: Sequence[str], line: int) -> Finding | None:
    """Return what is to be said of a text with values in it, by its beginning."""
    return _tell_made(text, line) if _is_imported(callers) and _BEGUN.match(text) else None


def _is_imported(callers: Sequence[str]) -> bool:
    names = [name for name in callers[-2:] if name not in _WRITERS]
    return bool(names) and names[-1] in _IMPORTERS


def _judge_name(text: str, *, is_imported: bool, line: int) -> tuple[str | None, Finding | None]:
    if not is_imported or ":" in text:
        return None, Finding(line, text, "a text that names LangChain; look what it is for", "check")
    new = _move_text(text)
    if new is None:
        return None, Finding(line, text, "a module or name in a text, which hocket does not have")
    return new, Finding(line, text, f"a text, which is {new} now; look whether it means the same", "check")


def _tell_made(text: str, line: int) -> Finding:
    reason = "a module whose name is made while the program runs; write the names of hocket's rooms into it"
    return Finding(line, f"{text} …", reason)


def _move_text(text: str) -> str | None:
    """Return a dotted name of LangChain's, as it is in hocket; None if it is not there."""
    found = split_chain(text.split("."))
    if found:
        return ".".join([str(found[0]), *found[1]])
    return find_module(text)
