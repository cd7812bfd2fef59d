"""The rows, and how they are printed."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass

from .harness import Samples, Target

__all__ = ["Row", "print_header", "print_row", "row_of"]


@dataclass(frozen=True)
class Row:
    """One line of the table. ``unit`` is that of the four figures; ``ratio`` is hocket's ÷ LangChain's.

    ``peer`` is the library beside it that the row names: a provider's official SDK, or another one's agents.
    """

    case: str
    what: str
    unit: str = "µs"
    hocket: float | None = None
    langchain: float | None = None
    peer: float | None = None
    bare: float | None = None
    ratio: float | None = None
    over_peer: float | None = None
    over_bare: float | None = None
    target: Target | None = None
    rounds: int = 0
    failure: str | None = None
    skipped: str | None = None

    @property
    def verdict(self) -> str:
        """``meets`` or ``falls short``; ``failed: …`` where the figure that is judged could not be had.

        ``skipped: …`` where this machine lacks something that the row wants.
        """
        if self.skipped:
            return f"skipped: {self.skipped}"
        if self.target is None:
            return f"failed: {self.failure}" if self.failure else ""
        ratios = {"langchain": self.ratio, "peer": self.over_peer, "bare": self.over_bare}
        judged = self.hocket if self.target.over is None else ratios[self.target.over]
        if judged is None:
            return f"failed: {self.failure or 'not measured'}"
        return "meets" if self.target.met_by(judged) else "falls short"

    def as_json(self) -> dict[str, object]:
        """Return the row as plain data."""
        return {**asdict(self), "target": self.target and str(self.target), "verdict": self.verdict}


def row_of(case: str, what: str, samples: Samples, target: Target | None, unit: str = "µs") -> Row:
    """Make a row of what was measured."""
    return Row(
        case=case,
        what=what,
        unit=unit,
        hocket=samples.median("hocket"),
        langchain=samples.median("langchain"),
        peer=samples.median("peer"),
        bare=samples.median("bare"),
        ratio=samples.ratio("hocket", "langchain"),
        over_peer=samples.ratio("hocket", "peer"),
        over_bare=samples.ratio("hocket", "bare"),
        target=target,
        rounds=samples.rounds,
        failure="; ".join(f"{name}: {why}" for name, why in samples.failures.items()) or None,
    )


_FIGURES = ("hocket", "langchain", "peer", "bare", "÷ langchain", "÷ peer", "÷ bare")
_COLUMNS = ("what", "unit", *_FIGURES, "target", "rounds", "verdict")
_WIDTHS = (56, 6, 8, 9, 7, 7, 11, 6, 7, 18, 6, 7)


def print_header() -> None:
    """Print the names of the columns."""
    print(_line(_COLUMNS))
    print(_line(["-" * width for width in _WIDTHS]), flush=True)


def print_row(row: Row) -> None:
    """Print a row as soon as it is known: a full run takes minutes."""
    figures = (row.hocket, row.langchain, row.peer, row.bare, row.ratio, row.over_peer, row.over_bare)
    target = "" if row.target is None else str(row.target)
    print(_line([row.what, row.unit, *map(_figure, figures), target, str(row.rounds), row.verdict]), flush=True)


def _line(cells: Iterable[str]) -> str:
    """Set the cells in columns, figures to the right."""
    set_cells = [
        cell.rjust(width) if name in (*_FIGURES, "rounds") else cell.ljust(width)
        for name, cell, width in zip(_COLUMNS, cells, _WIDTHS, strict=True)
    ]
    return "  ".join(set_cells).rstrip()


def _figure(value: float | None) -> str:
    """Return three significant digits, never in scientific notation."""
    if value is None:
        return "-"
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"
