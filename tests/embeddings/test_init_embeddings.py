"""An embedding model by its name."""

import subprocess
import sys
from pathlib import Path

import pytest

from hocket.embeddings import init_embeddings
from hocket.embeddings.registry import list_embedding_providers
from hocket.errors import InvalidInput, UnknownModel
from hocket.providers.local import LocalEmbeddings
from hocket.providers.mistral import MistralAIEmbeddings
from hocket.providers.openai import OpenAIEmbeddings


def test_a_name_is_provider_and_model() -> None:
    model = init_embeddings("openai:text-embedding-3-large", api_key="k", dimensions=256)
    assert isinstance(model, OpenAIEmbeddings)
    assert (model.model, model.dimensions) == ("text-embedding-3-large", 256)


def test_a_provider_alone_has_a_default() -> None:
    assert isinstance(init_embeddings("local"), LocalEmbeddings)
    assert isinstance(init_embeddings("mistralai", api_key="k"), MistralAIEmbeddings)


def test_the_provider_may_stand_apart() -> None:
    """For names of models with a colon, and LangChain's programs."""
    model = init_embeddings("text-embedding-3-small", provider="openai", api_key="k")
    assert isinstance(model, OpenAIEmbeddings)
    assert model.model == "text-embedding-3-small"


def test_an_unknown_provider_names_the_known() -> None:
    with pytest.raises(UnknownModel, match="'opnai'; did you mean 'openai'"):
        init_embeddings("opnai:x")
    known = ["bedrock", "cohere", "google", "google_vertexai", "local", "mistral", "ollama", "openai"]
    assert list_embedding_providers() == known


def test_a_name_is_a_text() -> None:
    with pytest.raises(InvalidInput, match="not int"):
        init_embeddings(3)  # type: ignore[arg-type]


def test_another_package_announces_its_embeddings(tmp_path: Path) -> None:
    """By entry point, whose name may have a hyphen, as among chat models. It cannot take hocket's names."""
    package = tmp_path / "pack-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.0\n")
    (package / "entry_points.txt").write_text("[hocket.embeddings]\nacme-corp=acme:make\nopenai=acme:make\n")
    (tmp_path / "acme.py").write_text("def make(model):\n    return f'acme has {model}'\n")
    program = (
        "from hocket.embeddings import init_embeddings\n"
        "print(init_embeddings('acme-corp:x'), init_embeddings('acme_corp:y'))\n"
        "print(type(init_embeddings('openai:z', api_key='k')).__name__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["acme has x acme has y", "OpenAIEmbeddings"]
