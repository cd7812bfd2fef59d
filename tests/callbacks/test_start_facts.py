"""What a start event tells tracers of a model: its name, whether it streams, where its server is."""

from typing import Any
from urllib.parse import urlsplit

import pytest

from hocket.callbacks.run_facts import describe_server
from hocket.callbacks.run_listeners import Listening
from hocket.language_models import FakeListChatModel, FakeListLLM, FakeStreamingListLLM
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.testing import OpenAIFormat, Vectors, serve
from tests.kit import Recorder, hook_model


@pytest.mark.parametrize(
    "model",
    [FakeListChatModel(responses=["hi"]), FakeListLLM(responses=["hi"]), hook_model()],
    ids=["chat", "text", "own"],
)
async def test_every_model_has_a_name(model: Any) -> None:
    """One without a name of its own goes by its kind."""
    recorder = Recorder("on_chat_model_start", "on_llm_start")
    await model.ainvoke("x", {"callbacks": [recorder]})
    assert recorder.events[0].details["metadata"]["ls_model_name"] == model._llm_type


@pytest.mark.parametrize(
    "model",
    [FakeListChatModel(responses=["hi"]), FakeStreamingListLLM(responses=["hi"])],
    ids=["chat", "text"],
)
async def test_it_tells_whether_the_model_streams(model: Any) -> None:
    """Not whether the caller does."""
    recorder = Recorder("on_chat_model_start", "on_llm_start")
    await model.ainvoke("x", {"callbacks": [recorder]})
    async for _ in model.astream("x", {"callbacks": [recorder]}):
        pass
    assert [event.details["stream"] for event in recorder.events] == [False, True]


async def test_a_model_that_cannot_stream_is_not_asked_to() -> None:
    """Its answer comes as one chunk."""
    recorder = Recorder("on_chat_model_start")
    model = hook_model()
    async for _ in model.astream("x", {"callbacks": [recorder]}):
        pass
    assert recorder.only("on_chat_model_start").details["stream"] is False


@pytest.mark.parametrize(
    ("url", "facts"),
    [
        (
            "https://user:secret@llm.example.com/v1?key=secret",
            {"server_address": "llm.example.com", "server_port": 443},
        ),
        ("http://127.0.0.1:1/v1", {"server_address": "127.0.0.1", "server_port": 1}),
        ("http://[::1]/v1", {"server_address": "::1", "server_port": 80}),
        ("http://[::1", {}),
        ("http://host:port/", {}),
        ("", {}),
        (None, {}),
    ],
)
def test_of_a_url_host_and_port_are_told(url: object, facts: dict[str, object]) -> None:
    """And nothing else: the rest may hold a secret."""
    assert describe_server(url) == facts


async def test_it_tells_where_the_server_is() -> None:
    """Of a chat model and of an embedding model."""
    recorder = Recorder("on_chat_model_start", "on_embeddings_start")
    async with serve(OpenAIFormat(), lambda request: Vectors() if "input" in request.json else "hi") as server:
        with Listening(recorder):
            await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke("x")
            await OpenAIEmbeddings(base_url=server.url, api_key="k").aembed_query("x")
    address = urlsplit(server.url)
    for event in recorder.events:
        assert (event.details["server_address"], event.details["server_port"]) == (address.hostname, address.port)


async def test_a_model_in_process_has_no_server() -> None:
    """Its start tells no address."""
    recorder = Recorder("on_chat_model_start")
    await FakeListChatModel(responses=["hi"]).ainvoke("x", {"callbacks": [recorder]})
    assert "server_address" not in recorder.only("on_chat_model_start").details
