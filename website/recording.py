"""Draws docs/images/chat.svg: a conversation with the embedded model, as it went on a terminal of this machine.

    python -m website.recording

`hocket chat` runs on a pseudo-terminal. Questions are typed letter by letter; what comes is drawn when it came. A viewer
that plays nothing shows the whole conversation.
"""

import os
import pty
import select
import sys
import time
from collections.abc import Iterable, Iterator
from html import escape
from pathlib import Path

from website.pages import DOCS

PICTURE = DOCS / "images/chat.svg"
TYPED = ("What is the capital of France?", "And of Norway?", "Name three colours of the rainbow.", "/exit")
PROMPT = "> "
COLUMNS = 68
BEFORE_TYPING, BETWEEN_LETTERS, LONGEST_SILENCE = 1.2, 0.05, 120.0  # seconds

Piece = tuple[float, str]
"""When something came, in seconds, and what."""

START = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" \
aria-label="hocket chat">
<rect width="100%" height="100%" rx="8" fill="#1f232b"/>
<g fill="#e06c75"><circle cx="20" cy="19" r="6"/><circle cx="40" cy="19" r="6" fill="#e5c07b"/>\
<circle cx="60" cy="19" r="6" fill="#98c379"/></g>
<g font-family="ui-monospace,SFMono-Regular,Menlo,Consolas,'DejaVu Sans Mono',monospace" font-size="14" fill="#d8dee9">"""
LEFT, TOP, LINE_HEIGHT, LETTER_WIDTH = 18, 58, 19, 8.43


def record() -> Iterator[Piece]:
    """Run the command, type into it, and yield what its terminal shows."""
    began = time.monotonic()
    process, terminal = pty.fork()
    if process == 0:
        os.environ.pop("HOCKET_MODEL", None)  # without it the embedded model answers
        os.execv(sys.executable, [sys.executable, "-m", "hocket", "chat"])
    questions = iter(TYPED)
    line = ""
    while piece := read(terminal):
        yield time.monotonic() - began, piece
        line = (line + piece).rpartition("\n")[2]
        if line == PROMPT:
            time.sleep(BEFORE_TYPING)
            for letter in f"{next(questions)}\n":
                time.sleep(BETWEEN_LETTERS)
                os.write(terminal, letter.encode())
                echo = read(terminal)
                yield time.monotonic() - began, echo
            line = ""
    os.waitpid(process, 0)


def read(terminal: int) -> str:
    """Return what the terminal shows next; nothing at its end."""
    if not select.select([terminal], [], [], LONGEST_SILENCE)[0]:
        raise TimeoutError(f"nothing came for {LONGEST_SILENCE:.0f} s")
    try:
        piece = os.read(terminal, 65536).decode()
    except OSError:  # how Linux says that the program has ended
        return ""
    if "\x1b" in piece:
        raise ValueError(f"only plain text can be drawn, not {piece!r}")
    return piece


def draw(pieces: Iterable[Piece]) -> str:
    """Return the picture: a line of text for each line, in it a span for each piece, which is hidden until it came."""
    lines = [line for line in split_lines(pieces) if line]
    texts = [
        f'<text x="{LEFT}" y="{TOP + LINE_HEIGHT * row}" xml:space="preserve">{"".join(map(draw_piece, line))}</text>'
        for row, line in enumerate(lines)
    ]
    width, height = LEFT * 2 + round(COLUMNS * LETTER_WIDTH), TOP + LINE_HEIGHT * len(lines)
    return "\n".join([START.format(width=width, height=height), *texts, "</g></svg>\n"])


def split_lines(pieces: Iterable[Piece]) -> list[list[Piece]]:
    """Return what came, line by line, as the terminal wraps it."""
    lines: list[list[Piece]] = [[]]
    for when, piece in pieces:
        for row, text in enumerate(piece.replace("\r", "").split("\n")):
            if row:
                lines.append([])
            column = sum(len(before) for _, before in lines[-1])
            while column + len(text) > COLUMNS:
                lines[-1].append((when, text[: COLUMNS - column]))
                lines.append([])
                text, column = text[COLUMNS - column :], 0
            if text:
                lines[-1].append((when, text))
    return lines


def draw_piece(piece: Piece) -> str:
    """Return a span that is seen from the time when it came."""
    when, text = piece
    hidden = f'<set attributeName="visibility" to="hidden" begin="0s" end="{when:.2f}s"/>' if when else ""
    return f"<tspan>{escape(text)}{hidden}</tspan>"


def main(to: Path = PICTURE) -> None:
    """Record, and write the picture."""
    to.write_text(draw([(0.0, "$ hocket chat\n"), *record()]))


if __name__ == "__main__":
    main()
