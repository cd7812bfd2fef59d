"""Embeddings, and counts of tokens, of the gateway's models."""

from typing import Any

import pytest

from hocket import ScriptedChatModel
from hocket.embeddings import Embeddings
from hocket.providers.openai import OpenAIEmbeddings
from hocket.serving import openai_app
from hocket.testing.server import Server
from tests.serving.conftest import KEY, Serve, question, send

openai = pytest.importorskip("openai", reason="it comes with `scripts/setup dev`")

PATH = "/v1/embeddings"


class Lengths(Embeddings):
    """Each text becomes its length."""

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        return [[float(len(text)), 0.5] for text in texts]


@pytest.fixture
def app() -> Any:
    return openai_app({"vectors": Lengths(), "m": ScriptedChatModel(script=["Hello."])})


async def test_vectors(app: Any):
    """In order; usage is counted here where no server has told it."""
    response = await send(app, "POST", PATH, json={"model": "vectors", "input": ["a", "bcd"]})
    body = response.json()
    assert [one["embedding"] for one in body["data"]] == [[1.0, 0.5], [3.0, 0.5]]
    assert [one["index"] for one in body["data"]] == [0, 1] and body["object"] == "list"
    assert body["usage"]["prompt_tokens"] > 0 and body["usage"]["total_tokens"] == body["usage"]["prompt_tokens"]


def test_the_official_client(serve: Serve):
    """It asks for base64, and reads numbers."""
    url = serve(openai_app({"vectors": Lengths()}, keys=KEY))
    with openai.OpenAI(base_url=f"{url}/v1", api_key=KEY, max_retries=0) as client:
        for fields in ({}, {"encoding_format": "float"}):
            reply = client.embeddings.create(model="vectors", input="abcde", **fields)
            assert reply.data[0].embedding == [5.0, 0.5]


@pytest.mark.parametrize(
    ("fields", "says"),
    [
        ({"input": [1, 2]}, "input is [1, 2]"),
        ({"input": []}, "input is []"),
        ({"input": [""]}, "an empty text"),
        ({"input": None}, "input is None"),
        ({"encoding_format": "hex"}, "encoding_format is 'hex'"),
        ({"dimensions": 5}, "no other dimensions"),
        ({"dimensions": "5"}, "dimensions is '5'"),
        ({"stream": True}, "there is no field 'stream'"),
        ({"model": "m"}, "'m' is no embedding model; it is served at /v1/chat/completions"),
    ],
    ids=str,
)
async def test_bad_requests(app: Any, fields: dict[str, Any], says: str):
    response = await send(app, "POST", PATH, json={"model": "vectors", "input": "a", **fields})
    assert response.status_code == 400 and says in response.json()["error"]["message"], response.text


async def test_a_model_of_vectors_gives_no_answers(app: Any):
    for path in ("/v1/chat/completions", "/v1/messages/count_tokens"):
        fields = {**question(), "model": "vectors"}
        error = (await send(app, "POST", path, json=fields)).json()["error"]
        assert "'vectors' is an embedding model; it is served at /v1/embeddings" in error["message"]


async def test_dimensions_that_a_model_can_have(gpt: Server):
    """Go to the model's server, for this request alone."""
    app = openai_app({"vectors": OpenAIEmbeddings(model="text-embedding-3-small", base_url=gpt.url, api_key="a-key")})
    for fields in ({"dimensions": 256}, {}):
        await send(app, "POST", PATH, json={"model": "vectors", "input": "a", **fields})
    assert [request.json.get("dimensions") for request in gpt.requests] == [256, None]


async def test_tokens_are_counted(app: Any):
    fields = {"model": "m", "messages": [{"role": "user", "content": "How many are these?"}]}
    tools = [{"name": "add", "description": "Adds two numbers.", "input_schema": {"type": "object"}}]
    count = (await send(app, "POST", "/v1/messages/count_tokens", json=fields)).json()["input_tokens"]
    more = (await send(app, "POST", "/v1/messages/count_tokens", json={**fields, "tools": tools})).json()[
        "input_tokens"
    ]
    assert 0 < count < more
