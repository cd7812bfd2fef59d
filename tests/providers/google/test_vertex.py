"""Gemini behind Vertex AI: where requests go, who asks, and what differs from the Gemini API. So it is with Anthropic's."""

import json
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hocket import ChatAnthropicVertex, ChatGoogleGenerativeAI, ChatVertexAI, VertexAIEmbeddings, init_chat_model
from hocket.batch import arun_batch
from hocket.clouds.google import GoogleTokenSource
from hocket.embeddings import init_embeddings
from hocket.errors import AuthenticationError, InvalidInput, InvalidReply, QuotaExceeded, RateLimitError, Unsupported
from hocket.load import dumps, loads
from hocket.messages import AIMessage, HumanMessage, SystemMessage
from hocket.testing import Body, GoogleFormat, Reply, Status, cassette, serve
from hocket.testing.server.wire import ReceivedRequest

HOST = "aiplatform.googleapis.com"
USER = {"type": "authorized_user", "client_id": "c", "client_secret": "hidden", "refresh_token": "r"}


class Token:
    """What google-auth's credentials are: here they have a token, a project and another project's quota."""

    token, expiry, project_id, quota_project_id = "ya29.hidden", None, "own", "paying"

    def refresh(self, request: object) -> None:
        raise AssertionError("the token holds")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("GOOGLE_CLOUD_PROJECT", "GOOGLE_CLOUD_LOCATION", "CLOUD_ML_REGION", "GOOGLE_APPLICATION_CREDENTIALS"):
        monkeypatch.delenv(name, raising=False)


def place(location: str = "global", project: str = "p", publisher: str = "google") -> str:
    return f"projects/{project}/locations/{location}/publishers/{publisher}/models"


GEMINI, CLAUDE = "gemini-3-pro", "claude-sonnet-4-5@20250929"
ADDRESSES: list[tuple[type[Any], dict[str, Any], dict[str, str], str]] = [
    (ChatVertexAI, {"project": "p"}, {}, f"https://{HOST}/v1/{place()}/{GEMINI}:generateContent"),
    (
        ChatVertexAI,
        {"project": "p", "location": "eu"},
        {},
        f"https://aiplatform.eu.rep.googleapis.com/v1/{place('eu')}",
    ),
    (
        ChatVertexAI,
        {},
        {"GOOGLE_CLOUD_PROJECT": "p", "GOOGLE_CLOUD_LOCATION": "us"},
        "https://aiplatform.us.rep.google",
    ),
    (
        ChatVertexAI,
        {"project": "a.com:b", "location": "europe-west4"},
        {"GOOGLE_CLOUD_PROJECT": "p"},
        f"https://europe-west4-{HOST}/v1/{place('europe-west4', 'a.com:b')}/{GEMINI}:generateContent",
    ),
    (ChatVertexAI, {"project": "p", "api_version": "v1beta1"}, {}, f"https://{HOST}/v1beta1/{place()}/{GEMINI}"),
    (ChatVertexAI, {}, {}, f"https://{HOST}/v1/{place(project='-')}/{GEMINI}:generateContent"),
    (
        ChatVertexAI,
        {"api_key": "AQ.key"},
        {"GOOGLE_CLOUD_PROJECT": "p"},
        f"https://{HOST}/v1/publishers/google/models/{GEMINI}:generateContent",
    ),
    (ChatVertexAI, {"api_key": "AQ.key", "project": "p"}, {}, f"https://{HOST}/v1/{place()}/{GEMINI}"),
    (ChatVertexAI, {"api_key": "ya29.token", "project": "p"}, {}, f"https://{HOST}/v1/{place()}/{GEMINI}"),
    (
        ChatAnthropicVertex,
        {"project": "p"},
        {},
        f"https://{HOST}/v1/{place(publisher='anthropic')}/{CLAUDE}:rawPredict",
    ),
    (
        ChatAnthropicVertex,
        {"api_key": "token"},
        {"ANTHROPIC_VERTEX_PROJECT_ID": "p", "GOOGLE_CLOUD_PROJECT": "q", "CLOUD_ML_REGION": "us-east5"},
        f"https://us-east5-{HOST}/v1/{place('us-east5', publisher='anthropic')}/{CLAUDE}:rawPredict",
    ),
    (
        ChatAnthropicVertex,
        {"project": "p"},
        {"ANTHROPIC_VERTEX_BASE_URL": "https://gate.example/vertex/v1"},
        f"https://gate.example/vertex/v1/{place(publisher='anthropic')}/{CLAUDE}:rawPredict",
    ),
]


