"""Where the server is, what it has, and what is said where it or a model is missing."""

import re
import warnings
from dataclasses import replace
from typing import Any
from uuid import uuid4

import pytest

from hocket import ChatOllama, OllamaEmbeddings, dumps, init_chat_model, loads
from hocket.errors import (
    AuthenticationError,
    ConnectionFailed,
    ContextLengthExceeded,
    HocketWarning,
    LLMError,
    ProviderUnavailable,
    RateLimitError,
    ResourceNotFound,
    Unsupported,
)
from hocket.providers.ollama.service import read_host
from hocket.testing import Body, Hangup, OllamaFormat, ReceivedRequest, Reply, Status, Stream, Vectors, serve
from tests.kit.recordings import Recording, load_recordings

RECORDINGS = load_recordings("ollama")
HOSTS = [
    ("127.0.0.1", "http://127.0.0.1:11434"),
    ("0.0.0.0", "http://127.0.0.1:11434"),
    ("0.0.0.0:8080", "http://127.0.0.1:8080"),
    (":8080", "http://127.0.0.1:8080"),
    ("gpu-box", "http://gpu-box:11434"),
    ("gpu-box:1234", "http://gpu-box:1234"),
    ("http://gpu-box", "http://gpu-box:80"),
    ("https://gpu-box", "https://gpu-box:443"),
    ("https://gpu-box:1234/", "https://gpu-box:1234"),
    ("https://gpu-box/llm", "https://gpu-box:443/llm"),
    ("gpu-box/llm/", "http://gpu-box:11434/llm"),
    ("ollama.com", "https://ollama.com:443"),
    ("::1", "http://[::1]:11434"),
    ("[::1]:8080", "http://[::1]:8080"),
    ("::", "http://127.0.0.1:11434"),
    (' "gpu-box" ', "http://gpu-box:11434"),
]


