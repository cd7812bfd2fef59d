"""Secrets out of what is recorded, before it is written.

A secret is looked for in the bytes of a whole body, not piece by piece: what the network cuts in two would be found in
neither half. It is found by its first eight characters and masked as far as it goes, since a server may quote a part of
it; and also where it is written as JSON or a URL write it. What a request knows for a secret is `find_secrets`'s to say.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache

from hocket._secrets import MASK, sort_secrets
from hocket.testing.cassettes.frames import mask_frames
from hocket.testing.cassettes.spoken import Edit, find_spoken

__all__ = ["Masker", "Scrub", "make_masker"]

Scrub = Callable[[str], str]
"""Takes out of a text what else is to be in no file: returns it without that."""

_BEGINNING = 8  # characters of a secret by which it is found, as in `hocket._secrets`
_MASK = MASK.encode()
_PLAIN = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.~")  # nobody writes them otherwise
_IN_ESCAPE = re.compile(rb"(\\+)(?:u[0-9a-fA-F]{0,3})?\Z")
_LONGEST_ESCAPE = 64  # bytes before a secret in which an escape may begin; a run of more backslashes is no JSON

Span = tuple[int, int]


class Masker:
    """Masks the secrets of one request, and what a function of the user's finds.

    Args:
        secrets: those that the request knows.
        scrub: is given every text that is to be kept; None: there is none.
    """

    def __init__(self, secrets: Iterable[str], scrub: Scrub | None = None) -> None:
        self._secrets = tuple(_drop_compounds(sort_secrets(secrets)))
        self._scrub = scrub

    def mask(self, body: bytes) -> bytes:
        """Return a body without secrets."""
        (masked,) = self.mask_pieces([body])
        return masked

    def mask_text(self, text: str) -> str:
        """Return a text without secrets."""
        return self.mask(text.encode("utf-8", "surrogateescape")).decode("utf-8", "surrogateescape")

    def mask_pieces(self, pieces: Sequence[bytes]) -> list[bytes]:
        """Return as many pieces without secrets. The mask of one that was cut is in its first piece."""
        if (framed := mask_frames(pieces, self.mask_pieces)) is not None:
            return framed
        masked = list(pieces)
        if self._secrets:
            masked = _edit(masked, find_spoken(b"".join(masked), self._find, MASK))  # first: it needs the beginnings
            masked = _edit(masked, [Edit(start, end, _MASK) for start, end in self._find(b"".join(masked))])
        return masked if self._scrub is None else _scrub_pieces(masked, self._scrub)

    def _find(self, body: bytes) -> list[Span]:
        """Return where secrets stand, in order and without overlaps."""
        return _merge([span for secret in self._secrets for span in _find_secret(body, secret)])


@lru_cache(maxsize=64)
def make_masker(secrets: tuple[str, ...], scrub: Scrub | None) -> Masker:
    """Return the masker for these secrets: requests of one model have the same."""
    return Masker(secrets, scrub)


def _drop_compounds(secrets: Sequence[str]) -> list[str]:
    """Return the secrets that no other is a part of: of "Bearer abcdef" and "abcdef" the second.

    By its first eight characters "Bearer abcdef" would be found in "Bearer and bear".
    """
    return [one for one in secrets if not any(other in one for other in secrets if other != one)]


def _find_secret(body: bytes, secret: str) -> Iterable[Span]:
    """Yield where a secret stands in a body, or as much of its beginning as there is."""
    own = secret.encode("utf-8", "surrogatepass")
    beginning, rest = _compile(secret)
    for found in beginning.finditer(body):
        start, end = found.span()
        if body.startswith(own, start):
            end = start + len(own)
        else:
            for character in rest:
                further = character.match(body, end)
                if further is None:
                    break
                end = further.end()
        yield _widen(body, start), end


@lru_cache(maxsize=256)
def _compile(secret: str) -> tuple[re.Pattern[bytes], list[re.Pattern[bytes]]]:
    """Return what finds the beginning of a secret, and what finds each character after that."""
    forms = [_write_forms(character) for character in secret]
    return re.compile(b"".join(forms[:_BEGINNING])), [re.compile(form) for form in forms[_BEGINNING:]]


def _write_forms(character: str) -> bytes:
    """Return the pattern of a character: as itself, and as JSON and URLs write it."""
    own = character.encode("utf-8", "surrogatepass")
    if character in _PLAIN:
        return re.escape(own)
    units = character.encode("utf-16-be", "surrogatepass")
    in_json = b"".join(rb"\\u(?i:%04x)" % int.from_bytes(units[at : at + 2]) for at in range(0, len(units), 2))
    in_url = b"".join(b"%%(?i:%02x)" % byte for byte in own)
    forms = [re.escape(own), in_json, in_url]
    if character in '"\\/':
        forms.insert(0, re.escape(b"\\" + own))
    if character == " ":
        forms.append(rb"\+")
    return b"(?:" + b"|".join(forms) + b")"


def _widen(body: bytes, start: int) -> int:
    r"""Return where a span is to begin that starts inside an escape of JSON: half of ``\n`` would break the document."""
    found = _IN_ESCAPE.search(body, max(0, start - _LONGEST_ESCAPE), start)
    if found is None or len(found[1]) % 2 == 0:  # none, or the backslashes escape one another
        return start
    return found.end(1) - 1


def _edit(pieces: Sequence[bytes], edits: Sequence[Edit]) -> list[bytes]:
    """Return the pieces of a body as edited. What is new is in the piece in which the old began.

    Args:
        pieces: of the body.
        edits: in order and without overlaps.
    """
    if not edits:
        return list(pieces)
    edited: list[bytes] = []
    at = 0  # the first edit that may reach into the piece
    start = 0
    for piece in pieces:
        end = start + len(piece)
        parts, done = list[bytes](), start
        while at < len(edits) and edits[at].start < end:
            first, last, instead = edits[at]
            if first >= start:
                parts += (piece[done - start : first - start], instead)
            done = min(last, end)
            if last > end:  # it goes on in the next piece
                break
            at += 1
        parts.append(piece[done - start :])
        edited.append(b"".join(parts))
        start = end
    return edited


def _merge(spans: list[Span]) -> list[Span]:
    merged: list[Span] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _scrub_pieces(pieces: list[bytes], scrub: Scrub) -> list[bytes]:
    """Return pieces as the user's function leaves them: each by itself, unless it changes more of the whole.

    Then something goes over the border of two pieces, and all is in the first one.
    """
    whole = _scrub_text(b"".join(pieces), scrub)
    each = [_scrub_text(piece, scrub) for piece in pieces]
    return each if b"".join(each) == whole or not pieces else [whole, *(b"" for _ in pieces[1:])]


def _scrub_text(data: bytes, scrub: Scrub) -> bytes:
    return scrub(data.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")
