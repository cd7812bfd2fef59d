"""How personal data are found in a text, and what is put in their place. Pure functions.

A text may be hostile, and long: so each pattern is linear in time. A part without a bound is possessive (``++``: nothing
is tried twice), or begins where none of its kind stands before it.
"""

import ipaddress
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import accumulate
from typing import Protocol

__all__ = ["KINDS", "STRATEGIES", "Finder", "Pattern", "find_all", "replace_all"]

Finder = Callable[[str], Iterable[tuple[int, int]]]
"""Returns where something is found in a text, as slices."""


class Pattern(Protocol):
    """A compiled regular expression, Python's own or that of another package."""

    def finditer(self, text: str, /) -> Iterable[re.Match[str]]: ...  # as that of `re`


def find_all(pattern: str | Pattern) -> Finder:
    """Return what finds all that a pattern finds. Raises as `re.compile`."""
    compiled = re.compile(pattern) if isinstance(pattern, str) else pattern
    return lambda text: (found.span() for found in compiled.finditer(text))


_LETTER = "0-9A-Za-z\u00c0-\u04ff"  # of scripts that put spaces between words: Chinese stands right beside an address
_OCTET = "(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})"
_IPV4 = rf"{_OCTET}(?:\.{_OCTET}){{3}}"
_HEX = "[0-9A-Fa-f]"
_NO_URL = r"""\s<>"'`\u3001-\u303f\uff01-\uff20"""
_DIGITS = re.compile(r"(?<![0-9])(?<![0-9][.,])[0-9](?:[ \u00a0-]?[0-9]){12,}+")
_DOUBLES = (0, 2, 4, 6, 8, 1, 3, 5, 7, 9)  # a digit twice, its digits added up
_IPV6 = re.compile(
    rf"(?<![0-9A-Za-z_])(?:(?:{_HEX}{{1,4}}:){{7}}{_HEX}{{1,4}}|(?:{_HEX}{{0,4}}:){{2,8}}(?:{_IPV4}|{_HEX}{{0,4}}))"
    rf"(?<!{_HEX}:)(?![0-9A-Za-z_])"
)
_find_ipv4 = find_all(rf"(?<![0-9])(?<![0-9]\.){_IPV4}(?![0-9]|\.[0-9])")


def _find_ips(text: str) -> Iterator[tuple[int, int]]:
    yield from _find_ipv4(text)
    for found in _IPV6.finditer(text):
        try:
            if ipaddress.IPv6Address(found[0]).packed.strip(b"\0"):  # "::" alone is code, and nobody's address
                yield found.span()
        except ValueError:
            continue


def _find_cards(text: str) -> Iterator[tuple[int, int]]:
    """Yield numbers of 13 to 19 digits that pass Luhn's check, from the beginning of a group to the end of one."""
    for run in _DIGITS.finditer(text):
        places = [at for at in range(*run.span()) if text[at] in "0123456789"]
        length, digits = len(places), [int(text[at]) for at in places]
        # The sums of the first digits, with every second one doubled: the even ones, or the odd ones.
        even, odd = ([_DOUBLES[d] if n % 2 == one else d for n, d in enumerate(digits)] for one in (0, 1))
        sums = [0, *accumulate(even)], [0, *accumulate(odd)]
        edges = {0, length, *(n for n in range(1, length) if places[n] - places[n - 1] > 1)}
        for first in sorted(edges):
            for end in range(min(first + 19, length), first + 12, -1):
                if end in edges and (sums[end % 2][end] - sums[end % 2][first]) % 10 == 0:
                    yield places[first], places[end - 1] + 1
                    break


KINDS: Mapping[str, Finder] = {
    "email": find_all(
        rf"(?<![{_LETTER}._%+-])[{_LETTER}._%+-]++@(?:[{_LETTER}-]++\.)+(?:xn--[0-9A-Za-z-]+|[A-Za-z\u00c0-\u04ff]{{2,}})"
    ),
    "credit_card": _find_cards,
    "ip": _find_ips,
    "mac_address": find_all(
        rf"(?<![0-9A-Za-z])(?:(?:{_HEX}{{2}}[:-]){{5}}{_HEX}{{2}}|{_HEX}{{4}}(?:\.{_HEX}{{4}}){{2}})(?![0-9A-Za-z])"
    ),
    "url": find_all(
        rf"(?:(?<![0-9A-Za-z+.-])[A-Za-z][0-9A-Za-z+.-]*+://|(?<![0-9A-Za-z.-])[Ww]{{3}}\.)"
        rf"[^{_NO_URL}]*[^{_NO_URL}.,;:!?)\]}}*_~]"
    ),
}
"""What can be found, by name."""


def _mask(kind: str, value: str) -> str:
    """Put stars for letters and digits, but for a quarter of them at the end, and four at most."""
    places = [at for at, sign in enumerate(value) if sign.isalnum()]
    hidden = {*places[: len(places) - min(4, len(places) // 4)]}
    return "".join("*" if at in hidden else sign for at, sign in enumerate(value))


STRATEGIES: Mapping[str, Callable[[str, str], str]] = {
    "redact": lambda kind, value: f"[REDACTED_{kind.upper()}]",
    "mask": _mask,
    "hash": lambda kind, value: f"<{kind}_hash:{sha256(value.encode(errors='replace')).hexdigest()[:8]}>",
}
"""What takes the place of a value, made of its kind and itself."""


def replace_all(text: str, kinds: Mapping[str, Finder], write: Callable[[str, str], str]) -> str:
    """Return a text with what is found in it written again. Of finds that overlap the first is, and all of it goes."""
    parts: list[str] = []
    done = 0
    for start, end, name in sorted((*found, name) for name, find in kinds.items() for found in find(text)):
        if done <= start < end:
            parts += text[done:start], write(name, text[start:end])
        done = max(done, end) if start < end else done
    return "".join([*parts, text[done:]])
