"""An embedding model by its name."""

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
    assert list_embedding_providers() == ["cohere", "google", "google_vertexai", "local", "mistral", "ollama", "openai"]


def test_a_name_is_a_text() -> None:
    with pytest.raises(InvalidInput, match="not int"):
        init_embeddings(3)  # type: ignore[arg-type]
