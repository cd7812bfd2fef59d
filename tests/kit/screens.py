"""A terminal's screen, as far as the command uses one: what a person sees, and what has scrolled away."""

import re
import unicodedata

__all__ = ["Screen"]

_TOKENS = re.compile(r"\x1b\[([?\d;]*)([A-Za-z])|(.)", re.DOTALL)


class Screen:
    """Takes what is written to a terminal.

    Args:
        columns, lines: its size.

    Attributes:
        moves: the sequences that it was sent, but for styles.
    """

    def __init__(self, columns: int, lines: int = 24) -> None:
        self._columns = columns
        self._lines = lines
        self._rows: list[list[str]] = [[]]
        self._row = 0
        self._column = 0
        self.moves: list[str] = []

    def write(self, text: str) -> None:
        """Take what is written.

        Raises:
            AssertionError: it is a sequence that the command has no use for.
        """
        for found in _TOKENS.finditer(text):
            number, command, letter = found.groups()
            if letter is None:
                self._obey(number, command)
            elif letter == "\n":
                self._go_down()
                self._column = 0
            elif letter == "\r":
                self._column = 0
            else:
                self._put(letter)

    @property
    def text(self) -> str:
        """All that was ever shown and not taken back, the rows that have scrolled away too."""
        return "\n".join("".join(row).rstrip() for row in self._rows).rstrip("\n")

    @property
    def widest(self) -> int:
        """Cells of the longest row."""
        return max(map(len, self._rows))

    def _obey(self, number: str, command: str) -> None:
        if command == "m":
            return
        self.moves.append(f"{number}{command}")
        if command == "A":
            top = max(0, len(self._rows) - self._lines)
            self._row = max(top, self._row - int(number or 1))
        elif command == "J":
            self._rows[self._row] = self._rows[self._row][: self._column]
            del self._rows[self._row + 1 :]
        else:
            assert (number, command) in (("?2004", "h"), ("?2004", "l"))  # readline's own

    def _go_down(self) -> None:
        self._row += 1
        if self._row == len(self._rows):
            self._rows.append([])

    def _put(self, letter: str) -> None:
        if unicodedata.combining(letter):
            self._rows[self._row][self._column - 1] += letter
            return
        wide = 2 if unicodedata.east_asian_width(letter) in "WF" else 1
        if self._column + wide > self._columns:
            self._go_down()
            self._column = 0
        row = self._rows[self._row]
        row += [" "] * (self._column + wide - len(row))
        row[self._column : self._column + wide] = [letter, *[""] * (wide - 1)]
        self._column += wide
