"""Which recording answers a request; and what is said, and not done, where none does."""

import json
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anyio
import pytest
from hypothesis import given, settings, strategies as st

from hocket.caches import InMemoryCache
from hocket.errors import CassetteMiss, LLMError
from hocket.http.request import HTTPRequest
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.retries import RetryPolicy
from hocket.testing import OpenAIFormat, ScriptedChatModel, Stream, cassette, serve
from hocket.testing.cassettes.exchanges import find_key, keep_request
from hocket.testing.cassettes.masking import Masker
from tests.kit.amount import limit_examples

NOWHERE = "http://127.0.0.1:9/v1"


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    """A cassette with two calls and a stream."""
    path = tmp_path / "talk.json"
    script = ["Light scatters.", "Because it is.", Stream("one two")]
    with serve(OpenAIFormat(), script) as server, cassette(path, record="once"):
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
        model.invoke("Why is the sky blue?")
        model.invoke([("system", "Be brief."), ("human", "Why is the sea blue?")])
        list(model.stream("Count."))
    return path


@pytest.fixture
def model() -> ChatOpenAI:
    return ChatOpenAI(model="m", base_url=NOWHERE, api_key="k")


def key_of(body: object, *ignore: str, url: str = "https://a.example/v1/x", method: str = "POST") -> object:
    """Return what a request with this body is found by."""
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    return find_key(keep_request(HTTPRequest(method, url, {}, content), Masker(())), ignore)


DATA = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@settings(max_examples=limit_examples(50))
@given(body=st.dictionaries(st.text(min_size=1), DATA, min_size=1))
def test_the_order_of_fields_does_not_count(body: dict[str, Any]) -> None:
    """Nor do blanks; every value does."""
    turned = dict(reversed(body.items()))
    assert key_of(body) == key_of(turned) == key_of(json.dumps(turned, indent=3).encode())
    changed = {**body, next(iter(body)): "another value, that no strategy makes up"}
    assert key_of(body) != key_of(changed)


def test_values_that_python_takes_for_equal_are_not() -> None:
    """1, 1.0 and true are three values to a server."""
    assert len({key_of({"n": value}) for value in (1, 1.0, True, "1", None)}) == 5
    assert key_of({"n": None}) != key_of({})


def test_method_path_and_parameters_count_and_the_host_does_not() -> None:
    here = key_of({}, url="https://a.example/v1/x?alt=sse&v=1")
    assert here == key_of({}, url="http://user:password@b.example:8080/v1/x?v=1&alt=sse")
    assert here == key_of({}, url="https://a.example/v1/x?alt=sse&v=1&key=of-somebody")
    assert here != key_of({}, url="https://a.example/v1/x?alt=sse&v=2")
    assert here != key_of({}, url="https://a.example/v1/y?alt=sse&v=1")
    assert here != key_of({}, url="https://a.example/v1/x?alt=sse&v=1", method="PUT")


@pytest.mark.parametrize(
    ("ignore", "is_same"),
    [
        (("user",), False),
        (("metadata.at",), False),
        (("user", "metadata.at", "messages.*.id"), True),
        (("user", "metadata", "messages.0.id", "messages.1.id", "messages.7.id", "no.such.field"), True),
        (("*.at", "user", "messages.*.id"), True),
        (("*",), True),
    ],
)
def test_fields_that_do_not_count(ignore: tuple[str, ...], is_same: bool) -> None:
    one = {"user": "a", "metadata": {"at": 1, "of": 2}, "messages": [{"id": 1, "text": "x"}, {"id": 2, "text": "y"}]}
    two = {"user": "b", "metadata": {"at": 3, "of": 2}, "messages": [{"id": 5, "text": "x"}, {"id": 6, "text": "y"}]}
    assert (key_of(one, *ignore) == key_of(two, *ignore)) is is_same


def test_the_border_of_a_multipart_body_does_not_count() -> None:
    """It is made up anew for each request; what is between the borders counts."""

    def key(border: str, content: bytes) -> object:
        body = b"--%b\r\n\r\n%b\r\n--%b--\r\n" % (border.encode(), content, border.encode())
        headers = {"content-type": f'multipart/form-data; boundary="{border}"'}
        return find_key(keep_request(HTTPRequest("POST", "https://a.example/v1", headers, body), Masker(())), ())

    assert key("abc123", b"\x00\xff") == key("xyz789", b"\x00\xff") != key("xyz789", b"\x00\xfe")


def test_a_miss_shows_the_file_the_difference_and_the_way_out(talk: Path, model: ChatOpenAI) -> None:
    """The recording that is most like the request is compared with it."""
    with cassette(talk), pytest.raises(CassetteMiss) as caught:
        model.invoke([("system", "Be brief."), ("human", "Why is the sea green?")])
    text = str(caught.value)
    assert str(talk) in text
    assert "number 2 of 3, not used yet" in text
    assert '-      "content": "Why is the sea blue?"' in text
    assert '+      "content": "Why is the sea green?"' in text
    assert "pytest --hocket-record=new" in text


def test_a_long_line_is_shown_where_it_differs(tmp_path: Path) -> None:
    """A prompt is one line of JSON, however long."""
    prompt = "word " * 2000
    path = tmp_path / "talk.json"
    with serve(OpenAIFormat(), "yes") as server, cassette(path, record="once"):
        ChatOpenAI(model="m", base_url=server.url, api_key="k").invoke(prompt + "here" + prompt)
    with cassette(path), pytest.raises(CassetteMiss) as caught:
        ChatOpenAI(model="m", base_url=NOWHERE, api_key="k").invoke(prompt + "there" + prompt)
    assert "hereword" in str(caught.value)
    assert "thereword" in str(caught.value)
    assert len(str(caught.value)) < 2_000