@pytest.mark.parametrize(("kind", "fields", "environment", "url"), ADDRESSES)
def test_addresses(
    kind: type[Any], fields: dict[str, Any], environment: dict[str, str], url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Project and location are given, or of the environment; the host is the location's. The key goes as what it is."""
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    model = kind(model=GEMINI if kind is ChatVertexAI else CLAUDE, **fields)
    request, streamed = model.render("hi"), model.render("hi", stream=True)
    assert request.url.startswith(url)
    assert ":stream" in streamed.url and ("alt=sse" in streamed.url) == (kind is ChatVertexAI)
    if str(fields.get("api_key")).startswith("AQ."):
        assert request.headers["x-goog-api-key"] and "authorization" not in request.headers
    else:
        assert "**" in request.headers["authorization"] and "x-goog-api-key" not in request.headers
    if kind is ChatAnthropicVertex:
        body: Any = streamed.json
        assert body["anthropic_version"] == "vertex-2023-10-16" and body["stream"] and "model" not in body
        assert "anthropic-version" not in request.headers


REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"credentials": USER, "api_key": "k", "project": "p"}, "credentials and api_key are given"),
    ({"credentials": 5}, "credentials is a int"),
    ({"location": "x.example/#"}, "location='x.example/#' must be"),
    ({"location": 5}, "location=5 must be"),
    ({"api_key": lambda: "t"}, "a token names no project: give project=..., or set .*GOOGLE_CLOUD_PROJECT"),
    ({"region": "us"}, "location="),
    ({"project_id": "us"}, "project="),
    ({"access_token": "t", "project": "p"}, "api_key="),
    ({"api_endpoint": "t"}, "base_url="),
]


@pytest.mark.parametrize(("fields", "words"), REFUSED)
def test_what_contradicts_itself_is_refused(fields: dict[str, Any], words: str) -> None:
    """And what has another name here is told it."""
    for kind in (ChatVertexAI, ChatAnthropicVertex):
        with pytest.raises((InvalidInput, ValidationError), match=words):
            kind(model="m", **fields)


