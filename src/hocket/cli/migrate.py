"""``hocket migrate``: programs that were written for LangChain, moved over.

The diff, or with ``--json`` the whole account, goes to standard output; what is left to do goes to standard error, a line
each, so that the diff can be piped into ``git apply``.
"""

import argparse
import json
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from hocket.cli.arguments import OneLineParser
from hocket.cli.exits import FAILED, MISUSED
from hocket.cli.output import note, print_lines

if TYPE_CHECKING:
    from hocket.migration.programs import Program

__all__ = ["HELP", "configure", "run"]

HELP = "Move programs that were written for LangChain over to hocket."


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("paths PATH", "a program, or a directory of them", nargs="+", type=Path)
    parser.declare("--write", "change the files; without it, show what would change")
    parser.declare("--json", "say what was found as JSON, for other programs")
    parser.declare(
        "--force",
        "also write files where something is left, that nobody may write, or with changes not committed to git",
    )


def run(arguments: argparse.Namespace) -> int:
    """Rewrite, and say what is left.

    Returns:
        0; 1 while something is left to do; 2 if a path is not there.

    Raises:
        MissingDependency: the extra ``migrate`` is not installed.
    """
    missing = [str(path) for path in arguments.paths if not os.path.exists(path)]
    if missing:
        note(f"there is no {', '.join(missing)}; nothing was read")
        return MISUSED
    from hocket.migration import migrate_program
    from hocket.migration.programs import list_programs

    programs = [
        migrate_program(path, write=arguments.write, force=arguments.force) for path in list_programs(arguments.paths)
    ]
    if not programs:
        note(f"there is no Python program in {', '.join(map(str, arguments.paths))}")
    if arguments.json:
        print_lines([json.dumps(_describe(programs), indent=2)])
    else:
        for program in programs:
            if not arguments.write:
                print_lines(program.show_diff())
            print_lines(_list_findings(program), is_answer=False)
        note(_sum_up(programs, is_written=arguments.write))
    return FAILED if any(program.left for program in programs) else 0


def _list_findings(program: "Program") -> Iterator[str]:
    for one in program.findings:
        yield f"{program.path}:{one.line}: {one.kind}: {one.what}: {one.text}"


def _sum_up(programs: Sequence["Program"], *, is_written: bool) -> str:
    changed = [program for program in programs if program.moved and program.after != program.before]
    written = sum(program.is_written for program in programs)
    left, checks = sum(program.left for program in programs), sum(len(program.findings) for program in programs)
    done = (
        f"{written} of {len(changed)} written" if is_written else f"{len(changed)} would change (--write changes them)"
    )
    moved = sum(program.moved for program in changed)
    files = "1 file" if len(programs) == 1 else f"{len(programs)} files"
    return f"{files}, {done}: {moved} moved, {left} left to do, {checks - left} to look at"


def _describe(programs: Sequence["Program"]) -> dict[str, object]:
    """Return the account of all files: those where something was found or moved."""
    files = [
        {
            "path": str(program.path),
            "moved": program.moved,
            "written": program.is_written,
            "findings": [vars(one) for one in program.findings],
        }
        for program in programs
        if program.moved or program.findings
    ]
    return {"read": len(programs), "left": sum(program.left for program in programs), "files": files}
