"""Where a model's requests go, and with whose key: settled when it is made, from what is given and the environment."""

import json
import pickle
from typing import Any

import pytest

from hocket.errors import AuthenticationError, InvalidInput
from hocket.load import dumps, loads
from hocket.providers.openai import ChatOpenAI
from hocket.providers.openai.compatible import __all__ as COMPATIBLE_NAMES, azure, groq, vllm
from hocket.providers.openai.dialects import COMPATIBLE, DIALECTS, Dialect, dialect_at, named_dialect
from hocket.providers.openai.service import OpenAIService, build_url
from hocket.remote.endpoint import resolve_fields

PROXY = "https://llm.example.com/v1"


@pytest.mark.parametrize(
    ("given", "environ", "settings"),
    [
        ({}, {"OPENAI_API_KEY": "k"}, {"base_url": "https://api.openai.com/v1", "api_key": "k"}),
        ({"api_key": "own"}, {"OPENAI_API_KEY": "k"}, {"base_url": "https://api.openai.com/v1", "api_key": "own"}),
        ({}, {"OPENAI_BASE_URL": PROXY}, {"base_url": PROXY, "api_key": None}),
        ({}, {"OPENAI_BASE_URL": PROXY, "OPENAI_API_KEY": "k"}, {"base_url": PROXY, "api_key": "k"}),
        (
            {},
            {"OPENAI_BASE_URL": "https://api.groq.com/openai/v1", "OPENAI_API_KEY": "k", "GROQ_API_KEY": "g"},
            {"base_url": "https://api.groq.com/openai/v1", "api_key": "g"},
        ),
        ({"base_url": PROXY}, {"OPENAI_API_KEY": "k"}, {"base_url": PROXY, "api_key": None}),
        (
            {"base_url": f"{PROXY}/"},
            {"OPENAI_API_KEY": "k", "OPENAI_BASE_URL": PROXY},
            {"base_url": f"{PROXY}/", "api_key": "k"},
        ),
        (
            {"base_url": PROXY, "dialect": "openai", "api_key": "own"},
            {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o"},
            {"base_url": PROXY, "api_key": "own"},
        ),
        ({"dialect": "vllm", "base_url": "http://gpu:8000/v1"}, {"VLLM_API_KEY": "v"}, {"api_key": None}),
        ({"dialect": "vllm", "base_url": "http://127.0.0.1:9/v1"}, {"VLLM_API_KEY": "v"}, {"api_key": "v"}),
        (
            {},
            {"OPENAI_API_KEY": "k", "OPENAI_ORG_ID": "o", "OPENAI_PROJECT_ID": "p"},
            {"base_url": "https://api.openai.com/v1", "api_key": "k", "organization": "o", "project": "p"},
        ),
        ({"dialect": "groq"}, {"GROQ_API_KEY": "g", "OPENAI_ORG_ID": "o"}, {"api_key": "g"}),
        ({"dialect": "vllm"}, {"VLLM_BASE_URL": "http://gpu:8000/v1"}, {"base_url": "http://gpu:8000/v1"}),
        ({"dialect": "moonshot"}, {"MOONSHOTAI_API_KEY": "m"}, {"api_key": "m"}),
    ],
)
def test_settings(given: dict[str, Any], environ: dict[str, str], settings: dict[str, Any]) -> None:
    """What is given counts; a key from the environment goes only to the host that it belongs to."""
    made, missing_key = resolve_fields(given, environ, OpenAIService._choose_endpoint)
    assert missing_key is None
    assert {name: made.get(name) for name in settings} == settings
    assert {"organization", "project"} & made.keys() <= settings.keys()


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({}, "api.openai.com needs a key: set OPENAI_API_KEY"),
        ({"api_key": ""}, "OPENAI_API_KEY"),
        ({"dialect": "github"}, "GITHUB_API_KEY or GITHUB_TOKEN"),
        ({"base_url": "https://openrouter.ai/api/v1"}, "OPENROUTER_API_KEY"),
        ({"dialect": "azure"}, "base_url=..., or set AZURE_OPENAI_ENDPOINT"),
        ({"dialect": "nowhere"}, "no dialect is called 'nowhere'; there are: .*groq"),
        ({"dialect": Dialect(name="own")}, "'own' has no address"),
        ({"dialect": "openai", "base_url": PROXY}, f"{PROXY} is not known to belong to openai.*OPENAI_BASE_URL"),
        ({"base_url": "http://api.openai.com/v1"}, "not known to belong to openai"),
    ],
)
def test_what_is_missing_is_said_at_construction(given: dict[str, Any], said: str) -> None:
    """With the name of the variable that would help."""
    with pytest.raises((AuthenticationError, InvalidInput), match=said):
        ChatOpenAI(model="m", **given)


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://eu.api.openai.com/v1", "openai"),
        ("https://res.openai.azure.com", "azure"),
        ("https://api.deepseek.com", "deepseek"),
        ("https://api.deepseek.com.evil.example/v1", COMPATIBLE.name),
        ("http://localhost:8000/v1", COMPATIBLE.name),
    ],
)
def test_a_dialect_is_known_by_its_host(url: str, name: str) -> None:
    """Or is the one that expects nothing; a server on this machine may be anything."""
    assert dialect_at(url) is named_dialect(name)


