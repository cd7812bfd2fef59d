"""What the command says about a program: one line for each thing that it could not move, or that somebody should look at."""

from dataclasses import dataclass, field
from typing import Literal

__all__ = ["Finding", "Rewriting"]


@dataclass(frozen=True, order=True)
class Finding:
    """Something to do, or to look at.

    Args:
        line: where, from 1.
        what: the name or argument that it is about.
        text: why, and what to do.
        kind: ``left``: the program does not run before somebody has done it; ``check``: it was moved, and somebody should
            look whether it means the same.
    """

    line: int
    what: str
    text: str
    kind: Literal["left", "check"] = "left"


@dataclass
class Rewriting:
    """What came of one file.

    Args:
        code: the program as it is now.
        moved: how many names, arguments and modules were moved.
        findings: what was not, by line.
    """

    code: bytes
    moved: int = 0
    findings: list[Finding] = field(default_factory=list[Finding])

    @property
    def left(self) -> int:
        """How many findings keep the program from running."""
        return sum(one.kind == "left" for one in self.findings)