def test_found_credentials_go_to_google_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Or to the address that the environment names; given ones go where they are sent."""
    for url in ("https://gate.example", "http://aiplatform.googleapis.com", "https://googleapis.com.example.org"):
        with pytest.raises(AuthenticationError, match="not known to belong to google_vertexai"):
            ChatVertexAI(model="m", project="p", base_url=url)
        assert ChatVertexAI(model="m", project="p", base_url=url, credentials=USER).credentials is not None
    monkeypatch.setenv("GOOGLE_VERTEX_BASE_URL", "https://gate.example")
    assert isinstance(ChatVertexAI(model="m", project="p").credentials, GoogleTokenSource)
    assert ChatVertexAI(model="m", project="p").render("hi").url.startswith("https://gate.example/v1/projects/p/")


def test_a_missing_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    """At construction."""
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    for kind in (ChatVertexAI, ChatAnthropicVertex):
        with pytest.raises(AuthenticationError, match=r"needs a key: give api_key=..., or install hocket\[vertex\]"):
            kind(model="m", project="p")
    monkeypatch.undo()
    assert ChatVertexAI.setup_needed() == "set GOOGLE_CLOUD_PROJECT"
    monkeypatch.setenv("GOOGLE_CLOUD_PROJECT", "p")
    assert ChatVertexAI.setup_needed() is None


@pytest.mark.both_loops
async def test_credentials_say_who_asks_and_what_for() -> None:
    """Token, quota and, where nothing else names it, the project; no error, dump or preview shows the token."""
    refused = Status(429, "slow down, ya29.hidden")
    async with serve(GoogleFormat(), [Reply("a"), Reply("b"), refused]) as server:
        given: dict[str, Any] = {"base_url": server.url, "credentials": Token(), "retry": None}
        model = ChatVertexAI(model="m", **given)
        assert (await model.ainvoke("hi")).response_metadata["model_provider"] == "google_vertexai"
        assert [chunk.text async for chunk in model.astream("hi")]
        with pytest.raises(RateLimitError) as caught:
            await model.ainvoke("hi")
        first, second, _ = server.requests
    assert (first.path, second.path.partition(":")[2]) == (
        f"/v1/{place(project='own')}/m:generateContent",
        "streamGenerateContent",
    )
    for request in (first, second):
        assert request.headers["authorization"] == "Bearer ya29.hidden"
        assert request.headers["x-goog-user-project"] == "paying"
    assert "hidden" not in caught.value.message + repr(model) + dumps(model) + repr(model.render("hi"))
    assert caught.value.provider == "google_vertexai"


async def test_a_project_that_nobody_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Token, "project_id", None)
    model = ChatVertexAI(model="m", credentials=Token(), base_url="http://127.0.0.1:9")
    with pytest.raises(InvalidInput, match=r"set GOOGLE_CLOUD_PROJECT"):
        await model.ainvoke("hi")


def test_a_model_travels() -> None:
    """As data, without what is to be found where it arrives; and as a pickle with all."""
    model = ChatVertexAI(model="m", project="p", location="eu", credentials=USER)
    again = loads(dumps(model))
    assert isinstance(again, ChatVertexAI) and (again.project, again.location) == ("p", "eu")
    assert pickle.loads(pickle.dumps(model)).credentials == model.credentials
    for name in ("google_vertexai", "vertex", "vertexai"):
        assert isinstance(init_chat_model(f"{name}:m", project="p"), ChatVertexAI)
        assert isinstance(init_embeddings(f"{name}:m", project="p"), VertexAIEmbeddings)
    assert isinstance(init_chat_model("google_anthropic_vertex:m", project="p"), ChatAnthropicVertex)
    with pytest.raises(ValidationError, match="ChatVertexAI"):
        ChatGoogleGenerativeAI(model="m", project="p")  # type: ignore[call-arg]


@pytest.mark.parametrize(
    ("one", "other"), [(ChatGoogleGenerativeAI, ChatVertexAI), (ChatVertexAI, ChatGoogleGenerativeAI)]
)
async def test_a_conversation_goes_on_at_the_other_address(one: Any, other: Any) -> None:
    """Thoughts and signatures go back, since they are the same model's; nothing is left out."""
    async with serve(GoogleFormat(), Reply("So.", reasoning="hm", extra={"thoughtSignature": "c2ln"})) as server:
        answer = await one(model="gemini-3-pro", base_url=server.url, api_key="k").ainvoke("hi")
    model = other(model="gemini-3-pro", api_key="k", foreign="raise")
    body: Any = model.render([HumanMessage("hi"), answer, HumanMessage("go on")]).json
    assert body["contents"][1]["parts"] == answer.content
    assert "c2ln" in json.dumps(body)
    foreign = AIMessage(answer.content, response_metadata={"model_provider": "openai"})
    with pytest.raises(Unsupported, match="reasoning"):
        model.render([HumanMessage("hi"), foreign, HumanMessage("go on")])


async def test_tokens_are_counted_and_models_listed() -> None:
    """The body is that of a request, not wrapped; Anthropic's count has a place of its own."""
    listed = {"publisherModels": [{"name": "publishers/google/models/gemini-3-pro"}]}
    script = [Body({"totalTokens": 7}), Body({"input_tokens": 8}), Body(listed), Body({"publisherModels": []})]
    messages = [SystemMessage("s"), HumanMessage("hi")]
    async with serve(GoogleFormat(models=None), script) as server:
        given: dict[str, Any] = {"base_url": server.url, "api_key": lambda: "t", "project": "p"}
        gemini, claude = ChatVertexAI(model="m", **given), ChatAnthropicVertex(model="m", **given)
        assert await gemini.aget_num_tokens_from_messages(messages, exact=True) == 7
        assert await claude.aget_num_tokens_from_messages(messages, exact=True) == 8
        assert (await gemini.alist_models(), await claude.alist_models()) == (["gemini-3-pro"], [])
        paths = [request.path for request in server.requests]
        first, second = (request.json for request in server.requests[:2])
    assert paths == [
        f"/v1/{place()}/m:countTokens",
        f"/v1/{place(publisher='anthropic')}/count-tokens:rawPredict",
        "/v1beta1/publishers/google/models",
        "/v1beta1/publishers/anthropic/models",
    ]
    assert first.keys() == {"contents", "systemInstruction"}
    assert second.keys() == {"anthropic_version", "model", "system", "messages"}


