"""A secret is nowhere but where it is needed: in the request. Looked for wherever somebody may look, after every failure.

A canary is put into each place that a credential may have, and the server repeats all that it was sent.
"""

import json
import linecache
import logging
import math
import pickle
import traceback
from base64 import b64encode
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

import anyio
import httpx
import pytest
from pydantic import SecretStr, ValidationError

from hocket.caches import BaseCache
from hocket.errors import HocketError, InvalidInput, LLMError
from hocket.load import dumpd, dumps
from hocket.providers.openai import ChatOpenAI, OpenAI, OpenAIEmbeddings
from hocket.retries import RetryPolicy
from hocket.testing import Body, Cut, Events, OpenAIFormat, Reply, Status, Stream, serve
from hocket.timeouts import Timeout
from tests.kit import Event, Recorder

CORE = "7f3a9c1e5d8b42"
CANARY = f"canary-{CORE}"
IN_BASIC = b64encode(f"user:{CANARY}".encode()).decode()


async def _fetched() -> str:
    return CANARY


def with_user(url: str) -> str:
    return url.replace("http://", f"http://user:{CANARY}@")


SLOTS: dict[str, Callable[[str], dict[str, Any]]] = {
    "a key": lambda url: {"api_key": CANARY},
    "a secret": lambda url: {"api_key": SecretStr(CANARY)},
    "a function": lambda url: {"api_key": lambda: CANARY},
    "an async function": lambda url: {"api_key": _fetched},
    "a header": lambda url: {"default_headers": {"Authorization": f"Bearer {CANARY}"}},
    "a header of another scheme": lambda url: {"default_headers": {"x-goog-api-key": CANARY, "cookie": f"a={CANARY}"}},
    "a secret header": lambda url: {"default_headers": {"x-custom": SecretStr(CANARY)}},
    "a parameter": lambda url: {"default_query": {"key": CANARY}},
    "a user": lambda url: {"base_url": with_user(url)},
    "a proxy's user": lambda url: {"base_url": "http://models.test/v1", "proxy": with_user(url.removesuffix("/v1"))},
    "an injected client": lambda url: {
        "http_client": httpx.AsyncClient(headers={"authorization": CANARY}, verify=False)  # no certificates to read
    },
}


def model_with(slot: str, url: str, **more: Any) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "test-model", "base_url": url, "retry": None, **SLOTS[slot](url), **more})


def echo(request: Any) -> str:
    """Say everything that the server was sent, but for the body."""
    return " ".join([CANARY, request.query, *request.headers.values(), *request.headers])


def bare(request: Any) -> str:
    """Say it as what may be in a header."""
    return " ".join(echo(request).split())


FAILURES: dict[str, Callable[[Any], Any]] = {
    "401": lambda request: Status(401, f"Incorrect API key provided: {echo(request)}"),
    "400": lambda request: Status(400, f"no: {echo(request)}", error={"param": echo(request), "code": echo(request)}),
    "429": lambda request: Status(429, "slow down", headers={"x-request-id": bare(request), "retry-after": "0"}),
    "a long text": lambda request: Body("." * 590 + CANARY, status=500),
    "a page": lambda request: Body(f"<html><body>{echo(request)}</body></html>", status=502),
    "half of a document": lambda request: Body(f'{{"choices": "{echo(request)}'),
    "another document": lambda request: Body({"choices": [echo(request)], echo(request): 1}),
    "an error in a good reply": lambda request: Body({"error": {"message": echo(request)}}),
    "a broken head": lambda request: Body({}, headers={"x-echo": bare(request), "content-length": "nonsense"}),
    "silence": lambda request: Reply("never", delay=math.inf),
    "a reset": lambda request: Cut(Reply("Hello there"), at_byte=40, how="reset"),
    "an end too soon": lambda request: Cut(Reply("Hello there"), at_byte=40, how="eof"),
    "packed wrongly": lambda request: Body(echo(request).encode(), headers={"content-encoding": "gzip"}),
}
STREAMED: dict[str, Callable[[Any], Any]] = {
    "an error event": lambda request: Stream("Hello there", error=echo(request)),
    "an event that is no JSON": lambda request: Events([f'{{"id": "{echo(request)}']),
    "an event of another shape": lambda request: Events([{"choices": [echo(request)]}]),
    "no end": lambda request: Stream("Hello there", then="eof"),
    "a reset in the middle": lambda request: Stream("Hello there", then="reset"),
    "silence in the middle": lambda request: Stream("Hello there", then="stall"),
}


