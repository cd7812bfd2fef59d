"""Exchanges with the Responses API, recorded with the official SDK."""

import pytest

from tests.kit.recordings import Recording, load_recordings, parametrize

RECORDINGS = load_recordings("openai_responses")


def is_request(case: Recording) -> bool:
    """Whether an answer is asked for; another endpoint of the API condenses conversations."""
    return str(case["request"]["path"]).endswith("/responses")


KINDS = {
    "sent": is_request,
    "answer": lambda case: (
        is_request(case) and case["response"].get("body", {}).get("status") in ("completed", "incomplete")
    ),
    "stream": lambda case: "sse" in case["response"],
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
    for name in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
