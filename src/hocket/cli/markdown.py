"""Markdown on a terminal, as it comes, drawn by rich: imported late, and only where rich is there.

A block is finished when the next one begins, since until then more may belong to it. What is finished is written once; of
the last block what has changed is written again, as far as the screen reaches: what has scrolled away is never touched.

rich leaves out HTML, definitions, addresses of pictures and cells beyond a table's columns, joins lines that the model
broke, and breaks code. What a model says is shown here whole, so the parser is told to keep all that.
"""

import io
import os
import re
import time
from collections.abc import Callable, Iterator, Sequence
from typing import TextIO

from markdown_it import MarkdownIt
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline, escape
from markdown_it.token import Token
from rich.box import SIMPLE_HEAD
from rich.cells import cell_len
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Heading, HorizontalRule, Markdown, TableElement
from rich.rule import Rule
from rich.segment import Segments
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text
from rich.theme import Theme

from hocket.cli.output import find_size

__all__ = ["MarkdownPart", "lay_out"]

_CODE_THEME = "ansi_dark"  # the terminal's own colours
_THEME = Theme({"markdown.code": "cyan", "markdown.h1": "bold underline", "markdown.h2": "bold"})
_NARROW = 4  # cells that a column of a table needs at least, its margin counted
_UNDECIDED = re.compile(
    r"\s*+[-=>#*+_`~|]*+\s*+\Z|\s*+\d{1,3}+[.)]?\s*+\Z"
)  # a line that may become a mark of Markdown
_ESCAPED = frozenset("*_`~#|<>$-+!\n")  # by a backslash; before other signs it is one, as in formulas, paths and JSON
_STYLE = re.compile(r"\x1b\[[\d;]*m")
_SHARE = 0.5  # of the time may go into drawing; what comes meanwhile is drawn together
_HEAD_START = 0.1  # seconds of it that need not be earned


class MarkdownPart:
    """Writes Markdown as it comes, from the beginning of a line to the end of one.

    Args:
        out: a terminal.
        measure: returns its size, which may change.
    """

    def __init__(self, out: TextIO, measure: Callable[[TextIO], os.terminal_size] = find_size) -> None:
        self._out = out
        self._measure = measure
        self._rest = ""  # what is not finished
        self._drawn: list[str] = []  # its lines on the screen; the cursor is at the end of the last
        self._is_first = True
        self._began_at = time.monotonic()
        self._spent = -_HEAD_START

    def write(self, text: str) -> None:
        """Take the next piece."""
        self._rest += text
        began_at = time.monotonic()
        if self._spent <= _SHARE * (began_at - self._began_at):
            shown = self._rest
            begin = shown.rfind("\n") + 1
            if _UNDECIDED.match(shown, begin):  # shown at once, it would turn what is before it over
                shown = shown[:begin]
            self._draw(shown, is_last=False)
            self._spent += time.monotonic() - began_at

    def end(self) -> None:
        """Finish the last block; the cursor is at the beginning of a line then."""
        self._draw(self._rest, is_last=True)

    def _draw(self, shown: str, *, is_last: bool) -> None:
        size = self._measure(self._out)
        blocks = list(_split_blocks(_PARSER.parse(shown)))
        lines: list[str] = []
        for block in blocks[:-1]:
            lines += self._lay_out(block, size.columns)
            self._is_first = False
        unfinished = self._lay_out(blocks[-1], size.columns) if blocks else []
        _redraw(self._out, self._drawn, [*lines, *unfinished], size)
        self._drawn = unfinished
        if len(blocks) > 1:
            self._rest = _cut_lines(self._rest, blocks[-1][0].map)
        if is_last:
            self._out.write("\n" if unfinished else "")
            self._rest, self._drawn = "", []
        self._out.flush()

    def _lay_out(self, block: Sequence[Token], width: int) -> list[str]:
        return [*([] if self._is_first else [""]), *lay_out(block, width)]


def lay_out(block: Sequence[Token], width: int) -> list[str]:
    """Return the lines of a block, with their styles. Code at the margin is not broken, so that it can be copied."""
    console = Console(
        file=io.StringIO(),
        force_terminal=True,
        legacy_windows=False,
        color_system="standard",
        theme=_THEME,
        width=width,
    )
    is_code = block[0].type in ("fence", "code_block")
    with console.capture() as drawn:
        if is_code:
            code = _colour(block[0].content.removesuffix("\n"), block[0].info)
            console.print(Segments(code.render(console)), soft_wrap=True)
        else:
            console.print(_Whole(block))
    if is_code:
        return drawn.get().removesuffix("\n").split("\n")
    return [line.rstrip(" ") for line in drawn.get().strip("\n").split("\n")]


