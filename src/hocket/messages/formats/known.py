"""The formats that hocket knows. A new provider's format is a module beside this one, and a line in each list here."""

from collections.abc import Mapping
from typing import Final, Literal

import hocket.messages.formats.anthropic as anthropic
import hocket.messages.formats.cohere as cohere
import hocket.messages.formats.converse as converse
import hocket.messages.formats.google as google
import hocket.messages.formats.langchain_v0 as langchain_v0
import hocket.messages.formats.mistral as mistral
import hocket.messages.formats.ollama as ollama
import hocket.messages.formats.openai_chat as openai_chat
import hocket.messages.formats.openai_responses as openai_responses
from hocket.messages.formats.format import ProviderFormat, Write

__all__ = ["FORMATS", "WRITES", "ContentFormat"]

FORMATS: Final[tuple[ProviderFormat, ...]] = (
    langchain_v0.FORMAT,
    openai_chat.FORMAT,
    openai_responses.FORMAT,
    mistral.FORMAT,
    cohere.FORMAT,
    anthropic.FORMAT,
    google.FORMAT,
    ollama.FORMAT,
    converse.FORMAT,
)
"""In the order in which their readers are tried: formats share names, such as ``text``, ``image`` and ``document``."""

ContentFormat = Literal[
    "anthropic",
    "cohere",
    "converse",
    "google",
    "mistral",
    "ollama",
    "openai_chat",
    "openai_responses",
    "openai_responses_input",
]
"""The names of the formats that can be written."""

WRITES: Final[Mapping[str, Write]] = {name: write for known in FORMATS for name, write in known.writes.items()}
"""For each format that can be written, what writes it."""
