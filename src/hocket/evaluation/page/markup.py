"""HTML and SVG, written by hand. What is put into an element is text and is escaped, unless it is `Html` already: so an
answer that is HTML can be forgotten to be escaped nowhere."""

from collections.abc import Iterable
from html import escape

__all__ = ["Html", "join", "tag"]


class Html(str):
    """HTML, which is not escaped again."""

    __slots__ = ()


def tag(name: str, *inside: str, **attributes: str | float | bool | None) -> Html:
    """Return an element.

    Args:
        name: of the element.
        inside: texts, which are escaped, and `Html`.
        attributes: ``class_`` is ``class``, and ``stroke_width`` is ``stroke-width``; one that is None is left out, and one
            that is True has no value.
    """
    words = [
        f" {key.rstrip('_').replace('_', '-')}" + ("" if value is True else f'="{_quote(str(value))}"')
        for key, value in attributes.items()
        if value is not None
    ]
    return Html(f"<{name}{''.join(words)}>{join(inside)}</{name}>")


def join(parts: Iterable[str]) -> Html:
    """Return parts, one behind the other: texts, which are escaped, and `Html`."""
    return Html("".join(part if isinstance(part, Html) else _quote(part) for part in parts))


def _quote(text: str) -> str:
    return escape(text.encode("utf-8", "replace").decode())  # a lone surrogate cannot be written