def _redraw(out: TextIO, before: Sequence[str], after: Sequence[str], size: os.terminal_size) -> None:
    """Write lines in place of others, at whose end the cursor is, from the first on that differs and is still seen."""
    pairs = zip(before, after, strict=False)
    same = next((place for place, (one, other) in enumerate(pairs) if one != other), min(len(before), len(after)))
    same = max(min(same, len(before) - 1, len(after) - 1), 0)
    if same == len(before) - 1 and after[same].startswith(before[same]):  # mostly a word is added
        out.write("\n".join([after[same][len(before[same]) :], *after[same + 1 :]]))
        return
    same = max(same, len(before) - size.lines)  # what is before that is not seen
    while _count_rows(before[same:], size.columns) > size.lines:
        same += 1
    up = _count_rows(before[same:], size.columns) - 1
    # The blank: an erasure from the very first cell is for tmux a cleared screen, which it puts into its history.
    back = "\r" + (f"\x1b[{up}A" if up > 0 else "") + " \x1b[J\r" if before else ""
    out.write(back + "\n".join(after[same:]))


def _count_rows(lines: Sequence[str], columns: int) -> int:
    """Return the rows of a terminal that lines take; it goes on in the next row with what is wider than it is."""
    return sum(max(1, -(-cell_len(_STYLE.sub("", line).expandtabs()) // columns)) for line in lines)


def _split_blocks(tokens: Sequence[Token]) -> Iterator[list[Token]]:
    """Yield the tokens of each block."""
    block: list[Token] = []
    for token in tokens:
        block.append(token)
        if token.level == 0 and token.nesting <= 0:
            yield block
            block = []


def _cut_lines(text: str, lines: Sequence[int] | None) -> str:
    """Return the text from the line on where a block begins."""
    return "\n".join(text.split("\n")[lines[0] :]) if lines else text


def _make_parser() -> MarkdownIt:
    """Return a parser of Markdown that leaves nothing out."""

    def read_escape(state: StateInline, silent: bool) -> bool:
        return state.src[state.pos + 1 : state.pos + 2] in _ESCAPED and escape(state, silent)

    def keep(state: StateCore) -> None:
        for one in state.tokens:
            one.children = one.children and [child for child in one.children if child.markup != "autolink"]
        for token in (child for one in state.tokens for child in one.children or ()):
            if token.type == "softbreak":
                token.type = "hardbreak"
            elif token.type == "image":
                token.type, token.tag, token.children = "text", "", None
                token.content += f" ({token.attrs.get('src', '')})"
        state.tokens = [token for block in _split_blocks(state.tokens) for token in _keep_cells(block, state.src)]

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")
    parser.inline.ruler.at("escape", read_escape)
    parser.core.ruler.push("keep", keep)
    return parser


def _keep_cells(block: list[Token], text: str) -> list[Token]:
    """Return a block; one that is a table with cells beyond its columns, which were not read, as its lines."""
    first = block[0]
    if first.type != "table_open" or first.map is None:
        return block
    rows = text.split("\n")[slice(*first.map)]
    columns = sum(token.type == "th_open" for token in block)
    if not any(row.strip().strip("|").replace("\\|", "").count("|") >= columns for row in rows):
        return block
    return [Token("code_block", "code", 0, content="\n".join(rows), map=first.map, block=True)]


_PARSER = _make_parser()


def _colour(code: str, info: str) -> Text:
    language = info.split(maxsplit=1)[0] if info.strip() else "text"
    coloured = Syntax(code, language, theme=_CODE_THEME, background_color="default").highlight(code)
    coloured.right_crop(len(coloured.plain) - len(code))  # a line end
    return coloured if coloured.plain == code else Text(code)  # tabs would be lost


class _Heading(Heading):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self.text


class _Rule(HorizontalRule):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield Rule(style="dim")


class _Code(CodeBlock):
    """Code inside of something else."""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = _colour(self.text.plain.removesuffix("\n"), self.lexer_name)
        code.no_wrap, code.overflow = False, "fold"
        yield code


class _Table(TableElement):
    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        rows = [] if self.header is None or self.header.row is None else [self.header.row]
        rows += [] if self.body is None else self.body.rows
        texts = [[cell.content for cell in row.cells] for row in rows]
        if len(texts[0]) * _NARROW > options.max_width:  # no column would have room: a line for each row
            yield from (Text(" | ").join(row) for row in texts)
            return
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for title in texts[0]:
            table.add_column(title, overflow="fold")
        for row in texts[1:]:
            table.add_row(*row)
        yield table


class _Whole(Markdown):
    """Draws tokens, with nothing left out."""

    elements = {  # noqa: RUF012  # its base says that it is the class's
        **Markdown.elements,
        "heading_open": _Heading,
        "hr": _Rule,
        "fence": _Code,
        "code_block": _Code,
        "table_open": _Table,
    }

    def __init__(self, tokens: Sequence[Token]) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = list(tokens)
