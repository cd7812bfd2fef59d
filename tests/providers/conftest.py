"""What the tests of every provider share."""

import os

import pytest

PREFIXES = ("ANTHROPIC_", "CO_", "COHERE_", "GEMINI_", "GOOGLE_", "MISTRAL_", "OLLAMA_", "OPENAI_")


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in [name for name in os.environ if name.startswith(PREFIXES)]:
        monkeypatch.delenv(name)
