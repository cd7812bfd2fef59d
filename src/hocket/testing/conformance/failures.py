"""What a model makes of a server that refuses, babbles or goes away: one tree of errors for all providers."""

from typing import Any

import pytest

from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    InvalidReply,
    InvalidRequest,
    LLMError,
    PermissionDenied,
    ProviderUnavailable,
    RateLimitError,
    ResourceNotFound,
    StreamTruncated,
)
from hocket.retries import RetryPolicy
from hocket.testing.conformance.remote_suite import VERBS, RemoteSuite, ask
from hocket.testing.conformance.suite import Ends
from hocket.testing.server import Body, Cut, Hangup, Reply, Status

__all__ = ["Failures"]

STATUSES: list[tuple[int, type[LLMError], bool]] = [
    (400, InvalidRequest, False),
    (401, AuthenticationError, False),
    (403, PermissionDenied, False),
    (404, ResourceNotFound, False),
    (429, RateLimitError, True),
    (500, ProviderUnavailable, True),
    (503, ProviderUnavailable, True),
]
AT_ONCE = RetryPolicy(max_attempts=3, first_pause=0)


class Failures(RemoteSuite):
    """Tests of failures. (``retry=None``: where one failure is looked at, it is not to be tried again.)"""

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize(("status", "error", "retryable"), STATUSES)
    async def test_a_status_has_its_error(self, status: int, error: type[LLMError], retryable: bool, verb: str) -> None:
        """Every refusal is an error of hocket's, which says who refused, why, and whether to try again."""
        refusal = Status(status, "these are the server's words", headers={"retry-after": "7"})
        async with self.serving(refusal) as model:
            with pytest.raises(error, match="these are the server's words") as caught:
                await ask(model, verb, self.question, [], retry=None)
        assert (caught.value.status, caught.value.retryable) == (status, retryable)
        assert caught.value.provider
        assert caught.value.retry_after == 7 or not retryable, "when to come back is in the headers"

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize(
        "nonsense",
        [Body("<html>busy</html>"), Body({}), Body([])],
        ids=["a page", "no fields", "a list"],
    )
    async def test_nonsense_is_no_answer(self, nonsense: Body, verb: str) -> None:
        """A reply that is not what the format says is an error, never an empty answer, and never a bare `KeyError`."""
        async with self.serving(nonsense) as model:
            with pytest.raises((InvalidReply, StreamTruncated)):
                await ask(model, verb, self.question, [], retry=None)

    @pytest.mark.parametrize("verb", VERBS)
    async def test_an_error_in_a_good_reply(self, verb: str) -> None:
        """The words of a refusal in a reply with status 200 are an error, with those words, and never an answer."""
        async with self.serving(Status(200, "in the words of the server")) as model:
            with pytest.raises(LLMError, match="in the words of the server"):
                await ask(model, verb, self.question, [], retry=None)

    @pytest.mark.parametrize("verb", VERBS)
    @pytest.mark.parametrize("how", ["eof", "reset", "nobody"])
    async def test_a_server_that_goes_away(self, how: Any, verb: str) -> None:
        """No connection, or one that closes without an answer, is `ConnectionFailed`, and worth another attempt."""
        async with self.serving(Hangup(how if how != "nobody" else "eof")) as model:
            if how != "nobody":
                await self._assert_connection_fails(model, verb)
        if how == "nobody":
            await self._assert_connection_fails(model, verb)

    async def _assert_connection_fails(self, model: Any, verb: str) -> None:
        with pytest.raises(ConnectionFailed) as caught:
            await ask(model, verb, self.question, [], retry=None)
        assert caught.value.retryable

    @pytest.mark.parametrize("how", ["end", "eof", "reset"])
    async def test_a_reply_that_breaks_off(self, how: Any) -> None:
        """Half of a reply is no answer, however its connection ends. Where a server can only stream, it is a stream."""
        async with self.serving(Cut(Reply("Hello there"), at_byte=9, how=how)) as model:
            with pytest.raises((ConnectionFailed, InvalidReply, StreamTruncated)):
                await model.ainvoke(self.question, retry=None)

    @pytest.mark.parametrize("verb", VERBS)
    async def test_what_may_pass_is_tried_again(self, verb: str) -> None:
        """A server that is away for a moment costs a second request, and the caller nothing."""
        async with self.serving([Status(503), Reply("Hello there")]) as model:
            assert await ask(model, verb, self.question, [], retry=AT_ONCE) == "Hello there"
            assert len(self.server.requests) == 2

    @pytest.mark.parametrize("verb", VERBS)
    async def test_what_will_not_pass_is_not_tried_again(self, verb: str) -> None:
        """A bad request is made once."""
        async with self.serving(Status(400)) as model:
            with pytest.raises(LLMError):
                await ask(model, verb, self.question, [], retry=AT_ONCE)
            assert len(self.server.requests) == 1

    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_failed_run_ends_once(self, verb: str) -> None:
        """Handlers hear of one start and one failure."""
        handler = Ends()
        async with self.serving(Status(400)) as model:
            with pytest.raises(LLMError):
                await ask(model, verb, self.question, [], config={"callbacks": [handler]}, retry=None)
        assert handler.noted == ["started", "failed"]
