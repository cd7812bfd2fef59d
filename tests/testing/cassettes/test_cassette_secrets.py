"""No secret gets into a cassette, and what is written in a secret's place leaves a reply that can be read."""

import base64
import gzip
import json
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import httpx
import pytest
from hypothesis import given, strategies as st

from hocket.errors import CassetteMiss, InvalidReply, LLMError
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.openai import ChatOpenAI
from hocket.testing import Body, GoogleFormat, OpenAIFormat, Reply, Split, Status, Stream, cassette, serve
from hocket.testing.cassettes.masking import Masker
from tests.kit.providers import PROVIDERS, Provider

KEY = "sk-proj-4f9A/x+Q=zz.81-verysecret"
NOWHERE = "http://127.0.0.1:9/v1"
MASK = "*" * 10


def find_traces(path: Path, *secrets: str) -> list[str]:
    """Return the secrets of which more than a few characters stand in a file, in any piece, or over pieces."""
    text = path.read_text()
    data = json.loads(text)
    bodies = [
        b"".join(
            piece.encode() if isinstance(piece, str) else base64.b64decode(piece["base64"])
            for _, piece in one.get("reply", {}).get("pieces", ())
        )
        for one in data["exchanges"]
    ]
    seen = text + "".join(body.decode("utf-8", "replace") for body in bodies)
    return [secret for secret in secrets if secret[:12] in seen or secret[-12:] in seen]


@pytest.fixture(params=PROVIDERS.values(), ids=PROVIDERS.keys())
def provider(request: pytest.FixtureRequest) -> Provider:
    one: Provider = request.param
    return one


async def test_keys_headers_and_cookies_are_not_written(provider: Provider, tmp_path: Path) -> None:
    """Nor what unlocks something by its name, wherever it goes: in the URL, in a header, back from the server."""
    cookie, header, parameter = "cookie-0123456789", "header-abcdefgh", "query-abcdefgh"
    path = tmp_path / "talk.json"
    echo = f"You sent {KEY}, {header} and {parameter}; your key begins with {KEY[:10]}."
    script = [
        Reply(echo, headers={"set-cookie": f"session={cookie}", "x-echo": KEY, "openai-organization": "org-12345678"}),
        Stream(echo),
        Status(401, echo, headers={"www-authenticate": f"Bearer {KEY}"}),
    ]
    async with serve(provider.format, script) as server, cassette(path, record="once"):
        model = provider.make(
            model="m",
            base_url=server.url,
            api_key=KEY,
            default_headers={"x-api-token": header},
            default_query={"access_key": parameter},
            retry=None,
        )
        assert (await model.ainvoke(f"My key is {KEY}")).text == echo
        assert [chunk async for chunk in model.astream("go")]
        with pytest.raises(LLMError):
            await model.ainvoke("refused")
    assert find_traces(path, KEY, cookie, header, parameter, "org-12345678") == []
    # Another key is used where it is replayed, and the request is found all the same.
    async with cassette(path):
        other = provider.make(model="m", base_url=server.url, api_key="another-key-of-ci", retry=None)
        said = (await other.ainvoke("My key is another-key-of-ci")).text
    assert said == f"You sent {MASK}, {MASK} and {MASK}; your key begins with {MASK}."


@pytest.mark.parametrize("size", [3, 8, 20])
async def test_a_key_that_is_cut_in_two_is_not_written(size: int, tmp_path: Path) -> None:
    """The network cuts where it likes; a piece each is what TCP may bring."""
    path = tmp_path / "talk.json"
    stream = Split(Stream(f"before {KEY} between {KEY} after", pieces=3), size=size, every=0.0001)
    async with serve(OpenAIFormat(), stream) as server, cassette(path, record="once"):
        model = ChatOpenAI(model="m", base_url=server.url, api_key=KEY)
        async for _ in model.astream("go"):
            pass
    assert find_traces(path, KEY) == []