class Listener(Recorder):
    """Writes down all that it is told, in every way that a tracer might."""

    def __init__(self) -> None:
        self.told: list[str] = []
        super().__init__(do=self._write)

    def _write(self, event: Event) -> None:
        name, args, details = event
        self.told += [f"{name}{args!r}{details!r}", f"{name} {json.dumps([args, details], default=_json)}"]


def _json(value: Any) -> Any:
    return vars(value) if hasattr(value, "__dict__") and not isinstance(value, type) else str(value)


class Keys(BaseCache):
    """Keeps the keys only."""

    def __init__(self) -> None:
        self.told: list[str] = []

    def lookup(self, prompt: str, llm_string: str) -> None:
        self.told.append(f"{prompt} {llm_string}")

    def update(self, prompt: str, llm_string: str, return_val: Any) -> None:
        self.told.append(f"{prompt} {llm_string}")

    def clear(self, **kwargs: Any) -> None: ...


def chain(error: BaseException | None, seen: set[int]) -> Iterator[BaseException]:
    """Yield an error and all that it came from, suppressed or not."""
    if error is None or id(error) in seen:
        return
    seen.add(id(error))
    yield error
    for origin in (error.__cause__, error.__context__, *getattr(error, "exceptions", ())):
        yield from chain(origin, seen)


def shown_by_error(error: BaseException) -> Iterator[tuple[str, str]]:
    """Yield what an error shows, and where."""
    for one in chain(error, set()):
        name = type(one).__name__
        yield f"{name}: text", f"{one} {one!r} {one.args!r} {getattr(one, '__notes__', '')}"
        yield f"{name}: attributes", repr(vars(one)) if isinstance(one, HocketError) else ""
        drawn = traceback.TracebackException(type(one), one, one.__traceback__, capture_locals=True)
        yield f"{name}: traceback", "".join(drawn.format())
    if isinstance(error, LLMError):
        yield "pickle", repr(pickle.dumps(error))


def shown_by_model(model: ChatOpenAI) -> Iterator[tuple[str, str]]:
    """Yield what a model shows, and where."""
    for name, show in {
        "repr": repr,
        "str": str,
        "dumps": dumps,
        "dumpd": lambda it: repr(dumpd(it)),
        "asdict": lambda it: repr(it.asdict()),
        "model_dump_json": lambda it: it.model_dump_json(),
        "model_dump": lambda it: repr(it.model_dump()),
        "a binding": lambda it: f"{it.bind(stop=['x'])!r} {it.with_config(tags=['x'])!r}",
        "render": lambda it: (lambda one: f"{one!r} {one.url} {one.headers} {one.content!r}")(it.render("hi")),
        "settings": lambda it: repr(it._client_settings()),
    }.items():
        yield f"the model's {name}", show(model)


def leaks(places: Iterator[tuple[str, str]]) -> list[str]:
    """Return where a secret shows; each with what is around it."""
    found = []
    for place, text in places:
        for secret in (CORE, IN_BASIC):
            if secret in text:
                at = text.index(secret)
                found.append(f"{place}: {text[max(at - 200, 0) : at + 40]}")
    return found


async def invoke(model: Any) -> None:
    await model.ainvoke("hi")


async def stream(model: Any) -> None:
    async for _ in model.astream("hi"):
        pass


