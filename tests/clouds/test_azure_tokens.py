"""Tokens of Microsoft Entra: azure-identity asks played endpoints of managed identities, the only ones without TLS."""

import pickle
import sys
import time
from collections.abc import Callable, Mapping
from typing import Any

import anyio
import pytest

from hocket import init_chat_model
from hocket.clouds import azure_token
from hocket.errors import AuthenticationError
from hocket.testing import Body, OpenAIFormat, Reply, serve
from hocket.testing.server.wire import ReceivedRequest

pytestmark = pytest.mark.both_loops

PLACES: Mapping[str, Callable[[str], Mapping[str, str]]] = {
    "App Service": lambda url: {"IDENTITY_ENDPOINT": f"{url}/msi/token", "IDENTITY_HEADER": "hidden"},
    "a machine": lambda url: {"AZURE_POD_IDENTITY_AUTHORITY_HOST": url},
}


def play(request: ReceivedRequest) -> Any:
    """Azure, as far as tokens go, and a model."""
    if request.method == "POST":
        return Reply("Hello.")
    resource = request.query.partition("resource=")[2].partition("&")[0]
    ends = str(int(time.time()) + 3600)
    return Body({"access_token": f"for-{resource}", "expires_on": ends, "expires_in": "3600", "token_type": "Bearer"})


@pytest.mark.parametrize("place", PLACES)
async def test_a_managed_identity(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """One trip for all calls; a function that gives its tokens can be pickled with a model."""
    async with serve(OpenAIFormat(), play) as server:
        for name, value in PLACES[place](server.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        found: list[str] = []

        async def ask() -> None:
            found.append(await azure_token()())

        async with anyio.create_task_group() as tasks:
            for _ in range(3):
                tasks.start_soon(ask)
        count = len(server.requests)
        found.append(await pickle.loads(pickle.dumps(azure_token()))())
        [text] = {text.lower().replace("%3a", ":").replace("%2f", "/") for text in found}
        assert text == "for-https://cognitiveservices.azure.com" and len(found) == 4
        assert len(server.requests) == count
        await azure_token("https://ai.azure.com/.default")()
        assert len(server.requests) > count


async def test_azures_models_find_a_token_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    """At Azure's hosts, and at the address that the environment names; nowhere else. A token of the environment counts."""
    azure = init_chat_model("azure_entra:m", base_url="https://shop.openai.azure.com")
    assert callable(azure.api_key)  # type: ignore[attr-defined]
    assert azure.render("hi").headers["authorization"] == "Bearer **********"  # type: ignore[attr-defined]
    for url in ("http://shop.openai.azure.com", "https://openai.azure.com.example.org"):
        with pytest.raises(AuthenticationError, match="is not known to belong to azure_entra"):
            init_chat_model("azure_entra:m", base_url=url)
    async with serve(OpenAIFormat(), play) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.url)
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        for name, value in PLACES["App Service"](server.url).items():
            monkeypatch.setenv(name, value)
        assert (await init_chat_model("azure_entra:m").ainvoke("hi")).text == "Hello."
        assert server.requests[-1].headers["authorization"].startswith("Bearer for-https")
        monkeypatch.setenv("AZURE_OPENAI_AD_TOKEN", "own")
        await init_chat_model("azure_entra:m").ainvoke("hi")
        assert server.requests[-1].headers["authorization"] == "Bearer own"


ODD: Mapping[str, Callable[[ReceivedRequest], Any]] = {
    "a page": lambda request: Body("a page"),
    "no token": lambda request: Body({}),
    "refused": lambda request: Body({"error": {"code": "invalid", "message": "no identity here"}}, status=400),
}


@pytest.mark.parametrize("odd", ODD)
async def test_an_endpoint_that_answers_nonsense(odd: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Is an error with what azure-identity says of it, and is asked again by the next call."""
    is_odd = [True]
    async with serve(OpenAIFormat(), lambda request: (ODD[odd] if is_odd[0] else play)(request)) as server:
        for name, value in PLACES["App Service"](server.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        with pytest.raises(AuthenticationError, match="Azure gives no token") as caught:
            await azure_token()()
        assert "hidden" not in caught.value.message
        is_odd[0] = False
        assert await azure_token()()


async def test_nothing_is_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """The error says which link of the chain missed what; without the package, which extra brings it."""
    monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "EnvironmentCredential")
    with pytest.raises(AuthenticationError, match="EnvironmentCredential"):
        await azure_token()()
    monkeypatch.setitem(sys.modules, "azure.identity", None)
    with pytest.raises(AuthenticationError, match=r"hocket\[entra\]"):
        await azure_token()()


async def test_a_call_that_is_cancelled_ends_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Although azure-identity goes on, for the next one."""

    def slowly(request: ReceivedRequest) -> Any:
        return Body(play(request).content, delay=0.1)

    async with serve(OpenAIFormat(), slowly) as server:
        for name, value in PLACES["App Service"](server.url).items():
            monkeypatch.setenv(name, value)
        monkeypatch.setenv("AZURE_TOKEN_CREDENTIALS", "ManagedIdentityCredential")
        with anyio.move_on_after(0.02) as scope:
            await azure_token()()
        assert scope.cancelled_caught
        assert await azure_token()()
        assert len(server.requests) == 1
