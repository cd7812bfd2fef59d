"""What may be shown, and what never."""

import traceback

import anyio
import pytest
from hypothesis import given, strategies as st

from hocket._databases.urls import add_parameters, drop_secrets
from hocket._secrets import MASK, Secret, is_sensitive, redact, redact_url
from hocket.errors import LLMError, RateLimitError
from hocket.http.secrets import Guard, redact_headers


@pytest.mark.parametrize(
    "key",
    [
        "sk-proj-abcdefghijk",
        "sk-ant-api03-abcdefghij",
        "gsk_abcdefghijklm",
        "AIzaSyA1234567890abcdefghijklmnopq",
        "xai-abcdefghijkl",
        "hf_abcdefghijklm",
        "Bearer abc.def-ghi_jkl",
    ],
)
def test_keys_are_known_by_their_looks(key: str) -> None:
    shown = redact(f"Incorrect API key provided: {key}. See the docs.")
    assert key.removeprefix("Bearer ") not in shown
    assert MASK in shown


@pytest.mark.parametrize("own", ["sk-proj-A1b2C3d4E5f6G7h8", "sk-proj-9f8e7d6c5b4a3928A1b2C3d4", "sk-other-A1b2C3d4"])
@pytest.mark.parametrize("said", ["sk-proj-9f8e7d6c5b4a39281706f5e4", "Bearer sk-proj-9f8e7d6c5b4a39281706f5e4"])
def test_a_key_that_begins_as_ones_own_is_known_by_its_looks(own: str, said: str) -> None:
    """All keys of a provider have a prefix in common: without it the rest would look like no key."""
    shown = redact(f"key {said} is over its limit; yours is {own}.", [own, f"Bearer {own}"])
    assert shown.replace("Bearer ", "") == f"key {MASK} is over its limit; yours is {MASK}."


@pytest.mark.parametrize(
    "shown", ["sk-abcdefgh$1234567", "sk-abcdefgh$12345", "abababababab$123", "xsk-abcdefgh$1234567"]
)
def test_a_secret_that_looks_like_a_key_in_part_is_masked_whole(shown: str) -> None:
    masked = redact(f"it is {shown}!", ["sk-abcdefgh$1234567", "abababab$123", "x$"])
    assert "$" not in masked and "1234" not in masked and masked.endswith(f"{MASK}!")


@pytest.mark.parametrize("text", ["a risk-averse task-oriented desk", "bear with us", "tokens: 12", "sk-"])
def test_ordinary_words_stay(text: str) -> None:
    assert redact(text) == text


@given(st.text(min_size=6), st.text(), st.text())
def test_a_known_secret_is_nowhere_in_data(secret: str, before: str, after: str) -> None:
    shown = redact({"a": [before + secret + after], secret: 1}, [secret])
    texts = [*shown, *shown["a"]]
    assert not any(secret in text.replace(MASK, "") for text in texts) or secret in MASK


def test_headers_are_shown_without_what_they_unlock() -> None:
    headers = {
        "authorization": "Bearer abcdef",
        "api-key": "abcdef",
        "cookie": "a=b",
        "content-type": "application/json",
        "x-ratelimit-remaining-tokens": "12",
    }
    assert redact_headers(headers) == {
        "authorization": f"Bearer {MASK}",
        "api-key": MASK,
        "cookie": MASK,
        "content-type": "application/json",
        "x-ratelimit-remaining-tokens": "12",
    }
    assert is_sensitive("X-Goog-Api-Key")


CANARY = "canary-0123456789"


def guard() -> Guard:
    return Guard(lambda: [CANARY], "somebody", "a model")


def locals_of(error: BaseException) -> str:
    return "".join(traceback.TracebackException.from_exception(error, capture_locals=True).format())


def fail(error: BaseException) -> None:
    held = CANARY
    assert held
    raise error


def test_an_error_leaves_a_guard_without_secrets() -> None:
    """Its text, data, notes and causes; its frames are there, and say nothing but where."""
    with pytest.raises(LLMError) as caught, guard():
        try:
            fail(OSError(f"no {CANARY}"))
        except OSError as cause:
            error = RateLimitError(f"a {CANARY}", details={"b": [CANARY]}, request_id=CANARY, provider_code=CANARY)
            error.add_note(f"c {CANARY}")
            raise error from cause
    error = caught.value
    assert CANARY not in f"{error!r} {vars(error)} {error.args} {error.__notes__} {error.__cause__}"
    assert (error.provider, error.model) == ("somebody", "a model")
    assert error.__cause__ is None