async def test_a_key_that_a_model_says(provider: Provider, tmp_path: Path) -> None:
    """It streams it a few characters at a time: no event, and no bytes in a row, have it."""
    path, text = tmp_path / "talk.json", f"Your key is {KEY}, is it not?"
    async with serve(provider.format, Stream(text, pieces=len(text) // 2)) as server, cassette(path, record="once"):
        model = provider.make(model="m", base_url=server.url, api_key=KEY)
        assert "".join([chunk.text async for chunk in model.astream("go")]) == text
    async with cassette(path):
        model = provider.make(model="m", base_url=server.url, api_key="k")
        said = [chunk.text async for chunk in model.astream("go")]
    assert "".join(said) == f"Your key is {MASK}, is it not?"


SECRET = st.text(st.sampled_from('abcnrtu0019Z"\\/ +=%é☃\U0001f600-_.'), min_size=8, max_size=40)
WORDS = st.text(st.sampled_from("abcdefgh .,"), max_size=12)


@given(
    secret=SECRET,
    around=st.tuples(WORDS, WORDS),
    form=st.sampled_from(["data: %b\n\n", "data:%b\r\n\r\n", "%b\n", "list"]),
    data=st.data(),
)
def test_any_secret_in_any_pieces_of_a_stream(
    secret: str, around: tuple[str, str], form: str, data: st.DataObject
) -> None:
    """However a model cuts it into words, and the network these into bytes."""
    said = around[0] + secret + around[1]
    at = sorted(data.draw(st.lists(st.integers(0, len(said)), max_size=8)))
    words = [said[start:end] for start, end in zip([0, *at], [*at, len(said)], strict=True)]
    events: list[Any] = [{"choices": [{"index": 0, "delta": {"content": word}}]} for word in words]
    if form == "list":
        body = json.dumps({"tokens": [{"token": word} for word in words]}, indent=1).encode()
    else:
        body = b"".join(form.encode() % json.dumps(event).encode() for event in events)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    masked = b"".join(
        Masker([secret]).mask_pieces([body[i:j] for i, j in zip([0, *cuts], [*cuts, len(body)], strict=True)])
    )
    if form == "list":
        again = "".join(one["token"] for one in json.loads(masked)["tokens"])
    else:
        lines = [line.removeprefix(b"data:") for line in masked.splitlines() if line]
        again = "".join(json.loads(line)["choices"][0]["delta"]["content"] for line in lines)
    assert secret not in again
    assert MASK in again
    if secret not in around[0] + secret[:-1] and said.count(secret[:8]) == 1:
        assert again == f"{around[0]}{MASK}{around[1]}"


@pytest.mark.parametrize("at", range(0, len(KEY), 5))
def test_a_key_over_the_border_of_two_pieces(at: int) -> None:
    """Its mask is in the first one, and the others keep what is theirs."""
    before, after = f'data: {{"text": "a {KEY}'[: 17 + at], f'data: {{"text": "a {KEY} b"}}'[17 + at :]
    pieces = Masker([KEY]).mask_pieces([before.encode(), after.encode(), b"", b"next"])
    assert b"".join(pieces) == b'data: {"text": "a ********** b"}next'
    assert pieces[3] == b"next"
    assert (MASK.encode() in pieces[0]) == (at > 0)


TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)


def write_json(value: object, how: str) -> bytes:
    """Write data as one server or another does."""
    text = json.dumps(value, ensure_ascii=how == "ascii")
    return (text.replace("/", "\\/") if how == "slashes" else text).encode()


@given(secret=SECRET, before=TEXT, after=TEXT, how=st.sampled_from(["ascii", "unicode", "slashes"]), data=st.data())
def test_any_secret_in_any_json(secret: str, before: str, after: str, how: str, data: st.DataObject) -> None:
    """However it is written and cut: it is gone, and the rest is JSON that says what it said."""
    body = write_json({"text": before + secret + after, "n": [1, before]}, how)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(body)), max_size=6)))
    pieces = [body[start:end] for start, end in zip([0, *cuts], [*cuts, len(body)], strict=True)]
    masked = Masker([secret]).mask_pieces(pieces)
    assert len(masked) == len(pieces)
    read = json.loads(b"".join(masked))
    assert secret not in read["text"]
    assert MASK in read["text"]


