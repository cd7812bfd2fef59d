"""Under `no_network` a real request to a model says which model it was, and what to do."""

import httpx
import pytest

from hocket.errors import ModelRequestsBlocked
from hocket.messages import AIMessage
from hocket.providers.google import ChatGoogleGenerativeAI
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.retries import RetryPolicy
from hocket.testing import OpenAIFormat, ScriptedChatModel, no_network, serve


@pytest.mark.parametrize("host", ["api.example.org", "192.0.2.1", "[2001:db8::1]"])
@pytest.mark.parametrize("scheme", ["http", "https"])
async def test_it_names_model_host_and_ways_out(scheme: str, host: str) -> None:
    """Raised before a name is looked up; neither tried again nor a fallback's reason."""
    eager = RetryPolicy(max_attempts=5, first_pause=60, also=(Exception,))
    model = ChatOpenAI(model="gpt-5.2", base_url=f"{scheme}://{host}/v1", api_key="k", retry=eager)
    other = ScriptedChatModel(script=["no"])
    with no_network(), pytest.raises(ModelRequestsBlocked) as caught:
        await model.with_fallbacks([other]).ainvoke("Hi")
    text = str(caught.value)
    for word in ("'gpt-5.2'", host.strip("[]"), "ScriptedChatModel", "pytest.mark.cassette", "allow_network"):
        assert word in text
    with no_network(), pytest.raises(ModelRequestsBlocked):
        async for _ in model.astream("Hi"):
            pass
    assert other.requests == []


async def test_models_that_are_named_in_the_path() -> None:
    with pytest.raises(ModelRequestsBlocked, match=r"'gemini-9' at api\.example\.org"):
        await ChatGoogleGenerativeAI(model="gemini-9", base_url="http://api.example.org", api_key="k").ainvoke("Hi")
    with pytest.raises(ModelRequestsBlocked, match=r"'e-1' at api\.example\.org"):
        await OpenAIEmbeddings(model="e-1", base_url="http://api.example.org/v1", api_key="k").aembed_query("Hi")


def test_sync_verbs() -> None:
    model = ChatOpenAI(model="m", base_url="http://api.example.org/v1", api_key="k")
    with pytest.raises(ModelRequestsBlocked):
        model.invoke("Hi")
    with pytest.raises(ModelRequestsBlocked):
        list(model.stream("Hi"))


@pytest.mark.parametrize("host", ["api.example.org", "192.0.2.1"])
async def test_injected_clients_and_proxies(host: str) -> None:
    """Wherever they would have gone."""
    url = f"http://{host}/v1"
    async with httpx.AsyncClient(trust_env=False) as client:
        with pytest.raises(ModelRequestsBlocked, match="'m'"):
            await ChatOpenAI(model="m", base_url=url, api_key="k", http_client=client).ainvoke("Hi")
    with pytest.raises(ModelRequestsBlocked, match="'m'"):
        await ChatOpenAI(model="m", base_url=url, api_key="k", proxy="http://proxy.example.org:3128").ainvoke("Hi")


async def test_a_client_that_answers_by_itself_may() -> None:
    """A mock of the user's needs no network, whatever the address says."""
    reply = {"choices": [{"message": {"role": "assistant", "content": "Hello"}, "finish_reason": "stop"}]}
    mock = httpx.MockTransport(lambda request: httpx.Response(200, json=reply))
    async with httpx.AsyncClient(transport=mock) as client:
        model = ChatOpenAI(model="m", base_url="https://api.example.org/v1", api_key="k", http_client=client)
        said: AIMessage = await model.ainvoke("Hi")
        assert said.text == "Hello"


async def test_this_machine_may_be_asked() -> None:
    async with serve(OpenAIFormat(), "Hello") as server:
        with no_network():
            assert (await ChatOpenAI(model="m", base_url=server.url, api_key="k").ainvoke("Hi")).text == "Hello"