@pytest.mark.parametrize(
    ("dialect", "url", "query", "expected"),
    [
        ("openai", "https://api.openai.com/v1", None, "https://api.openai.com/v1/chat"),
        ("openai", "https://api.openai.com/v1", {"a": "b c"}, "https://api.openai.com/v1/chat?a=b+c"),
        ("azure", "https://r.openai.azure.com", None, "https://r.openai.azure.com/openai/v1/chat"),
        (
            "azure",
            "https://r.openai.azure.com",
            {"api-version": "2024-10-21"},
            "https://r.openai.azure.com/openai/deployments/my%2Fgpt/chat?api-version=2024-10-21",
        ),
        ("azure", "https://r.openai.azure.com/openai/v1", None, "https://r.openai.azure.com/openai/v1/chat"),
    ],
)
def test_urls(dialect: str, url: str, query: dict[str, str] | None, expected: str) -> None:
    """A base URL without a path gets the dialect's; Azure's older API has the deployment in it."""
    assert build_url(DIALECTS[dialect], url, "chat", "my/gpt", query) == expected


def test_azure_reads_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """Endpoint, key and version; the key goes into a header of its own."""
    monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", "https://r.openai.azure.com/")
    monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
    request = azure(model="gpt").render("x")
    assert request.url == "https://r.openai.azure.com/openai/deployments/gpt/chat/completions?api-version=2024-10-21"
    assert request.headers["api-key"] == "**********" and "authorization" not in request.headers


def test_every_dialect_has_a_factory(monkeypatch: pytest.MonkeyPatch) -> None:
    """By its name, except OpenAI itself and the server of which nothing is known. Its other API has one, too."""
    named = set(COMPATIBLE_NAMES) - {"CompatibleProvider", "openai_responses"}
    assert named == DIALECTS.keys() - {"openai", COMPATIBLE.name}
    monkeypatch.delenv("GROQ_API_KEY", raising=False)
    assert groq.setup_needed() == "api.groq.com needs a key: set GROQ_API_KEY, or give api_key=..."
    assert vllm.setup_needed() is None and ChatOpenAI.setup_needed() is not None
    model = groq(model="llama", api_key="k", temperature=0)
    assert (model.base_url, model.model, model.temperature) == ("https://api.groq.com/openai/v1", "llama", 0)


def test_headers_say_who_asks() -> None:
    """Organisation and project; a server without a key gets no authorization."""
    model = ChatOpenAI(model="m", api_key="k-e-y", organization="o", project="p", default_headers={"X-Title": "t"})
    headers = model.render("x", extra_headers={"X-More": "m"}).headers
    told = {name: headers.get(name) for name in ("openai-organization", "openai-project", "x-title", "x-more")}
    assert list(told.values()) == ["o", "p", "t", "m"]
    assert "authorization" not in ChatOpenAI(model="m", base_url=PROXY).render("x").headers


def test_the_key_is_nowhere_to_be_read() -> None:
    """Not in the repr, in dumps, in what handlers are told, or in a rendered request; dumps name its variable."""
    model = ChatOpenAI(model="m", api_key="my-very-own-key", base_url="https://api.groq.com/openai/v1")
    shown = [repr(model), str(model), dumps(model), repr(model.render("x")), repr(model._serialize_for_handlers())]
    shown += [str(model.asdict()), str(model.model_dump()), model.model_dump_json()]
    assert not [text for text in shown if "my-very-own-key" in text]
    assert json.loads(dumps(model))["kwargs"]["api_key"]["id"] == ["GROQ_API_KEY"]


def test_a_model_travels() -> None:
    """Dumped and loaded, or pickled, it is the same; its cache key does not know its API key."""
    model = ChatOpenAI(model="m", api_key="k-e-y", temperature=0, dialect="groq")
    loaded = loads(dumps(model), secrets_map={"GROQ_API_KEY": "k-e-y"})
    assert loaded == model == pickle.loads(pickle.dumps(model))
    other = ChatOpenAI(model="m", api_key="another", temperature=0, dialect="groq")
    assert model._get_llm_string() == other._get_llm_string()
    assert (
        model._get_llm_string() != ChatOpenAI(model="m", api_key="k", temperature=1, dialect="groq")._get_llm_string()
    )


def test_langchains_names() -> None:
    """``model_name`` is taken and given; what tracers ask is told."""
    model = ChatOpenAI(model_name="m", api_key="k", temperature=0.5, max_tokens=9, dialect="deepseek")  # type: ignore[call-arg]
    assert (model.model, model.model_name, model._llm_type) == ("m", "m", "openai-chat")
    assert model._get_ls_params(stop=["a"]) == {
        "ls_provider": "deepseek",
        "ls_model_type": "chat",
        "ls_model_name": "m",
        "ls_temperature": 0.5,
        "ls_max_tokens": 9,
        "ls_stop": ["a"],
    }
    with pytest.raises(InvalidInput, match="give one of them"):
        ChatOpenAI(model="m", model_name="n", api_key="k")  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="temprature"):
        ChatOpenAI(model="m", temprature=0, api_key="k")  # type: ignore[call-arg]