@given(secret=SECRET, body=st.binary(max_size=200) | TEXT.map(str.encode))
def test_what_holds_no_secret_stays_as_it_is(secret: str, body: bytes) -> None:
    """Byte by byte, binary or not."""
    if secret[:8].encode() not in body:
        forms = {quote(secret), quote(secret, safe=""), json.dumps(secret)[1:-1]}
        if not any(form[:8].encode() in body for form in forms):
            masker = Masker([secret])
            halves = [body[: len(body) // 2], body[len(body) // 2 :]]
            assert b"".join(masker.mask_pieces(halves)) == body


@given(secret=SECRET, before=TEXT)
def test_a_secret_in_a_url(secret: str, before: str) -> None:
    """Escaped as URLs are."""
    for safe in ("", "/"):
        written = quote(secret, safe=safe)
        assert written not in Masker([secret]).mask_text(f"{quote(before)}&k={written}")


async def test_a_user_and_password_in_an_address(tmp_path: Path) -> None:
    """They are sent as a header, in base64, and a server may repeat either form."""
    path, password = tmp_path / "talk.json", "password-987654"
    coded = base64.b64encode(f"user:{password}".encode()).decode()
    async with serve(OpenAIFormat(), f"{password} {coded}") as server, cassette(path, record="once"):
        url = server.url.replace("http://", f"http://user:{password}@")
        await ChatOpenAI(model="m", base_url=url, api_key="k").ainvoke("Hi")
    assert find_traces(path, password, coded) == []


async def test_a_key_in_a_url(tmp_path: Path) -> None:
    """Google's may go there."""
    path = tmp_path / "talk.json"
    async with serve(GoogleFormat(), "Hello") as server, cassette(path, record="once"):
        model = ChatGoogleGenerativeAI(model="m", base_url=server.url, api_key="k", default_query={"key": KEY})
        await model.ainvoke("Hi")
    assert find_traces(path, KEY) == []
    async with cassette(path):
        await ChatGoogleGenerativeAI(model="m", base_url=server.url, api_key="k").ainvoke("Hi")


PACKED = {"gzip": gzip.compress, "deflate": zlib.compress}


@pytest.mark.parametrize("encoding", PACKED)
async def test_a_compressed_reply(encoding: str, tmp_path: Path) -> None:
    """A secret that a server compresses is found: what is kept is not compressed. What is no such thing fails again."""
    path = tmp_path / "talk.json"
    text = json.dumps(
        {"choices": [{"message": {"role": "assistant", "content": f"key {KEY}"}, "finish_reason": "stop"}]}
    )
    packed = PACKED[encoding](text.encode())
    headers = {"content-type": "application/json", "content-encoding": encoding}
    script = [
        Split(Body(packed, headers=headers), size=7),
        Body(packed[:-9], headers=headers),
        Body(b"no such thing", headers=headers),
        Body(packed, headers={**headers, "content-encoding": "br"}),
    ]

    async def talk(url: str, key: str) -> list[str]:
        model = ChatOpenAI(model="m", base_url=url, api_key=key, retry=None)
        came = [(await model.ainvoke("Hi")).text]
        for number in range(3):
            with pytest.raises(InvalidReply) as caught:
                await model.ainvoke(f"again {number}")
            came.append(str(caught.value))
        return came

    async with serve(OpenAIFormat(), script) as server, cassette(path, record="once"):
        live = await talk(server.url, KEY)
    assert live[0] == f"key {KEY}"
    assert find_traces(path, KEY) == []
    async with cassette(path):
        assert await talk(NOWHERE, KEY) == [f"key {MASK}", *live[1:]]


async def test_what_else_is_to_be_in_no_file(tmp_path: Path) -> None:
    """`scrub` is given requests and replies, as wholes; a request is found by what is left of it."""
    path = tmp_path / "talk.json"
    seen: list[str] = []

    def scrub(text: str) -> str:
        seen.append(text)
        return text.replace("Meier", "NAME").replace("Bern", "CITY")

    script = [Reply("Mrs Meier of Bern"), Split(Stream("Mr Meier of Bern", pieces=1), size=3, every=0.0001)]
    async with serve(OpenAIFormat(), script) as server, cassette(path, record="once", scrub=scrub):
        model = ChatOpenAI(model="m", base_url=server.url, api_key="k")
        assert (await model.ainvoke("Who is Meier?")).text == "Mrs Meier of Bern"
        async for _ in model.astream("Who else is Meier?"):
            pass
    assert find_traces(path, "Meier", "Bern") == []
    assert any("Mr Meier of Bern" in one for one in seen)
    async with cassette(path, scrub=scrub):
        model = ChatOpenAI(model="m", base_url=NOWHERE, api_key="k")
        assert (await model.ainvoke("Who is Meier?")).text == "Mrs NAME of CITY"
        assert "".join([chunk.text async for chunk in model.astream("Who else is Meier?")]) == "Mr NAME of CITY"


async def test_a_key_of_an_injected_client(tmp_path: Path) -> None:
    """hocket did not put it there, and masks it."""
    path = tmp_path / "talk.json"
    async with (
        serve(OpenAIFormat(), f"You sent {KEY}") as server,
        httpx.AsyncClient(headers={"x-secret-token": KEY}) as client,
        cassette(path, record="once"),
    ):
        await ChatOpenAI(model="m", base_url=server.url, api_key="k", http_client=client).ainvoke("Hi")
    assert find_traces(path, KEY) == []


async def test_the_secrets_of_one_request_are_in_no_other_exchange(tmp_path: Path) -> None:
    """A model that is told of another one's key."""
    path = tmp_path / "talk.json"
    async with serve(OpenAIFormat(), ["one", "two"]) as server, cassette(path, record="once"):
        await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke(f"The other's key is {KEY}")
        await ChatOpenAI(model="m", base_url=server.url, api_key=KEY).ainvoke("Hi")
    assert find_traces(path, KEY) == []


async def test_a_miss_shows_no_secret(tmp_path: Path) -> None:
    """What it shows would have been sent."""
    path = tmp_path / "talk.json"
    model: Any = ChatOpenAI(model="m", base_url=NOWHERE, api_key=KEY, default_query={"token": KEY})
    async with serve(OpenAIFormat(), "one") as server, cassette(path, record="once"):
        await model.model_copy(update={"base_url": server.url}).ainvoke("Hi")
    async with cassette(path):
        with pytest.raises(CassetteMiss) as caught:
            await model.ainvoke(f"My key is {KEY}")
    assert KEY[:12] not in f"{caught.value!r}"
    assert f"My key is {MASK}" in str(caught.value)


def test_errors_of_connections_are_masked(tmp_path: Path) -> None:
    """They may quote an address with a password."""

    class Broken(httpx.AsyncBaseTransport):
        async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError(f"no way to {KEY}")

    path = tmp_path / "talk.json"

    def talk() -> Iterator[str]:
        client = httpx.AsyncClient(transport=Broken())
        with pytest.raises(LLMError) as caught:
            ChatOpenAI(model="m", base_url=NOWHERE, api_key=KEY, http_client=client, retry=None).invoke("Hi")
        yield str(caught.value)

    with cassette(path, record="once"):
        live = list(talk())
    assert find_traces(path, KEY) == []
    with cassette(path):
        assert list(talk()) == live