PREDICTED = {"values": [1, 2], "statistics": {"token_count": 3}}
VECTORS: Mapping[str, tuple[dict[str, Any], list[Any], list[int]]] = {
    "text-embedding-005": ({"predictions": [{"embeddings": PREDICTED}] * 2}, ["predict"], [2]),
    "gemini-embedding-001": ({"predictions": [{"embeddings": PREDICTED}]}, ["predict", "predict"], [1, 1]),
    "gemini-embedding-2": (
        {"embedding": {"values": [1, 2]}, "usageMetadata": {"promptTokenCount": 3}},
        ["embedContent", "embedContent"],
        [1, 1],
    ),
}


@pytest.mark.parametrize("name", VECTORS)
async def test_vectors(name: str) -> None:
    """As many texts a request as the model takes; dimensions and task in the words of the verb."""
    answer, verbs, sizes = VECTORS[name]

    def play(request: ReceivedRequest) -> Body:
        predictions = answer.get("predictions", [])[: len(request.json.get("instances", []))]
        return Body({**answer, "predictions": predictions})

    async with serve(GoogleFormat(), play) as server:
        model = VertexAIEmbeddings(
            model=name,
            base_url=server.url,
            api_key=lambda: "t",
            project="p",
            output_dimensionality=2,
            max_concurrency=1,
        )
        result = await model.aembed(["a", "b"])
        asked: list[Any] = [request.json for request in server.requests]
        assert [request.path for request in server.requests] == [f"/v1/{place()}/{name}:{verb}" for verb in verbs]
        await model.aembed_query("q")
        query = json.dumps(server.requests[-1].json)
    assert result.embeddings == [[1.0, 2.0], [1.0, 2.0]]
    assert result.usage is not None and result.usage["input_tokens"] == 6
    if verbs[0] == "predict":
        assert [len(body["instances"]) for body in asked] == sizes
        assert asked[0]["instances"][0] == {"content": "a", "task_type": "RETRIEVAL_DOCUMENT"}
        assert asked[0]["parameters"] == {"outputDimensionality": 2}
    else:
        assert asked[0]["content"]["parts"] == [{"text": "a"}]
        assert asked[0]["embedContentConfig"] == {"taskType": "RETRIEVAL_DOCUMENT", "outputDimensionality": 2}
    assert "RETRIEVAL_QUERY" in query


@pytest.mark.parametrize("odd", [{}, {"predictions": [{}]}, {"embedding": {"values": ["x"]}}, {"predictions": []}])
async def test_odd_vectors(odd: dict[str, Any]) -> None:
    async with serve(GoogleFormat(), Body(odd)) as server:
        model = VertexAIEmbeddings(base_url=server.url, api_key="k", retry=None)
        with pytest.raises(InvalidReply):
            await model.aembed_documents(["a"])


async def test_vertex_has_no_batches_of_this_form(tmp_path: Path) -> None:
    for kind in (ChatVertexAI, ChatAnthropicVertex):
        with pytest.raises(Unsupported, match="batch"):
            await arun_batch(kind(model="m", project="p"), ["hi"], tmp_path / kind.__name__, via="provider")


async def test_an_error_in_a_list() -> None:
    """Vertex's streams may begin so."""
    error = {"code": 429, "message": "Quota exceeded", "status": "RESOURCE_EXHAUSTED"}
    async with serve(GoogleFormat(), Body([{"error": error}], status=429)) as server:
        model = ChatVertexAI(model="m", base_url=server.url, api_key="k", retry=None)
        with pytest.raises((RateLimitError, QuotaExceeded), match="Quota exceeded"):
            [chunk async for chunk in model.astream("hi")]


async def test_a_recording_holds_no_token_and_needs_none(tmp_path: Path) -> None:
    """Neither the trip for a token is in it, nor is one made to replay it."""

    def play(request: ReceivedRequest) -> Any:
        return (
            Body({"access_token": "ya29.hidden", "expires_in": 3600}) if "/token" in request.path else Reply("Hello.")
        )

    async with serve(GoogleFormat(), play) as server:
        fields: dict[str, Any] = {"model": "m", "project": "p", "base_url": server.url}
        async with cassette(tmp_path / "c.yaml", record="once"):
            await ChatVertexAI(credentials=Token(), **fields).ainvoke("hi")
        count = len(server.requests)
        async with cassette(tmp_path / "c.yaml", record="none"):
            again = ChatVertexAI(credentials={**USER, "token_uri": server.url}, **fields)
            assert (await again.ainvoke("hi")).text == "Hello."
        assert len(server.requests) == count
    assert "hidden" not in (tmp_path / "c.yaml").read_text()
