"""Where LangChain's names are in hocket: rooms by module, and the names that another place, or another name, holds.

Most names need no line here: a module's names are looked for in hocket's room of the same name (`hocket.migration.table`).
The single names stand in ``names.toml``. What has no place stands in `hocket.migration.answers`.
"""

import functools
import tomllib
from collections.abc import Mapping
from pathlib import Path

from pydantic import TypeAdapter
from typing_extensions import TypedDict

__all__ = ["MODULES", "ROOMS", "Names", "read_names"]

_SCHEMA = ("messages", "documents", "prompts", "prompt_values", "output_parsers", "outputs", "agents", "runnables")
_AGENTS = ("agents", "classic.agents", "tools", "retrievers")
_MODELS = ("language_models", "providers.openai", "providers.anthropic", "providers.ollama", "providers.cohere")

ROOMS: Mapping[str, tuple[str, ...]] = {
    # langchain_core: the room of the same name is looked at first, and need not be said.
    "langchain_core.document_loaders": ("documents",),
    "langchain_core.documents": ("document_loaders",),
    "langchain_core.example_selectors": ("prompts",),
    "langchain_core.exceptions": ("errors",),
    "langchain_core.language_models": ("tokens",),
    "langchain_core.stores": ("stores",),
    "langchain_core.tools": ("retrievers",),
    "langchain_core.tracers": ("callbacks", "runnables"),
    "langchain_core.utils.function_calling": ("tools", "messages"),
    "langchain_core.utils.json": ("output_parsers",),
    # The rest of the family: the same room of langchain_classic, and of langchain.
    "langchain.agents": _AGENTS,
    "langchain.cache": ("caches",),
    "langchain.callbacks": ("tracers",),
    "langchain.chains": ("prompts", "runnables", "language_models"),
    "langchain.chat_models": _MODELS,
    "langchain.docstore.document": ("documents",),
    "langchain.embeddings": ("providers.openai", "providers.ollama", "providers.cohere"),
    "langchain.hub": (),
    "langchain.llms": _MODELS,
    "langchain.memory": ("chat_history",),
    "langchain.messages": ("messages",),
    "langchain.prompts": ("prompts",),
    "langchain.retrievers": ("documents",),
    "langchain.schema": _SCHEMA,
    "langchain.schema.runnable": ("runnables",),
    "langchain.storage": ("stores",),
    "langchain.text_splitter": ("text_splitters",),
    "langchain.tools": ("agents", "retrievers"),
    "langchain": ("chains", "classic.chains", "prompts", "globals", "classic.agents", *_MODELS),
    "langchain_community.callbacks": ("callbacks",),
    "langchain_community.cache": ("caches",),
    "langchain_community.chat_message_histories": ("chat_history",),
    "langchain_community.chat_models": _MODELS,
    "langchain_community.document_loaders": ("document_loaders",),
    "langchain_community.embeddings": ("embeddings", "providers.openai", "providers.ollama", "providers.cohere"),
    "langchain_community.llms": _MODELS,
    "langchain_community.tools": ("tools",),
    "langchain_community.vectorstores": ("vectorstores",),
    "langchain_text_splitters": ("text_splitters",),
    "langchain_anthropic": ("providers.anthropic",),
    "langchain_aws": ("providers.bedrock", "providers.anthropic"),
    "langchain_cohere": ("providers.cohere",),
    "langchain_google_genai": ("providers.google",),
    "langchain_google_vertexai": ("providers.google", "providers.anthropic"),
    "langchain_mistralai": ("providers.mistral",),
    "langchain_ollama": ("providers.ollama",),
    "langchain_openai": ("providers.openai",),
}
"""LangChain's module, and those below it → the rooms of hocket that are looked at for its names, in this order."""

MODULES: Mapping[str, str] = {
    "langchain.schema": "hocket.messages",
    "langchain.text_splitter": "hocket.text_splitters",
    "langchain_text_splitters": "hocket.text_splitters",
    "langchain_anthropic": "hocket.providers.anthropic",
    "langchain_cohere": "hocket.providers.cohere",
    "langchain_google_genai": "hocket.providers.google",
    "langchain_mistralai": "hocket.providers.mistral",
    "langchain_ollama": "hocket.providers.ollama",
    "langchain_openai": "hocket.providers.openai",
}
"""Modules that stand for a room of another name."""


class Names(TypedDict):
    """The names that have a line of their own.

    Attributes:
        places: LangChain's module and name → hocket's place, where the rooms do not have it under its own name.
        places_of_files: the same for programs that name a ``persist_directory``.
        notes: hocket's place → what to look at in a program where a name of another package than langchain_core has moved
            there.
    """

    places: Mapping[str, str]
    places_of_files: Mapping[str, str]
    notes: Mapping[str, str]


_FILE = TypeAdapter(Names)


@functools.cache
def read_names() -> Names:
    """Return what ``names.toml`` says."""
    return _FILE.validate_python(tomllib.loads(Path(__file__).with_name("names.toml").read_text("utf-8")))