def test_a_request_too_many_is_a_miss(talk: Path, model: ChatOpenAI) -> None:
    """A recording answers once: an agent in a loop would go on for ever."""
    with cassette(talk):
        model.invoke("Why is the sky blue?")
        with pytest.raises(CassetteMiss, match=r"once too often: the only recording of it is already used"):
            model.invoke("Why is the sky blue?")
    with cassette(talk):  # each use of a cassette begins anew
        assert model.invoke("Why is the sky blue?").text == "Light scatters."


def test_no_file_is_a_miss_that_says_so(tmp_path: Path, model: ChatOpenAI) -> None:
    """At the first request: a test that makes none needs no file."""
    with cassette(tmp_path / "none.json"):
        pass
    with cassette(tmp_path / "none.json"), pytest.raises(CassetteMiss, match=r"(?s)none\.json is not there.*=once"):
        model.invoke("Hi")
    assert list(tmp_path.iterdir()) == []


async def test_a_miss_is_neither_tried_again_nor_a_fallbacks_reason(talk: Path, model: ChatOpenAI) -> None:
    """Not even by who tries again after, or falls back from, whatever happens."""
    eager = model.model_copy(update={"retry": RetryPolicy(max_attempts=5, first_pause=60, also=(Exception,))})
    other = ScriptedChatModel(script=["from another"] * 9)
    chains: list[Any] = [
        eager,
        eager.with_retry(stop_after_attempt=3),
        eager.with_fallbacks([other]),
        eager.with_fallbacks([other], exceptions_to_handle=(Exception,)),
        eager.model_copy(update={"cache": InMemoryCache()}),
        OpenAIEmbeddings(
            model="e", base_url=NOWHERE, api_key="k", retry=RetryPolicy(also=(Exception,), first_pause=60)
        ),
    ]
    async with cassette(talk):
        for chain in chains:
            with anyio.fail_after(30), pytest.raises(CassetteMiss):
                await (chain.aembed_query("?") if isinstance(chain, OpenAIEmbeddings) else chain.ainvoke("Another?"))
        for chain in (eager, chains[2]):
            with anyio.fail_after(30), pytest.raises(CassetteMiss):
                async for _ in chain.astream("Another?"):
                    pass
        with pytest.raises(CassetteMiss):
            await eager.abatch(["Why is the sky blue?", "Another?"])
        with pytest.raises(CassetteMiss):
            await eager.abatch(["Another?", "And another?"], return_exceptions=True)
    assert other.requests == []


def test_sync_verbs_miss_as_well(talk: Path, model: ChatOpenAI) -> None:
    """And the loop that they send from goes on to work."""
    with cassette(talk):
        with pytest.raises(CassetteMiss):
            model.invoke("Another?")
        with pytest.raises(CassetteMiss):
            list(model.stream("Another?"))
        with pytest.raises(CassetteMiss):
            model.batch(["Another?", "And another?"])
        assert model.invoke("Why is the sky blue?").text == "Light scatters."


def test_the_cassette_that_was_entered_last_answers(talk: Path, tmp_path: Path, model: ChatOpenAI) -> None:
    """Whichever is left first."""
    other = tmp_path / "other.json"
    with serve(OpenAIFormat(), "Something else.") as server, cassette(other, record="once"):
        ChatOpenAI(model="m", base_url=server.url, api_key="k").invoke("Why is the sky blue?")
    with cassette(talk):
        with cassette(other):
            assert model.invoke("Why is the sky blue?").text == "Something else."
        assert model.invoke("Why is the sky blue?").text == "Light scatters."
    first, second = ExitStack(), ExitStack()
    first.enter_context(cassette(talk))
    second.enter_context(cassette(other))
    first.close()
    assert model.invoke("Why is the sky blue?").text == "Something else."
    second.close()
    with pytest.raises(LLMError):
        model.model_copy(update={"retry": None}).invoke("Why is the sky blue?")


def test_a_replay_needs_no_key(talk: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """CI has none. Where something may be sent, it is needed."""
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with cassette(talk):
        assert ChatOpenAI(model="m").invoke("Why is the sky blue?").text == "Light scatters."
    with pytest.raises(LLMError, match="OPENAI_API_KEY"):
        ChatOpenAI(model="m")
    with cassette(talk, record="new"), pytest.raises(LLMError, match="OPENAI_API_KEY"):
        ChatOpenAI(model="m")


class ChatSigned(ChatOpenAI):
    """It asks a service for what proves who asks, which is not there in CI."""

    async def _authenticate(self, request: HTTPRequest) -> dict[str, str]:
        raise RuntimeError("no service in CI")


async def find_key_or_fail() -> str:
    raise RuntimeError("no service in CI")


@pytest.mark.parametrize("cls", [ChatOpenAI, ChatSigned])
def test_what_gives_keys_is_not_asked(talk: Path, cls: type[ChatOpenAI]) -> None:
    """While a recording answers, neither a function given as the key is called nor a provider's own authentication."""
    with cassette(talk):
        assert cls(model="m", base_url=NOWHERE, api_key=find_key_or_fail).invoke("Why is the sky blue?").text
    with pytest.raises(RuntimeError, match="no service in CI"):
        cls(model="m", base_url=NOWHERE, api_key=find_key_or_fail, retry=None).invoke("Why is the sky blue?")
