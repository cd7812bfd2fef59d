"""Requests that are sent, and written down with all that comes back, as it comes.

The reader gets what it gets without a cassette, but for this: a compressed body is decompressed here already, since no
secret could be found in it.
"""

import threading
from collections.abc import Iterator, Mapping, Sequence
from typing import ClassVar

from hocket._runtime import clock
from hocket.errors import InvalidReply, LLMError
from hocket.http.clients import OpenReply, Transport
from hocket.http.decompression import Decompressor, find_decompressor
from hocket.http.failures import REQUEST_IDS
from hocket.http.json_size import MAX_REPLY
from hocket.http.request import HTTPRequest
from hocket.testing.cassettes.exchanges import BrokenOff, RecordedExchange, keep_request
from hocket.testing.cassettes.masking import Scrub, make_masker

__all__ = ["Recorder"]

_KEPT = frozenset(
    {
        *("content-type", "content-encoding", "location", "retry-after", "retry-after-ms", "x-should-retry"),
        *REQUEST_IDS,  # errors and messages repeat them
    }
)
"""Headers of a reply that are kept, beside those of limits: what hocket reads, and so no cookies, organisations, dates."""


class _Draft:
    """One request under way: what has come of it so far."""

    def __init__(self, request: HTTPRequest) -> None:
        self._request = request
        self._status: int | None = None
        self._headers: Mapping[str, str] = {}
        self._after = 0.0
        self._pieces: list[tuple[float, bytes]] = []
        self._end: BrokenOff | None = None
        self._is_over = False
        self._since = clock.current().now()

    def begin(self, status: int, headers: Mapping[str, str]) -> None:
        """Note the head of the reply."""
        self._status, self._headers, self._after = status, headers, self._lap()

    def add(self, piece: bytes) -> None:
        """Note a piece of the body."""
        self._pieces.append((self._lap(), piece))

    def finish(self, failure: LLMError | None = None, *, is_whole: bool = False) -> None:
        """Note how it ended; what comes after that is nothing new."""
        if not self._is_over:
            self._is_over = True
            self._end = None if is_whole else BrokenOff(self._lap(), _copy(failure))

    def keep(self, secrets: Sequence[str], scrub: Scrub | None) -> RecordedExchange:
        """Return what there is to keep, without secrets."""
        self.finish()
        masker = make_masker(tuple(secrets), scrub)
        headers = {
            name: masker.mask_text(value)
            for name, value in self._headers.items()
            if name in _KEPT or "ratelimit" in name
        }
        bodies = masker.mask_pieces([piece for _, piece in self._pieces])
        pieces = [(after, body) for (after, _), body in zip(self._pieces, bodies, strict=True) if body]
        end = self._end
        if end is not None and end.failure is not None:
            end.failure.message = masker.mask_text(end.failure.message)
        return RecordedExchange(keep_request(self._request, masker), self._status, headers, self._after, pieces, end)

    def _lap(self) -> float:
        before, self._since = self._since, clock.current().now()
        return self._since - before


def _copy(failure: LLMError | None) -> LLMError | None:
    """Return an error as it is now: those above add to what it says."""
    return None if failure is None else type(failure)(failure.message, retryable=failure.retryable)


class Recorder:
    """What was sent while a cassette was in use, in the order in which it was sent. Safe to use from several threads."""

    def __init__(self) -> None:
        self._drafts: list[_Draft] = []
        self._secrets: dict[str, None] = {}
        self._lock = threading.Lock()

    def __len__(self) -> int:
        return len(self._drafts)

    async def open(self, request: HTTPRequest, transport: Transport, secrets: Sequence[str]) -> OpenReply:
        """Send a request and record its result.

        Args:
            request: what is sent.
            transport: what sends it.
            secrets: that the request knows of.
        """
        draft = _Draft(request)
        with self._lock:
            self._secrets.update(dict.fromkeys(secrets))
            self._drafts.append(draft)
        try:
            reply = await transport.open(request)
        except LLMError as error:
            draft.finish(error)
            raise
        except Exception:  # it cannot be sent, and another time neither
            with self._lock:
                self._drafts.remove(draft)
            raise
        except BaseException:
            draft.finish()
            raise
        return _RecordedReply(reply, draft)

    def keep(self, scrub: Scrub | None) -> Iterator[RecordedExchange]:
        """Yield what there is to keep. No exchange has a secret of any other."""
        with self._lock:
            drafts, secrets = list(self._drafts), list(self._secrets)
        for draft in drafts:
            yield draft.keep(secrets, scrub)


class _RecordedReply:
    """A reply that is written down while it is read, see `hocket.http.clients.OpenReply`."""

    is_worth_draining: ClassVar[bool] = True

    def __init__(self, reply: OpenReply, draft: _Draft) -> None:
        self.status: int = reply.status
        self.headers: Mapping[str, str] = reply.headers
        self._reply = reply
        self._draft = draft
        self._decompressor: Decompressor | None = None
        try:
            self._decompressor = find_decompressor(reply.headers)
        except InvalidReply:
            pass  # the reader will say so, now and when it is replayed
        else:
            self.headers = {name: value for name, value in reply.headers.items() if name != "content-encoding"}
        draft.begin(self.status, self.headers)

    async def receive(self) -> bytes:
        """Return the next piece of the body, decompressed; nothing: it has ended."""
        try:
            while data := await self._reply.receive():
                if piece := data if self._decompressor is None else self._decompressor.feed(data, MAX_REPLY):
                    self._draft.add(piece)
                    return piece
            if self._decompressor is not None:
                self._decompressor.close()
        except LLMError as error:
            self._draft.finish(error)
            raise
        except BaseException:
            self._draft.finish()
            raise
        self._draft.finish(is_whole=True)
        return b""

    async def aclose(self) -> None:
        """Give up the rest. Safe to call twice."""
        self._draft.finish()
        await self._reply.aclose()