@pytest.mark.parametrize(("said", "url"), HOSTS)
def test_the_environment_says_where(said: str, url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scheme and port may be left out, as for Ollama's own programs; all addresses mean this machine."""
    assert read_host(said) == url
    monkeypatch.setenv("OLLAMA_HOST", said)
    assert ChatOllama(model="m").base_url == OllamaEmbeddings(model="m").base_url == url


def test_the_address_that_is_given_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before that of the environment."""
    monkeypatch.setenv("OLLAMA_HOST", "elsewhere")
    assert ChatOllama(model="m", base_url="http://here:1").base_url == "http://here:1"


def test_the_key_goes_to_the_cloud_and_to_the_address_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """And to no other; none is needed."""
    assert "authorization" not in ChatOllama(model="m").render("hi").headers
    monkeypatch.setenv("OLLAMA_API_KEY", "secret")
    assert "authorization" in ChatOllama(model="m", base_url="https://ollama.com").render("hi").headers
    assert "authorization" not in ChatOllama(model="m", base_url="https://elsewhere").render("hi").headers
    monkeypatch.setenv("OLLAMA_HOST", "gpu-box")
    assert "authorization" in ChatOllama(model="m").render("hi").headers


def test_names_have_colons() -> None:
    """What follows the provider's name is the model's."""
    model: Any = init_chat_model("ollama:qwen3:8b", num_ctx=8192)
    assert (type(model), model.model, model.num_ctx) == (ChatOllama, "qwen3:8b", 8192)


def test_a_model_travels_as_data() -> None:
    """With its options."""
    model = ChatOllama(model="qwen3:8b", num_ctx=8192, think="low")
    assert loads(dumps(model)) == model


async def test_a_model_that_is_not_there_says_how_to_fetch_it() -> None:
    """The model that the server names, which a call may have chosen."""
    script = [Status(404, "model 'qwen3:8b' not found"), Status(404, 'model "a/b" not found, try pulling it first')]
    async with serve(OllamaFormat(), script) as server:
        model = ChatOllama(model="m", base_url=server.url)
        with pytest.raises(ResourceNotFound, match="`ollama pull qwen3:8b`"):
            await model.ainvoke("hi", model="qwen3:8b")
        with pytest.raises(ResourceNotFound, match="`ollama pull a/b`") as caught:
            await OllamaEmbeddings(model="a/b", base_url=server.url).aembed_query("hi")
    assert caught.value.args == (caught.value.message,)


async def test_a_path_that_is_not_there_says_nothing_of_a_model() -> None:
    """As where the base URL is that of another API."""
    async with serve(OllamaFormat(), Status(404, "404 page not found")) as server:
        with pytest.raises(ResourceNotFound) as caught:
            await ChatOllama(model="m", base_url=server.url).ainvoke("hi")
    assert "pull" not in str(caught.value)


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_server_that_is_not_there_says_how_to_start_it(verb: str) -> None:
    """Of the models that run on one's own machine, it is mostly that."""
    async with serve(OllamaFormat(), Hangup()) as server:
        model = ChatOllama(model="m", base_url=server.url, retry=None)
    with pytest.raises(ConnectionFailed, match="`ollama serve` starts it") as caught:
        await (model.ainvoke("hi") if verb == "ainvoke" else anext(model.astream("hi")))
    assert caught.value.retryable


async def test_models_are_listed_with_their_sizes() -> None:
    """A name is a text with a note; one in the cloud has no size."""
    sizes = {"qwen3:8b": 5_225_388_164, "embeddinggemma:latest": 621_875_917, "gpt-oss:120b-cloud": 384, "odd": None}
    listed = [{"name": name, "model": name, "size": size} for name, size in sizes.items()]
    async with serve(OllamaFormat(models=None), Body({"models": listed})) as server:
        names = await ChatOllama(model="?", base_url=server.url).alist_models()
    assert names == list(sizes)
    assert [getattr(name, "note") for name in names] == ["5.2 GB", "622 MB", "", ""]  # noqa: B009


async def test_the_recorded_list_is_read() -> None:
    """As the SDK reads it."""
    case = RECORDINGS["ollama/tags"]
    async with serve(OllamaFormat(models=None), Body(case["response"]["body"])) as server:
        names = await ChatOllama(model="?", base_url=server.url).alist_models()
    assert names == [model["model"] for model in case["sdk_parsed"]["models"]]
    assert (server.requests[0].method, server.requests[0].path) == ("GET", case["request"]["path"])


KINDS: dict[int, type[LLMError]] = {
    400: Unsupported,
    401: AuthenticationError,
    429: RateLimitError,
    500: ProviderUnavailable,
}


@pytest.mark.parametrize("verb", ["ainvoke", "astream"])
async def test_a_recorded_refusal_is_an_error(failure: Recording, verb: str) -> None:
    """Of the class that its status and its words mean."""
    response = failure["response"]
    async with serve(OllamaFormat(), Body(response["body"], status=response["status"])) as server:
        model = ChatOllama(model="x", base_url=server.url, retry=None)
        with pytest.raises(KINDS[response["status"]], match=re.escape(response["body"]["error"])) as caught:
            await (model.ainvoke("hi") if verb == "ainvoke" else anext(model.astream("hi")))
    assert (caught.value.status, caught.value.provider, caught.value.model) == (response["status"], "ollama", "x")
    assert caught.value.retryable == (response["status"] >= 429)


# -- the window


async def test_a_prompt_that_will_be_cut_is_warned_of_once() -> None:
    """For each model and window; the server would cut it in silence."""
    prompt = "word " * 5000
    async with serve(OllamaFormat(), lambda request: Reply("ok")) as server:
        model = ChatOllama(model=f"small-{uuid4()}", base_url=server.url)
        with pytest.warns(HocketWarning, match=r"more than 4096, .* num_ctx=.*truncate=False"):
            await model.ainvoke(prompt)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            await model.ainvoke(prompt)
            await model.ainvoke(prompt, num_ctx=16_000)
            await ChatOllama(model="other", base_url=server.url, truncate=False).ainvoke(prompt)
            await ChatOllama(model="third", base_url=server.url).ainvoke("x" * 5000)  # 5,000 bytes, some 1,250 tokens
        with pytest.warns(HocketWarning, match="num_ctx=5000"):
            await model.ainvoke(prompt, num_ctx=5000)


async def test_the_window_is_known_where_it_is_given_otherwise() -> None:
    """In ``extra_body``; and a model in the cloud has all of its own."""
    prompt = "word " * 5000
    body = {"options": {"num_ctx": 16_000}}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ChatOllama(model=f"small-{uuid4()}", extra_body=body).render(prompt)
        ChatOllama(model=f"small-{uuid4()}-cloud").render(prompt)
        ChatOllama(model=f"small-{uuid4()}", base_url="https://ollama.com", api_key="k").render(prompt)


async def test_tools_count_in_the_window() -> None:
    """They are part of the prompt."""
    tool = {"type": "function", "function": {"name": "f", "description": "word " * 5000, "parameters": {}}}
    async with serve(OllamaFormat(), Reply("ok")) as server:
        with pytest.warns(HocketWarning, match="num_ctx"):
            await ChatOllama(model=f"small-{uuid4()}", base_url=server.url).bind_tools([tool]).ainvoke("hi")


# -- the format of the tests' own server


def test_the_scripted_server_streams_unless_told_not_to() -> None:
    """As the real one does, so that a client that forgets to say so is found out."""
    request = ReceivedRequest("POST", "/api/chat", "", {}, b'{"messages": []}')
    assert OllamaFormat().wants_stream(request)
    assert OllamaFormat().wants_stream(replace(request, body=b'{"stream": true}'))
    assert not OllamaFormat().wants_stream(replace(request, body=b'{"stream": false}'))
    assert not OllamaFormat().wants_stream(replace(request, path="/api/embed"))


async def test_an_error_line_ends_a_stream() -> None:
    """After what has come, which the error keeps."""
    async with serve(OllamaFormat(), Stream("Hello there", error="model runner has unexpectedly stopped")) as server:
        with pytest.raises(ProviderUnavailable, match="unexpectedly stopped") as caught:
            async for _ in ChatOllama(model="m", base_url=server.url).astream("hi"):
                pass
    assert caught.value.partial is not None and caught.value.partial.text == "Hello there"


# -- embeddings


async def test_texts_become_vectors() -> None:
    """The texts are not cut unless that is asked for; what is unset is not sent."""
    async with serve(OllamaFormat(), Vectors()) as server:
        model = OllamaEmbeddings(model="m", base_url=server.url, dimensions=5)
        result = await model.aembed(["one two", "three"])

    assert [len(vector) for vector in result.embeddings] == [5, 5]
    assert result.usage == {"input_tokens": 3, "output_tokens": 0, "total_tokens": 3}
    (request,) = server.requests
    assert request.path == "/api/embed"
    assert request.json == {"model": "m", "input": ["one two", "three"], "truncate": False, "dimensions": 5}


async def test_options_of_an_embedding_model_are_sent() -> None:
    """Those of the runner, inside of ``options``."""
    async with serve(OllamaFormat(), Vectors()) as server:
        model = OllamaEmbeddings(model="m", base_url=server.url, truncate=True, num_ctx=512, num_gpu=0, keep_alive="1h")
        await model.aembed_query("one")
    assert server.requests[0].json == {
        "model": "m",
        "input": ["one"],
        "truncate": True,
        "options": {"num_ctx": 512, "num_gpu": 0},
        "keep_alive": "1h",
    }


async def test_a_text_that_is_too_long_is_refused() -> None:
    """As what it is."""
    async with serve(OllamaFormat(), Status(400, "the input length exceeds the context length")) as server:
        with pytest.raises(ContextLengthExceeded):
            await OllamaEmbeddings(model="m", base_url=server.url).aembed_query("long")
