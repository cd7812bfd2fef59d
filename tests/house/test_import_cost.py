"""What an import loads: what every program needs, and nothing else (what it costs: `benchmarks`, the case "import")."""

import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hocket.providers
from hocket.language_models import BaseChatModel, BaseLanguageModel
from hocket.messages import AIMessage

LATER = {
    *("asyncio", "trio", "anyio.from_thread", "concurrent.futures", "difflib", "httpx", "tenacity"),
    *("hocket.http", "hocket.language_models.llms", "hocket.language_models.simple", "hocket.message_toolkit"),
    *("hocket.messages.formats", "hocket.messages.formats.view"),
    *("hocket.runnables.proxy", "hocket._schemas", "hocket.tokens", "hocket.tools"),
}
"""What is loaded when it is first used."""

PROVIDERS = sorted(path.parent.name for path in Path(hocket.providers.__path__[0]).glob("*/__init__.py"))


def test_the_models_load_nothing_that_most_programs_do_not_need() -> None:
    """Neither HTTP nor retries nor an event loop, nor the other family of models.

    What anyio loads is its own affair: before 4.15 its threads, too.
    """
    code = f"""
import sys, anyio, anyio.lowlevel
before = set(sys.modules)
import hocket.language_models
print(*sorted({LATER!r} & set(sys.modules) - before))
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_no_validator_is_built_for_an_import() -> None:
    """pydantic builds each when it is first needed; the very first one costs as much as a tenth of the import."""
    code = """
import hocket.language_models, pydantic

def built(cls):
    for sub in cls.__subclasses__():
        if sub.__pydantic_complete__ and sub.__module__.startswith("hocket"):
            print(sub.__qualname__)
        built(sub)

built(pydantic.BaseModel)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == []


def test_a_model_class_with_its_type_of_answer_is_the_class_itself() -> None:
    """pydantic would make a class of each, with all of its fields."""
    parametrised: Any = BaseLanguageModel[AIMessage]
    assert parametrised is BaseLanguageModel
    assert issubclass(BaseChatModel, parametrised)


@pytest.fixture(scope="module")
def loaded() -> dict[str, list[str]]:
    """What the chat model of each provider loads, in an interpreter of its own that has what they share already."""
    code = f"""
import os, sys
import hocket.language_models, hocket.remote.chat_model

def make(provider):
    __import__(f"hocket.providers.{{provider}}")
    room = sys.modules[f"hocket.providers.{{provider}}"]
    kind = getattr(room, next(name for name in room.__all__ if name.startswith("Chat")))
    given = {{"api_key": "k", "region_name": "eu-west-1"}}
    kind(model="m", **{{name: given[name] for name in given if name in kind.model_fields}})
    rooms = {{name.split(".")[2] for name in sys.modules if name.startswith("hocket.providers.")}}
    clouds = ("hocket.clouds", "hocket.remote.aws_service", "hocket.remote.google_cloud_service")
    libraries = ("botocore", "boto3", "google.", "azure")
    print(provider, *sorted(rooms), *(any(name.startswith(own) for name in sys.modules) for own in (clouds, libraries)))

for provider in {PROVIDERS!r}:
    if child := os.fork():
        assert os.waitpid(child, 0)[1] == 0, provider
    else:
        make(provider)
        break
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return {words[0]: words[1:] for words in map(str.split, done.stdout.splitlines())}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_a_provider_loads_no_other(provider: str, loaded: dict[str, list[str]]) -> None:
    """Making a provider's chat model loads nothing of another provider's folder, nor of a cloud that it does not ask.

    No cloud's own library is loaded by any.
    """
    assert loaded[provider] == [provider, str(provider == "bedrock"), "False"]


def test_the_table_of_providers_makes_no_model_that_has_nobody_to_ask() -> None:
    """`hocket models`: the fake ones, the embedded one, and those without a key.

    For Vertex AI's google-auth may find a key, where it is installed: these are asked.
    """
    code = """
import contextlib, io, os, sys, pydantic
from hocket.cli import main

os.environ = {"HOME": "/nowhere"}
with contextlib.redirect_stdout(io.StringIO()) as table:
    assert main(["models"]) == 0
assert {"fake", "ollama", "vllm"} <= set(table.getvalue().split())

def built(cls):
    for sub in cls.__subclasses__():
        if sub.__pydantic_complete__ and sub.__name__.startswith(("Chat", "Fake")):
            print(sub.__name__)
        built(sub)

built(pydantic.BaseModel)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    may_be_asked = {
        "ChatVertexAI",
        "ChatAnthropicVertex",
        "FakeEmbeddings",
    }  # the last one comes with the room of the first
    assert set(done.stdout.split()) - may_be_asked == {"ChatOllama", "ChatOpenAI"}
