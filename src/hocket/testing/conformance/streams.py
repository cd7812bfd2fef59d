"""What a model makes of streams that are cut, stall, fail, or are left by who listens."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractAsyncContextManager, suppress
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Any

import anyio
import pytest

from hocket.errors import (
    ConnectionFailed,
    EmptyResponse,
    FirstTokenTimeout,
    IdleTimeout,
    InvalidReply,
    LLMError,
    RequestTimeout,
    StreamTruncated,
    TotalTimeout,
)
from hocket.language_models import BaseChatModel
from hocket.retries import RetryPolicy
from hocket.testing.clock import virtual_clock
from hocket.testing.conformance.remote_suite import VERBS, RemoteSuite, ask
from hocket.testing.server import Behaviour, Cut, End, Format, ReceivedRequest, Reply, Script, Step, Stream, WireAnswer
from hocket.timeouts import Timeout

__all__ = ["Streams"]

TEXT = "one two three four"
STRIDE = 97  # bytes from one cut of a stream to the next, besides those between its events
FOREVER = float("inf")
STALLING = Stream(TEXT, then="stall")


class Streams(RemoteSuite):
    """Tests of streams and of time. Seconds pass at once, by a virtual clock."""

    def streaming(self, script: Script) -> AbstractAsyncContextManager[BaseChatModel]:
        """Return `serving`, for a model that streams: another one's answers cannot be cut in the middle, or left there."""
        if not self.streams:
            pytest.skip("streams = False")
        return self.serving(script)

    async def test_chunks_come_as_they_are_sent(self) -> None:
        """A piece of the answer is handed out when it has come, not when the next one has, or the last."""
        pieces: list[str] = []
        async with self.streaming([Stream(TEXT), STALLING]) as model:
            text = await ask(model, "astream", self.question, [])
            async with model.astream(self.question) as stream:
                with anyio.move_on_after(self.patience):
                    async for chunk in stream:
                        pieces.append(chunk.text)
                        if "".join(pieces) == text:
                            break
        assert "".join(pieces) == text, "what the server has sent is held back"

    @pytest.mark.parametrize("how", ["end", "eof", "reset"])
    async def test_a_cut_stream_is_truncated(self, how: End) -> None:
        """Cut between any two events, or anywhere else, a stream raises `StreamTruncated` with what has come.

        However its connection ends, half of an answer is never given for the whole, and no finish reason is made up.
        """
        cut = _Cuts(Stream(TEXT, pieces=4), self.format, how)
        async with self.streaming(cut) as model:
            whole = await ask(model, "astream", self.question, [])
            for at in cut.cut_everywhere():
                pieces: list[str] = []
                try:
                    text = await ask(model, "astream", self.question, pieces, retry=None)
                except StreamTruncated as error:
                    assert (error.partial.text if error.partial else "") == "".join(pieces)
                    continue
                except (ConnectionFailed, EmptyResponse):
                    assert not pieces, f"cut at byte {at}, what had come is lost: that is a StreamTruncated"
                    continue
                assert at > cut.size_before_end, (
                    f"cut at byte {at}, before its terminal event, a stream was taken for whole"
                )
                assert text == whole

    async def test_a_stream_that_has_said_nothing_is_begun_again(self) -> None:
        """While no piece of the answer has come, another attempt is made: what opens a stream is no chunk."""
        cut = _Cuts(Stream(TEXT, pieces=4), self.format, "eof")
        async with self.streaming(cut) as model:
            await ask(model, "astream", self.question, [])
            for at in cut.cut_everywhere():
                pieces: list[str] = []
                before = len(self.server.requests)
                with suppress(LLMError, EmptyResponse):
                    await ask(model, "astream", self.question, pieces, retry=RetryPolicy(max_attempts=2, first_pause=0))
                if "".join(pieces):
                    return
                made = len(self.server.requests) - before
                assert made == 2, f"cut at byte {at}, before any text: not begun again; what opens a stream is no chunk"

    async def test_a_truncated_stream_is_not_begun_again(self) -> None:
        """Once a piece was handed out there is no further attempt: nobody hears the beginning twice."""
        async with self.streaming(Stream(TEXT, then="eof")) as model:
            with suppress(LLMError):
                await ask(model, "astream", self.question, [], retry=3)
            assert len(self.server.requests) == 1

    async def test_an_error_in_a_stream(self) -> None:
        """An error event ends the stream with the server's words, and what had come in ``partial``."""
        pieces: list[str] = []
        async with self.streaming(Stream(TEXT, error="these are the server's words")) as model:
            with pytest.raises(LLMError, match="these are the server's words") as caught:
                await ask(model, "astream", self.question, pieces, retry=None)
        assert not isinstance(caught.value, StreamTruncated)
        assert caught.value.partial is not None and caught.value.partial.text == "".join(pieces)

    async def test_a_garbled_event(self) -> None:
        """An event that cannot be read is an error, neither skipped nor a bare `ValueError`."""
        async with self.streaming(_Garbled(Stream(TEXT, pieces=4))) as model:
            with pytest.raises((InvalidReply, StreamTruncated)):
                await ask(model, "astream", self.question, [], retry=None)

    # -- time

    @pytest.mark.parametrize("pings", [0, 100])
    async def test_a_stream_that_does_not_begin(self, pings: int) -> None:
        """`FirstTokenTimeout`, also if the server sends pings all the while: they say nothing."""
        script = Stream(TEXT, pings=pings, every=1, first_after=0 if pings else FOREVER)
        await self._runs_out_of_time(script, "astream", Timeout(first_token=30, total=600), FirstTokenTimeout)

    @pytest.mark.parametrize("then", ["stall", "ping"])
    async def test_a_stream_that_falls_silent(self, then: Any) -> None:
        """`IdleTimeout` with what has come in ``partial``, also if the server sends pings all the while."""
        limits = Timeout(first_token=60, idle=30, total=600)
        await self._runs_out_of_time(Stream(TEXT, every=1, then=then), "astream", limits, IdleTimeout)

    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_server_that_never_answers(self, verb: str) -> None:
        """`TotalTimeout`, however much time single steps might have."""
        limits = Timeout(first_token=None, idle=None, total=30)
        await self._runs_out_of_time(Reply(TEXT, delay=FOREVER), verb, limits, TotalTimeout)

    async def _runs_out_of_time(
        self, script: Behaviour, verb: str, limits: Timeout, error: type[RequestTimeout]
    ) -> None:
        pieces: list[str] = []
        serving = self.streaming if isinstance(script, Stream) else self.serving
        with virtual_clock() as clock:
            async with serving(script) as model:
                with anyio.move_on_after(self.patience) as waiting, pytest.raises(error) as caught:
                    await ask(model, verb, self.question, pieces, timeout=limits, retry=None)
                elapsed = clock.now()
        assert not waiting.cancelled_caught and elapsed <= 60, "the limit was not kept"
        partial = caught.value.partial
        assert (partial.text if partial else "") == "".join(pieces)

    # -- leaving

    async def test_leaving_a_stream_closes_its_connection(self) -> None:
        """Left in any way, a stream does not go on behind the caller's back: the server sees its connection closed."""
        for leave in (_break_off, _close_from_elsewhere, _cancel_the_pull):
            async with self.streaming(STALLING) as model:
                with anyio.fail_after(self.patience):
                    await leave(model, self.question)
                await self.server.wait_for_open_connections(0, within=self.patience)

    async def test_a_cancelled_call_closes_its_connection(self) -> None:
        """A call that is cancelled while it waits for its answer does not wait on: the server sees its connection closed."""
        async with self.serving(Reply(TEXT, delay=FOREVER)) as model:
            async with anyio.create_task_group() as group:
                group.start_soon(model.ainvoke, self.question)
                await self.server.wait_for_requests(1, within=self.patience)
                group.cancel_scope.cancel()
            await self.server.wait_for_open_connections(0, within=self.patience)


