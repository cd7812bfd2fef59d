"""Messages as HTML, for notebooks.

What a model says is shown and never run. Markup in it is text; a link goes to an address of the web or nowhere; no image
is loaded, for its address could carry a secret out; and formulas are not typeset, for they may hold links, too. The colours
are those of the page, so that it can be read in light and in dark.

An answer is rendered as Markdown if markdown-it-py is installed (``pip install 'hocket[notebook]'``), and is shown as it
was written if not. It is imported when something is shown.
"""

import functools
from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Any, Protocol

from hocket.messages.content import FieldsView

__all__ = [
    "ShownMessage",
    "load_markdown",
    "shorten_text",
    "write_box",
    "write_message",
    "write_messages",
    "write_table",
    "write_text",
]

LONGEST = 20_000
"""Characters of a text that are shown."""

MOST = 50
"""Messages of a conversation that are shown, the last ones."""

_COLOURS = {"human": "#3b82f6", "ai": "#10b981", "tool": "#f59e0b", "system": "#8b5cf6"}
_OTHER_COLOUR = "#94a3b8"

# A table that is wider than the page has a scroll bar of its own.
_TABLE, _END_OF_TABLE = '<div style="overflow-x:auto"><table>', "</table></div>"

Renderer = Callable[[str], str]


class ShownMessage(Protocol):
    """What is shown of any message. An answer also has its calls, and its usage."""

    type: str
    name: str | None
    response_metadata: dict[str, Any]

    @property
    def content_blocks(self) -> Sequence[Any]:
        """The content, as standard blocks."""
        ...


def write_message(message: ShownMessage, *, with_calls: bool = True) -> str:
    """Return a message as HTML: who speaks, what is said, the calls of tools if wanted, and what it cost."""
    kind = message.type.removesuffix("MessageChunk").lower()
    inside = [_write_head(kind, message)]
    blocks = message.content_blocks
    for block in blocks:
        match block:
            case {"type": "text", "text": str(text)}:
                inside.append(write_text(text, is_markdown=kind == "ai"))
            case {"type": "reasoning"}:
                if reasoning := str(block.get("reasoning") or ""):
                    is_open = " open" if block is blocks[-1] else ""  # no answer yet
                    inside.append(f"<details{is_open}><summary>reasoning</summary>{write_text(reasoning)}</details>")
            case {"type": "tool_call" | "tool_call_chunk" | "invalid_tool_call"}:
                pass  # below, whatever their form
            case {"type": str(other)}:
                inside.append(f"<div>[{escape(other)}]</div>")
            case _:
                pass
    calls: list[FieldsView] = [*(getattr(message, "tool_calls", ()) if with_calls else ())]
    calls += getattr(message, "invalid_tool_calls", ())
    inside += [f"<div>→ <code>{_escape(_describe_call(call))}</code></div>" for call in calls]
    return write_box("".join(inside), _COLOURS.get(kind, _OTHER_COLOUR))


def write_messages(messages: Sequence[ShownMessage]) -> str:
    """Return the last messages of a conversation as HTML."""
    left_out = len(messages) - MOST
    before = f"<div>… {left_out} messages before</div>" if left_out > 0 else ""
    return before + "".join(write_message(one) for one in messages[-MOST:])


def write_text(text: str, *, is_markdown: bool = False) -> str:
    """Return a text as HTML; of a long one, the beginning."""
    text = shorten_text(text, LONGEST).encode("utf-8", "replace").decode()  # a lone surrogate cannot be sent
    render = load_markdown() if is_markdown else None
    if render is not None:
        return render(text)
    return f'<div style="white-space:pre-wrap;overflow-wrap:break-word">{escape(text)}</div>'


def shorten_text(text: str, longest: int) -> str:
    """Return a text, or of one that is longer the beginning, which says so."""
    rest = len(text) - longest
    return text if rest <= 0 else f"{text[:longest]} … ({rest} more characters)"


def write_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return a table as HTML."""
    lines = ["".join(f"<th>{_escape(one)}</th>" for one in head)]
    lines += ["".join(f"<td>{_escape(str(one))}</td>" for one in row) for row in rows]
    return f"{_TABLE}{''.join(f'<tr>{line}</tr>' for line in lines)}{_END_OF_TABLE}"


def write_box(inside: str, colour: str = _OTHER_COLOUR) -> str:
    """Return HTML beside a line in a colour."""
    style = f"border-left:3px solid {colour};padding-left:.8em;margin:.4em 0;overflow-wrap:break-word"
    return f'<div class="mathjax_ignore tex2jax_ignore" style="{style}">{inside}</div>'


@functools.cache
def load_markdown() -> Renderer | None:
    """Return what renders Markdown safely; None: it is not installed."""
    try:
        from markdown_it import MarkdownIt
    except ImportError:
        return None
    markdown = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
    markdown.add_render_rule("table_open", lambda *_: _TABLE)
    markdown.add_render_rule("table_close", lambda *_: _END_OF_TABLE)
    return markdown.render


def _write_head(kind: str, message: ShownMessage) -> str:
    facts: list[str] = [kind]
    name = message.response_metadata.get("model_name") or message.name
    if name:
        facts.append(str(name))
    usage: FieldsView | None = getattr(message, "usage_metadata", None)
    if usage is not None:
        facts.append(f"{usage['input_tokens']} + {usage['output_tokens']} tokens")
    return f'<div style="opacity:.65;font-size:.85em">{_escape(" · ".join(facts))}</div>'


def _describe_call(call: FieldsView) -> str:
    return f"{call['name']}({call['args']})"


def _escape(text: str) -> str:
    return escape(text[:LONGEST].encode("utf-8", "replace").decode())
