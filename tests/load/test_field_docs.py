"""What ``?`` and Shift-Tab show of a model: each field with its type, its default and its meaning."""

import importlib
import inspect
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

import hocket.providers
from hocket import ChatOpenAI, FakeListChatModel
from hocket.language_models import BaseLanguageModel
from hocket.load.field_docs import describe_fields
from hocket.providers.openai import OpenAIEmbeddings
from hocket.remote import RemoteEmbeddings


def list_subclasses(cls: type) -> Iterator[type]:
    for sub in cls.__subclasses__():
        if sub.__module__.startswith("hocket."):
            yield sub
        yield from list_subclasses(sub)


def test_every_field_of_every_model_has_a_meaning():
    """Those that it inherits, too."""
    for module in pkgutil.walk_packages(hocket.providers.__path__, "hocket.providers."):
        importlib.import_module(module.name)
    classes: list[Any] = [*list_subclasses(BaseLanguageModel), *list_subclasses(RemoteEmbeddings)]
    assert len(classes) > 20
    without = {
        cls.__name__: missing
        for cls in classes
        if (missing := [name for name in cls.model_fields if name not in describe_fields(cls)])
        and cls.__name__ != "ChatCalls"  # a part of BaseChatModel, which tells its field
    }
    assert without == {}


@pytest.mark.parametrize("cls", [ChatOpenAI, FakeListChatModel, OpenAIEmbeddings])
def test_a_docstring_has_the_fields_of_the_bases(cls: type[Any]):
    """After its own words; once each, and several that mean the same in one line."""
    shown = inspect.getdoc(cls) or ""
    assert shown.count("Args of its bases:") == 1
    told = describe_fields(cls)
    for name in cls.model_fields:
        assert told[name].splitlines()[0] in shown
    assert shown.count("    timeout: ") == 1
    if cls is not OpenAIEmbeddings:
        assert "\n    tags, metadata: for this model's runs.\n" in shown
    assert cls.__doc__ == shown


def test_a_class_of_ones_own():
    """Its fields come first; without a docstring it has that of its base, as ever."""

    class Mine(FakeListChatModel):
        """A model of mine.

        Args:
            mood: of its answers,
                or none.
            sleep: it never does.
        """

        mood: str | None = None

    class Bare(FakeListChatModel):
        mood: str

    shown = inspect.getdoc(Mine) or ""
    assert shown.startswith("A model of mine.\n\nArgs:\n    mood: of its answers,\n        or none.\n    sleep: it")
    assert "    responses: the answers.\n" in shown and shown.count("sleep: ") == 1
    assert describe_fields(Mine)["mood"] == "of its answers,\n        or none."
    assert Bare.__doc__ is None and (inspect.getdoc(Bare) or "").startswith("A chat model that answers with texts")
    assert Mine(responses=[]).__doc__ == Mine.__doc__


@pytest.mark.skipif(
    not hasattr(BaseModel, "__pydantic_on_complete__"),
    reason="pydantic before 2.12 puts its own signature into a class that it has built, and tells nobody",
)
@pytest.mark.parametrize("is_built", [False, True])
def test_a_signature_is_as_a_caller_reads_it(is_built: bool):
    """What is required first, what most people give, the fields of the class, those of its bases; types as written."""

    class Mine(ChatOpenAI):
        tone: str = "kind"
        colour: str

    if is_built:
        Mine(model="m", colour="red", api_key="k")
    signature = inspect.signature(Mine)
    names = list(signature.parameters)
    assert names[:7] == ["colour", "model", "temperature", "max_tokens", "reasoning_effort", "stop", "timeout"]
    assert names.index("api_key") < names.index("tone") < names.index("use_responses_api") < names.index("name")
    assert "Annotated" not in str(signature)
    assert "temperature: float | None = None" in str(signature) and "stop: list[str] | None" in str(signature)
    assert inspect.signature(Mine) == signature
