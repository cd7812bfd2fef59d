"""Exchanges recorded with the official SDK: what it sent, what it was answered, and what it made of that."""

import json
from pathlib import Path
from typing import Any

import pytest

RECORDINGS = {
    f"{folder}/{path.stem}": json.loads(path.read_text())
    for folder in ("openai_chat", "openai_compat")
    for path in sorted((Path(__file__).parents[2] / "fixtures" / folder).glob("*.json"))
}


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
    for kind, belongs in KINDS.items():
        if kind in metafunc.fixturenames:
            cases = {name: case for name, case in RECORDINGS.items() if belongs(case)}
            metafunc.parametrize(kind, cases.values(), ids=cases.keys())


@pytest.fixture
def recordings() -> dict[str, dict[str, Any]]:
    return RECORDINGS


@pytest.fixture(autouse=True)
def bare_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No key and no address of the machine that the tests run on."""
    for name in ("API_KEY", "BASE_URL", "ORG_ID", "PROJECT_ID"):
        monkeypatch.delenv(f"OPENAI_{name}", raising=False)
