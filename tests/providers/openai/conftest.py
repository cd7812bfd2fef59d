"""Exchanges recorded with the official SDK: what it sent, what it was answered, and what it made of that."""

from typing import Any

import pytest

from tests.kit.recordings import load_recordings, parametrize

RECORDINGS = load_recordings("openai_chat", "openai_compat")


def is_chat(case: dict[str, Any]) -> bool:
    return str(case["request"]["path"]).endswith("/chat/completions")


def is_answer(case: dict[str, Any]) -> bool:
    return is_chat(case) and "sdk_parsed" in case and bool(case["response"].get("body", {}).get("choices"))


KINDS = {
    "chat_request": is_chat,
    "chat_answer": is_answer,
    "chat_stream": lambda case: "sse" in case["response"],
    "whole_stream": lambda case: "sse" in case["response"] and "sdk_parsed" in case,
}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes one of `KINDS` with each recording of that kind."""
    parametrize(metafunc, RECORDINGS, KINDS)


@pytest.fixture
def recordings() -> dict[str, dict[str, Any]]:
    return RECORDINGS


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
