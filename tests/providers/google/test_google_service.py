"""Where requests go, whose key they carry, and what else the Gemini API is asked: vectors, models, counts of tokens."""

from typing import Any

import pytest
from pydantic import ValidationError

from hocket import init_chat_model
from hocket.errors import AuthenticationError, InvalidReply
from hocket.load import dumps, loads
from hocket.messages import HumanMessage, SystemMessage
from hocket.providers.google import ChatGoogleGenerativeAI, GoogleGenerativeAIEmbeddings
from hocket.testing import Body, GoogleFormat, Reply, Vectors, serve
from tests.kit.recordings import load_recordings
from tests.providers.google.conftest import model

GOOGLE = "https://generativelanguage.googleapis.com"
RECORDINGS = load_recordings("gemini")


def url_of(name: str = "gemini-3.8-flash", *, stream: bool = False, **fields: Any) -> str:
    return model(model=name, **fields).render("hi", stream=stream).url


def test_a_key_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """GOOGLE_API_KEY goes before GEMINI_API_KEY; without either, the message names both."""
    with pytest.raises(AuthenticationError, match="GOOGLE_API_KEY or GEMINI_API_KEY"):
        ChatGoogleGenerativeAI(model="m")
    monkeypatch.setenv("GEMINI_API_KEY", "second")
    made = ChatGoogleGenerativeAI(model="m")
    assert made.api_key.get_secret_value() == "second"  # type: ignore[union-attr]
    monkeypatch.setenv("GOOGLE_API_KEY", "first")
    made = ChatGoogleGenerativeAI(model="m")
    assert made.api_key.get_secret_value() == "first"  # type: ignore[union-attr]


def test_langchains_names_are_understood() -> None:
    made: Any = ChatGoogleGenerativeAI(model="m", google_api_key="k", max_output_tokens=5)  # type: ignore[call-arg]
    assert (made.api_key.get_secret_value(), made.max_tokens) == ("k", 5)


@pytest.mark.parametrize("name", ["google", "gemini", "google_genai"])
def test_the_provider_has_three_names(name: str) -> None:
    made = init_chat_model(f"{name}:gemini-3.8-flash", api_key="k")
    assert isinstance(made, ChatGoogleGenerativeAI) and made.model == "gemini-3.8-flash"
    assert isinstance(init_chat_model("gemini-3-pro", api_key="k"), ChatGoogleGenerativeAI)


def test_a_model_travels_as_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GOOGLE_API_KEY", "k")
    again = loads(dumps(model(thinking_level="low")), secrets_from_env=True)
    assert isinstance(again, ChatGoogleGenerativeAI) and again.thinking_level == "low"


def test_addresses(monkeypatch: pytest.MonkeyPatch) -> None:
    """v1 by default, another version by field or variable; a model's prefix stays single; parameters of both kinds."""
    at = f"{GOOGLE}/v1/models/gemini-3.8-flash"
    assert url_of() == url_of("models/gemini-3.8-flash") == f"{at}:generateContent"
    assert url_of(stream=True) == f"{at}:streamGenerateContent?alt=sse"
    both = url_of(stream=True, default_query={"a": "b c"})
    assert both == f"{at}:streamGenerateContent?alt=sse&a=b+c"
    assert url_of("tunedModels/mine") == f"{GOOGLE}/v1/tunedModels/mine:generateContent"
    assert url_of(api_version="v1beta").startswith(f"{GOOGLE}/v1beta/models/")
    assert url_of(base_url="https://e.x/gemini", api_version="").startswith("https://e.x/gemini/models/")
    monkeypatch.setenv("GOOGLE_GENAI_API_VERSION", "beta")
    assert url_of().startswith(f"{GOOGLE}/v1beta/models/")


async def test_an_access_token_is_a_bearer_token() -> None:
    """As Vertex wants it; a key goes in a header of its own."""
    async with serve(GoogleFormat(), [Reply("a"), Reply("b")]) as server:
        for key in ("AIza-key", "ya29.token"):
            await ChatGoogleGenerativeAI(model="m", base_url=server.url, api_key=key).ainvoke("hi")
        first, second = (request.headers for request in server.requests)
    assert first["x-goog-api-key"] == "AIza-key" and "authorization" not in first
    assert second["authorization"] == "Bearer ya29.token" and "x-goog-api-key" not in second


@pytest.mark.parametrize("field", [{"vertexai": True}, {"project": "p"}, {"credentials": object()}])
def test_vertex_is_refused_with_the_way_to_it(field: Any) -> None:
    with pytest.raises(ValidationError, match=r"ChatVertexAI\(model=..., project=..., location=...\)"):
        model(**field)