async def _break_off(model: BaseChatModel, question: str) -> None:
    async with model.astream(question) as stream:
        async for _ in stream:
            break


async def _close_from_elsewhere(model: BaseChatModel, question: str) -> None:
    stream = model.astream(question)
    await anext(stream)
    async with anyio.create_task_group() as group:
        group.start_soon(stream.aclose)


async def _cancel_the_pull(model: BaseChatModel, question: str) -> None:
    has_begun = anyio.Event()

    async def pull() -> None:
        async for _ in model.astream(question):
            has_begun.set()

    async with anyio.create_task_group() as group:
        group.start_soon(pull)
        await has_begun.wait()
        group.cancel_scope.cancel()


class _Cuts:
    """A script: a stream that is whole at first, and then cut at one place after the other.

    Attributes:
        size_before_end: the bytes of its body before the last step, which has the terminal event.
    """

    def __init__(self, stream: Stream, format: Format, how: End) -> None:
        self._stream = stream
        self._format = format
        self._how: End = how
        self._ends: list[int] = []
        self._at: int | None = None

    def __call__(self, request: ReceivedRequest) -> Behaviour:
        if self._at is not None:
            return Cut(self._stream, at_byte=self._at, how=self._how)
        steps = self._stream.answer(request, self._format).steps
        self._ends = list(accumulate(len(step) for step in steps if isinstance(step, bytes)))
        return self._stream

    @property
    def size_before_end(self) -> int:
        return self._ends[-2]

    def cut_everywhere(self) -> Iterator[int]:
        """Yield the byte of each cut, in force until the next one is asked for: between all events, and in many."""
        for at in sorted({*self._ends[:-1], *range(0, self._ends[-1], STRIDE)}):
            self._at = at
            yield at


@dataclass(frozen=True)
class _Garbled:
    """Another behaviour, of which the second piece of the body has lost its first quotation mark."""

    behaviour: Behaviour

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        whole = self.behaviour.answer(request, format)
        return replace(whole, steps=self._garble(whole.steps))

    def _garble(self, steps: Iterable[Step]) -> Iterator[Step]:
        pieces = 0
        for step in steps:
            if isinstance(step, bytes):
                pieces += 1
                step = step.replace(b'"', b"", 1) if pieces == 2 else step
            yield step
