"""Markdown on a terminal, as it comes, with rich: imported late, and only where rich is there.

rich has a renderer of its own. It leaves out HTML and the addresses of pictures, joins lines that the model broke, and
breaks or cuts code; what a model says is shown here whole. What it draws is used: styles, tables, the colours of code.
"""

import io
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline, escape
from markdown_it.token import Token
from rich.box import SIMPLE_HEAD
from rich.color import ColorSystem
from rich.console import Console
from rich.syntax import Syntax
from rich.table import Table
from rich.text import Text

from hocket.cli.word_wrap import Laid, find_breaks

__all__ = ["MarkdownLayout"]

_STYLES = {"strong": "bold", "em": "italic", "s": "strike", "link": "underline"}
_CODE = "cyan"
_THEME, _COLOURS = "ansi_dark", ColorSystem.STANDARD  # the terminal's own colours
_NARROW = 4  # cells that a column of a table needs at least, its margin counted
_UNDECIDED = re.compile(r"\s*[-=>#*+_`~|]*\s*\Z|\s*\d{1,3}[.)]?\s*\Z")  # a line that may become a mark of Markdown

_ESCAPED = frozenset("*_`~#|<>$-+!\n")  # by a backslash; before other signs it is one, as in formulas, paths and JSON


def _make_parser() -> MarkdownIt:
    """Return a parser that takes nothing for a definition, which would not be shown, and understands no HTML."""

    def read_escape(state: StateInline, silent: bool) -> bool:
        return state.src[state.pos + 1 : state.pos + 2] in _ESCAPED and escape(state, silent)

    parser = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).disable("reference")
    parser.inline.ruler.at("escape", read_escape)
    return parser


_PARSER = _make_parser()


class MarkdownLayout:
    """Lays out Markdown. A block has settled when the next one begins, since until then more may belong to it."""

    def __init__(self) -> None:
        self._rest = ""
        self._is_first = True

    def add(self, text: str, width: int, *, is_last: bool = False) -> Laid:
        """Take the next piece (see `hocket.cli.word_wrap.Layout`)."""
        self._rest += text
        shown = self._rest if is_last else _leave_undecided(self._rest)
        tokens = _PARSER.parse(shown)
        last = len(tokens) if is_last else _find_last_block(tokens)
        source = shown.split("\n")
        settled = self._separate(_Writer(source, width).write(tokens[:last]))
        unsettled = _Writer(source, width).write(tokens[last:])
        if is_last:
            self._rest = ""
        elif settled:
            self._is_first = False
            self._rest = _cut_lines(self._rest, tokens[last].map)
        return Laid(settled, self._separate(unsettled))

    def _separate(self, lines: Sequence[str]) -> list[str]:
        """Return lines with an empty one before them, unless they are the first."""
        return [*([] if self._is_first or not lines else [""]), *lines]


def _leave_undecided(text: str) -> str:
    """Return the text without a last line that may be a mark: shown at once, it would turn what is before it over."""
    begin = text.rfind("\n") + 1
    return text[:begin] if _UNDECIDED.match(text, begin) else text


def _find_last_block(tokens: Sequence[Token]) -> int:
    """Return the place of the first token of the last block."""
    return max((place for place, one in enumerate(tokens) if one.level == 0 and one.nesting >= 0), default=0)


def _cut_lines(text: str, lines: Sequence[int] | None) -> str:
    """Return the text from the line on where a block begins."""
    place = 0
    for _ in range(lines[0] if lines else 0):
        place = text.index("\n", place) + 1
    return text[place:]


class _Margin(NamedTuple):
    """What stands before the lines of an item or a quotation.

    Attributes:
        first: before the next line.
        more: before those after it.
        is_empty: whether nothing stands behind it yet.
    """

    first: str
    more: str
    is_empty: bool = True