async def test_vertex_with_a_token_of_ones_own() -> None:
    """The address says project and location; the token comes out of a function, asked for each request."""
    place = "v1/projects/p/locations/l/publishers/google"
    async with serve(GoogleFormat(), [Reply("a"), Reply("b")]) as server:
        fields: dict[str, Any] = {"base_url": f"{server.url}/{place}", "api_version": ""}
        asked = ChatGoogleGenerativeAI(model="m", api_key=lambda: "ya29.fresh", **fields)
        assert (await asked.ainvoke("hi")).text == "a"
        [chunk async for chunk in asked.astream("hi")]
        first, second = server.requests
    assert first.path == f"/{place}/models/m:generateContent"
    assert second.path == f"/{place}/models/m:streamGenerateContent"
    assert second.headers["authorization"] == "Bearer ya29.fresh"


async def test_vectors_in_batches() -> None:
    """Vector i is that of text i; 100 texts in one request; a query is embedded as a query."""
    texts = [f"text {number}" for number in range(150)]
    async with serve(GoogleFormat(), [Vectors(), Vectors(), Vectors()]) as server:
        embed = GoogleGenerativeAIEmbeddings(
            api_key="k", base_url=server.url, output_dimensionality=3, max_concurrency=1
        )
        vectors = await embed.aembed_documents(texts)
        [same] = [await embed.aembed_query(texts[120])]
        bodies: list[Any] = [request.json["requests"] for request in server.requests]
    assert [len(body) for body in bodies] == [100, 50, 1]
    assert vectors[120] == same and len(same) == 3
    assert {each["taskType"] for each in bodies[0]} == {"RETRIEVAL_DOCUMENT"}
    assert bodies[2][0]["taskType"] == "RETRIEVAL_QUERY"


def test_a_request_for_vectors_is_the_official_sdks() -> None:
    """The whole body, and the path; and the reply is read as the SDK reads it."""
    recorded = RECORDINGS["gemini/embed_content"]
    embed = GoogleGenerativeAIEmbeddings(api_key="k", output_dimensionality=2, task_type="RETRIEVAL_DOCUMENT")
    request: Any = embed._request(["a", "b"])  # pyright: ignore[reportPrivateUsage]
    assert request.json == recorded["request"]["body"]
    assert request.url == GOOGLE + recorded["request"]["path"]


async def test_recorded_vectors_and_odd_ones() -> None:
    recorded = RECORDINGS["gemini/embed_content"]["response"]["body"]
    script = [Body(recorded), Body({"embeddings": [{}]}), Body({"embeddings": []})]
    async with serve(GoogleFormat(), script) as server:
        embed = GoogleGenerativeAIEmbeddings(api_key="k", base_url=server.url, retry=None)
        assert await embed.aembed_documents(["a", "b"]) == [[1.0, 2.0], [1.0, 2.0]]
        for _ in range(2):
            with pytest.raises(InvalidReply):
                await embed.aembed_documents(["a"])


def test_more_texts_at_once_than_the_api_takes_are_refused() -> None:
    with pytest.raises(ValidationError, match="less than"):
        GoogleGenerativeAIEmbeddings(api_key="k", chunk_size=101)


async def test_names_of_models_have_no_prefix() -> None:
    recorded = RECORDINGS["gemini/models_list"]["response"]["body"]
    async with serve(GoogleFormat(models=None), [Body(recorded)]) as server:
        assert await model(base_url=server.url).alist_models() == ["gemini-3.8-flash"]
        assert (server.requests[0].path, server.requests[0].query) == ("/v1/models", "pageSize=1000")


async def test_the_server_counts_tokens() -> None:
    """Bare messages by themselves; with instructions or tools, all of the request."""
    async with serve(GoogleFormat(), [Body({"totalTokens": 31}), Body({"totalTokens": 40})]) as server:
        asked = model(base_url=server.url)
        assert await asked.aget_num_tokens_from_messages([HumanMessage("hi")], exact=True) == 31
        messages = [SystemMessage("s"), HumanMessage("hi")]
        assert await asked.aget_num_tokens_from_messages(messages, exact=True) == 40
        first, second = (request.json for request in server.requests)
        assert server.requests[0].path == "/v1/models/gemini-3.8-flash:countTokens"
    assert first == {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}
    whole: Any = second
    assert whole["generateContentRequest"].keys() == {"model", "contents", "systemInstruction"}
