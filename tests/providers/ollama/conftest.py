"""Exchanges recorded with Ollama's own SDK, and an environment without a server's address."""

import pytest

from tests.kit.recordings import Recording, load_recordings, parametrize

RECORDINGS = load_recordings("ollama")

KINDS = {
    "chat_request": lambda case: case["request"]["path"] == "/api/chat",
    "chat_answer": lambda case: (
        case["request"]["path"] == "/api/chat" and "message" in case["response"].get("body", {})
    ),
    "refusal": lambda case: case["response"].get("status", 200) >= 400,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes one of `KINDS` with each recording of that kind."""
    parametrize(metafunc, RECORDINGS, KINDS)


@pytest.fixture
def recordings() -> dict[str, Recording]:
    return RECORDINGS


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("OLLAMA_HOST", "OLLAMA_API_KEY"):
        monkeypatch.delenv(name, raising=False)