class _Writer:
    """Makes lines of parsed Markdown.

    Args:
        source: its lines.
        width: of a line of the terminal, in cells.
    """

    def __init__(self, source: Sequence[str], width: int) -> None:
        self._source = source
        self._width = width
        self._lines: list[str] = []
        self._margins: list[_Margin] = []  # of what is around
        self._numbers: list[int | None] = []  # of the next item of each list around
        self._is_apart = False  # whether an empty line comes before the next block
        self._console = Console(
            file=io.StringIO(), force_terminal=True, width=width, highlight=False, emoji=False, markup=False, _environ={}
        )  # fmt: skip

    def write(self, tokens: Sequence[Token]) -> list[str]:
        """Return the lines of these blocks."""
        rest = iter(tokens)
        style = ""
        for token in rest:
            match token.type:
                case "heading_open":
                    style = "bold underline" if token.tag == "h1" else "bold"
                    self._begin_block()
                case "heading_close":
                    style = ""
                    self._is_apart = True
                case "paragraph_open":
                    self._begin_block()
                case "paragraph_close":
                    self._is_apart = not token.hidden
                case "inline":
                    self._put(self._break(_join_inline(token.children or (), style)))
                case "fence" | "code_block":
                    self._put_code(token)
                case "hr":
                    self._begin_block()
                    self._put([Text("─" * self._room, "dim")])
                    self._is_apart = True
                case "table_open":
                    self._put_table(rest, [] if self._margins else self._source[slice(*token.map or (0, 0))])
                case "bullet_list_open" | "ordered_list_open":
                    self._numbers.append(int(token.attrs.get("start", 1)) if token.tag == "ol" else None)
                case "list_item_open":
                    self._begin_block()
                    self._margins.append(self._make_margin())
                case "blockquote_open":
                    self._begin_block()
                    self._margins.append(_Margin("▌ ", "▌ "))
                case "list_item_close":
                    self._end_container()
                case "blockquote_close":
                    self._end_container()
                    self._is_apart = True
                case "bullet_list_close" | "ordered_list_close":
                    self._numbers.pop()
                    self._is_apart = not self._numbers
                case _:
                    pass
        return self._lines

    @property
    def _room(self) -> int:
        """Cells of a line that are left beside the margins."""
        return max(self._width - sum(len(margin.more) for margin in self._margins), self._width // 3, 2)

    def _begin_block(self) -> None:
        if self._is_apart and self._lines:
            self._lines.append("".join(margin.more for margin in self._margins).rstrip())
        self._is_apart = False

    def _make_margin(self) -> _Margin:
        number = self._numbers[-1]
        if number is None:
            mark = "• " if len(self._numbers) % 2 else "◦ "
        else:
            mark = f"{number}. "
            self._numbers[-1] = number + 1
        return _Margin(mark, " " * len(mark))

    def _end_container(self) -> None:
        if self._margins[-1].is_empty:
            self._put([Text("")])
        self._margins.pop()

    def _put(self, lines: Iterable[Text]) -> None:
        for line in lines:
            before = "".join(margin.first for margin in self._margins)
            self._margins = [_Margin(more, more, is_empty=False) for _, more, _ in self._margins]
            self._lines.append(before + self._draw(line))

    def _draw(self, line: Text) -> str:
        """Return a line with its styles, neither broken nor cut."""
        parts = line.render(self._console)
        return "".join(one.style.render(one.text, color_system=_COLOURS) if one.style else one.text for one in parts)

    def _break(self, text: Text) -> Iterator[Text]:
        for line in text.split("\n", allow_blank=True):
            line.expand_tabs(8)
            for part in line.divide(find_breaks(line.plain, self._room)):
                part.rstrip()
                yield part

    def _put_code(self, token: Token) -> None:
        """Write code in colours, its lines as they are: they can be copied."""
        self._begin_block()
        code = token.content.removesuffix("\n")
        language = token.info.split(maxsplit=1)[0] if token.info.strip() else "text"
        coloured = Syntax(code, language, theme=_THEME, background_color="default").highlight(code)
        lines = coloured.split("\n", allow_blank=True)[: code.count("\n") + 1]
        self._put(lines if "\n".join(line.plain for line in lines) == code else [Text(one) for one in code.split("\n")])
        self._is_apart = True

    def _put_table(self, tokens: Iterator[Token], source: Sequence[str]) -> None:
        self._begin_block()
        rows: list[list[Text]] = []
        for token in tokens:
            if token.type == "table_close":
                break
            if token.type == "tr_open":
                rows.append([])
            elif token.type == "inline":
                rows[-1].append(_join_inline(token.children or ()))
        has_more = any(line.strip().strip("|").replace("\\|", "").count("|") >= len(rows[0]) for line in source)
        self._put(map(Text, source) if has_more else self._draw_table(rows))  # cells beyond the columns were not read
        self._is_apart = True

    def _draw_table(self, rows: Sequence[Sequence[Text]]) -> Iterator[Text]:
        if len(rows[0]) * _NARROW > self._room:  # no column would have room: a line for each row
            yield from (line for row in rows for line in self._break(Text(" | ").join(row)))
            return
        table = Table(box=SIMPLE_HEAD, show_edge=False, pad_edge=False, header_style="bold")
        for title in rows[0]:
            table.add_column(title, overflow="fold")
        for row in rows[1:]:
            table.add_row(*row)
        for segments in self._console.render_lines(table, self._console.options.update(width=self._room), pad=False):
            line = Text.assemble(*((one.text, one.style or "") for one in segments if not one.control))
            line.rstrip()
            yield line


def _join_inline(tokens: Sequence[Token], style: str = "") -> Text:
    """Return what stands in a line or in several, with its styles."""
    text = Text()
    open_styles: list[tuple[str, int, str]] = []
    for token in tokens:
        if token.nesting == 1:
            style_name = _STYLES.get(token.type.removesuffix("_open"), "")
            open_styles.append((style_name, len(text), str(token.attrs.get("href", ""))))
        elif token.nesting == -1:
            drawn, start, address = open_styles.pop()
            if address and text.plain[start:] not in (address, address.removeprefix("mailto:")):
                text.append(f" ({address})")
            text.stylize(drawn, start)
        elif token.type in ("softbreak", "hardbreak"):
            text.append("\n")
        elif token.type == "image":
            text.append(f"{token.content} ({token.attrs.get('src', '')})")
        else:
            text.append(token.content, _CODE if token.type == "code_inline" else "")
    text.stylize(style)
    return text