@pytest.mark.parametrize("explicit", [True, False])
def test_no_link_leads_to_an_error_that_shows_a_secret(explicit: bool) -> None:
    """``__context__`` is most often the cause once more: where the one goes, the other goes."""
    with pytest.raises(LLMError) as caught, guard():
        try:
            try:
                fail(OSError(f"no {CANARY}"))
            except OSError as inner:
                raise (ValueError("between") if explicit else LLMError("between")) from inner
        except (ValueError, LLMError) as outer:
            if explicit:
                raise LLMError("no connection") from outer
            raise LLMError("no connection")  # noqa: B904 - the context alone
    error: BaseException | None = caught.value
    while error is not None:
        assert not isinstance(error, OSError)
        assert CANARY not in f"{error!r} {vars(error)}"
        error = error.__cause__ or error.__context__


@pytest.mark.parametrize("shown", range(8, len(CANARY)))
@pytest.mark.parametrize("end", ["", "…", "' where a status line should be"])
def test_a_secret_that_was_cut_is_found(shown: int, end: str) -> None:
    """A text may have been cut before it came here: most of a secret is one, too."""
    with pytest.raises(LLMError) as caught, guard():
        raise LLMError(f"the server says: {CANARY[:shown]}{end}") from OSError(CANARY[:shown])
    assert caught.value.message == f"the server says: {MASK}{end}"
    assert caught.value.__cause__ is None


def test_a_cause_without_secrets_is_kept_and_its_frames_emptied() -> None:
    with pytest.raises(LLMError) as caught, guard():
        try:
            fail(OSError("refused"))
        except OSError as cause:
            raise LLMError("no connection") from cause
    shown = locals_of(caught.value)
    assert "refused" in shown and "in fail" in shown
    assert CANARY not in shown


def test_an_error_of_somebody_elses_that_shows_a_secret_is_replaced() -> None:
    """It cannot be mended; its kind and the rest of its text are told."""
    with pytest.raises(LLMError, match=r"KeyError: 'x \*+'") as caught, guard():
        raise KeyError(f"x {CANARY}")
    assert caught.value.__context__ is None
    assert caught.value.__cause__ is None


def test_what_was_being_handled_before_is_left_alone() -> None:
    """It is somebody else's, and so are the locals of its frames."""

    def before() -> None:
        mine = "precious"
        raise KeyError(len(mine))

    try:
        before()
    except KeyError as earlier:
        with pytest.raises(LLMError) as caught, guard():
            fail(LLMError("no"))
        assert caught.value.__context__ is earlier
        assert "precious" in locals_of(earlier)


async def test_a_coroutine_that_only_pauses_goes_on() -> None:
    """A task that is cancelled while another handles an error has that error as its context, on trio."""
    over = anyio.Event()

    async def guarded() -> None:
        with guard():
            await anyio.sleep_forever()

    async with anyio.create_task_group() as group:
        inner = anyio.CancelScope()

        async def run() -> None:
            with inner:
                await guarded()
            over.set()

        group.start_soon(run)
        await anyio.wait_all_tasks_blocked()
        try:
            raise ValueError(CANARY)
        except ValueError:
            inner.cancel()
            await over.wait()
            assert CANARY


def test_urls_are_shown_without_what_they_unlock() -> None:
    assert redact_url("https://me:pw@host:1/p?key=abc&v=1&x-sig=2") == f"https://host:1/p?key={MASK}&v=1&x-sig={MASK}"
    assert redact_url("http://host/p") == "http://host/p"


@pytest.mark.parametrize("path", ["sqlite:///fleet.db", "sqlite:////srv/a@b/fleet.db", "sqlite:////srv/what?.db"])
def test_the_path_of_a_file_is_shown_as_it_is(path: str) -> None:
    """It unlocks nothing, and whoever reads the error looks for the file."""
    assert f"{redact_url(Secret(path))!r}" == repr(path)
    assert drop_secrets(path) == path


def test_what_unlocks_a_socket_is_left_out_and_nothing_else() -> None:
    assert redact_url("unix:///run/redis?db=1&password=pw") == f"unix:///run/redis?db=1&password={MASK}"
    assert drop_secrets("unix:///run/redis?db=1&password=pw") == "unix:///run/redis?db=1"
    assert add_parameters("postgresql:///db", {"connect_timeout": "5"}) == "postgresql:///db?connect_timeout=5"