async def invoke_in_thread(model: Any) -> None:
    await anyio.to_thread.run_sync(model.invoke, "hi")


async def close(model: Any) -> None:
    if model.http_client is not None:
        await model.http_client.aclose()
    await model.aclose()


async def failed(ask: Any, model: Any) -> BaseException:
    try:
        await ask(model)
    except Exception as error:
        return error
    raise AssertionError("it did not fail")


@pytest.fixture
def logged(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Everything that is logged, by whomever."""
    caplog.set_level(logging.DEBUG)
    yield caplog


def shown_by_logs(logged: pytest.LogCaptureFixture) -> Iterator[tuple[str, str]]:
    for record in logged.records:
        yield f"log of {record.name}", f"{record.getMessage()} {record.__dict__!r} {record.exc_text}"
    yield "formatted logs", logged.text


def debug() -> None:
    """Have asyncio, if it is that, tell all that it can."""
    try:
        import asyncio

        asyncio.get_running_loop().set_debug(True)
    except RuntimeError:
        pass


async def check(
    slot: str, behave: Callable[[Any], Any], ask: Any, logged: pytest.LogCaptureFixture, **more: Any
) -> None:
    """Fail in this way, and look everywhere."""
    listener, keys = Listener(), Keys()
    is_silent = behave in (FAILURES["silence"], STREAMED["silence in the middle"])
    limits = Timeout(total=0.15 if is_silent else 20)
    async with serve(OpenAIFormat(), behave) as server:
        model = model_with(slot, server.url, callbacks=[listener], cache=keys, timeout=limits, **more)
        error = await failed(ask, model)
        assert is_silent or any(_sent(request) for request in server.requests), "it did not get there"
        await close(model)
    assert isinstance(error, HocketError), error
    assert listener.told and keys.told
    found = [*leaks(shown_by_error(error)), *leaks(shown_by_logs(logged))]
    found += leaks((place, text) for who in (listener, keys) for place, text in [(type(who).__name__, repr(who.told))])
    assert not found, "\n\n".join(found)


def _sent(request: Any) -> bool:
    return any(secret in echoed for secret in (CORE, IN_BASIC) for echoed in (request.query, *request.headers.values()))


ASKING = {"invoke": invoke, "stream": stream, "sync": invoke_in_thread}


@pytest.mark.one_of(2)
@pytest.mark.parametrize("how", [*FAILURES, *STREAMED])
async def test_no_failure_shows_a_secret(
    how: str, logged: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither as text nor in its causes, the frames of its traceback, logs, events, cache keys or pickles."""
    debug()
    monkeypatch.setattr(
        linecache, "checkcache", lambda filename=None: None
    )  # or else debugging reads files all the time
    for slot in SLOTS if "silence" not in how else ("a key", "a user", "a proxy's user"):  # which takes its time
        for name, ask in ASKING.items():
            if (how in FAILURES or name == "stream") and (name != "sync" or slot in ("a key", "a proxy's user")):
                await check(slot, {**FAILURES, **STREAMED}[how], ask, logged)


async def test_a_failure_that_is_tried_again_shows_none(logged: pytest.LogCaptureFixture) -> None:
    """Attempts are told of, with their errors."""
    for how in ("429", "a reset"):
        for slot in SLOTS:
            await check(slot, FAILURES[how], invoke, logged, retry=RetryPolicy(max_attempts=2, first_pause=0))


async def test_cancelling_shows_none(logged: pytest.LogCaptureFixture) -> None:
    """What a caller's own timeout makes of it either."""
    for slot in SLOTS:
        async with serve(OpenAIFormat(), repeat(Reply("never", delay=math.inf))) as server:
            model = model_with(slot, server.url)
            with pytest.raises(TimeoutError) as caught, anyio.fail_after(None) as scope:
                async with anyio.create_task_group() as group:

                    async def strike() -> None:
                        await server.wait_for_requests(1)
                        scope.deadline = -math.inf

                    group.start_soon(strike)
                    await model.ainvoke("hi")
            await close(model)
        assert not leaks(shown_by_error(caught.value)) + leaks(shown_by_logs(logged))


@pytest.mark.parametrize("cls", [OpenAI, OpenAIEmbeddings])
async def test_other_models_show_none(cls: Any, logged: pytest.LogCaptureFixture) -> None:
    """They go the same way."""
    for slot in SLOTS:
        async with serve(OpenAIFormat(), FAILURES["401"]) as server:
            model = cls(**{"model": "test-model", "base_url": server.url, **SLOTS[slot](server.url)})
            with pytest.raises(LLMError) as caught:
                await (model.ainvoke("hi") if cls is OpenAI else model.aembed_query("hi"))
            await close(model)
        assert not leaks(shown_by_error(caught.value)) + leaks(shown_by_logs(logged))
        assert not leaks(iter([("repr", repr(model)), ("dump", f"{dumps(model)} {model.model_dump()!r}")]))


@pytest.mark.parametrize("slot", SLOTS)
def test_no_model_shows_a_secret(slot: str) -> None:
    """Whatever is drawn, dumped or rendered of it; and a loaded one has it from the environment."""
    assert not leaks(shown_by_model(model_with(slot, "http://localhost:1/v1")))


def test_a_pickle_has_the_secret() -> None:
    """A model is pickled to work in another process, so its pickle is a secret itself."""
    model = model_with("a key", "http://localhost:1/v1")
    assert pickle.loads(pickle.dumps(model)).api_key == SecretStr(CANARY)


async def test_the_environment_shows_in_nothing(
    monkeypatch: pytest.MonkeyPatch, logged: pytest.LogCaptureFixture
) -> None:
    """Key, address and proxy, as they are found there."""
    async with serve(OpenAIFormat(), FAILURES["401"]) as server:
        monkeypatch.setenv("OPENAI_API_KEY", CANARY)
        monkeypatch.setenv("OPENAI_BASE_URL", "http://models.test/v1")
        monkeypatch.setenv("HTTP_PROXY", with_user(server.origin))
        monkeypatch.delenv("NO_PROXY", raising=False)
        model = ChatOpenAI(model="test-model", retry=None)
        with pytest.raises(LLMError) as caught:
            await model.ainvoke("hi")
        await model.aclose()
        monkeypatch.setenv("OPENAI_BASE_URL", with_user(server.url))
        asked = ChatOpenAI(model="test-model", retry=None)
        with pytest.raises(LLMError) as again:
            await asked.ainvoke("hi")
        await asked.aclose()
        assert all(_sent(request) for request in server.requests)
    found = [*leaks(shown_by_error(caught.value)), *leaks(shown_by_error(again.value)), *leaks(shown_by_logs(logged))]
    assert not found + leaks(shown_by_model(model)) + leaks(shown_by_model(asked))


@pytest.mark.parametrize("is_secret", [True, False])
async def test_a_header_of_one_call_shows_nowhere(is_secret: bool, logged: pytest.LogCaptureFixture) -> None:
    """As a `SecretStr` in no frame either; as a text it is in the frames of the caller, and so of the verb."""
    headers = {"X-API-Key": SecretStr(CANARY) if is_secret else CANARY}
    for how in ("401", "a reset", "half of a document"):
        listener, keys = Listener(), Keys()
        async with serve(OpenAIFormat(), FAILURES[how]) as server:
            model = ChatOpenAI(model="test-model", base_url=server.url, retry=None, callbacks=[listener], cache=keys)
            bound = model.bind(extra_headers=headers)
            error = await failed(invoke, bound)
            rendered = model.render("hi", extra_headers=headers)
            await model.aclose()
            assert _sent(server.requests[0])
        places = [(place, text) for place, text in shown_by_error(error) if is_secret or "traceback" not in place]
        places += [
            ("events", repr(listener.told)),
            ("keys", repr(keys.told)),
            ("render", f"{rendered} {rendered.headers}"),
        ]
        places += [("a binding", repr(bound))] if is_secret else []
        assert not leaks(iter(places)) + leaks(shown_by_logs(logged))


UNUSABLE: dict[str, dict[str, Any]] = {
    "nobody listens": {"base_url": "http://127.0.0.1:1/v1", "api_key": CANARY},
    "nobody listens to a user": {"base_url": f"http://user:{CANARY}@127.0.0.1:1/v1"},
    "a line break in the key": {"base_url": "http://127.0.0.1:1/v1", "api_key": f"{CANARY}\n"},
    "a line break in a header": {"base_url": "http://127.0.0.1:1/v1", "default_headers": {"x-key": f"a\r\n{CANARY}"}},
    "a key that is no ASCII": {"base_url": "http://127.0.0.1:1/v1", "api_key": f"{CANARY}\u2013"},
    "a proxy of another kind": {"base_url": "http://m.test/v1", "proxy": f"ftp://user:{CANARY}@127.0.0.1:1"},
    "a proxy that is no URL": {"base_url": "http://m.test/v1", "proxy": f"http://user:{CANARY}@m.test:port"},
    "a proxy that is not there": {"base_url": "http://m.test/v1", "proxy": f"http://user:{CANARY}@127.0.0.1:1"},
    "a function that returns bytes": {"base_url": "http://127.0.0.1:1/v1", "api_key": lambda: CANARY.encode()},
}


@pytest.mark.parametrize("what", UNUSABLE)
async def test_what_cannot_be_sent_shows_none(what: str, logged: pytest.LogCaptureFixture) -> None:
    """Refused before, or where, it is sent."""
    model = ChatOpenAI(model="test-model", retry=None, **UNUSABLE[what])
    for ask in (invoke, stream):
        error = await failed(ask, model)
        assert isinstance(error, HocketError)
        assert not leaks(shown_by_error(error)) + leaks(shown_by_logs(logged)) + leaks(shown_by_model(model))
    await model.aclose()


REFUSED: dict[str, dict[str, Any]] = {
    "an unknown field": {"no_such": 1, "api_key": CANARY},
    "a key of the wrong type": {"api_key": [CANARY]},
    "a header of the wrong type": {"default_headers": {"authorization": [CANARY]}},
    "an address of the wrong scheme": {"base_url": f"ftp://user:{CANARY}@host/v1"},
    "an address with a query": {"base_url": f"http://localhost/v1?key={CANARY}"},
}


@pytest.mark.parametrize("what", REFUSED)
def test_a_model_that_is_refused_shows_none(what: str) -> None:
    """Nor do the frames that its arguments went through."""
    with pytest.raises((ValidationError, InvalidInput)) as caught:
        _made(what)
    assert not leaks(shown_by_error(caught.value))


def _made(what: str) -> ChatOpenAI:
    return ChatOpenAI(**{"model": "test-model", "base_url": "http://localhost/v1", **REFUSED[what]})


async def test_an_answer_shows_none(logged: pytest.LogCaptureFixture) -> None:
    """Where the server repeats what it was sent in the headers that are kept with the answer."""
    for slot in SLOTS:
        listener = Listener()
        echoing = {"include_response_headers": True, "callbacks": [listener]}
        async with serve(
            OpenAIFormat(),
            lambda request: Reply("Hello", headers={"x-request-id": bare(request), "x-e": bare(request)}),
        ) as server:
            model = model_with(slot, server.url, **echoing)
            whole = await model.ainvoke("hi")
            async with model.astream("hi") as chunks:
                async for _ in chunks:
                    pass
                streamed = chunks.message
            await close(model)
        answers = [(f"answer {one!r}", f"{one!r} {pickle.dumps(one)!r} {dumps(one)}") for one in (whole, streamed)]
        assert not leaks(iter([*answers, ("events", repr(listener.told))])) + leaks(shown_by_logs(logged))
