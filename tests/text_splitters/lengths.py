"""How long a text is, in ways that add up and in ways that do not."""

from collections.abc import Callable

LENGTHS: dict[str, Callable[[str], int]] = {
    "characters": len,
    "words": lambda text: len(text.split()),
    "bytes": lambda text: len(text.encode("utf-8", "surrogatepass")),
    "quarters": lambda text: len(text) // 4,
    "marked": lambda text: len(text) + 2,
}
