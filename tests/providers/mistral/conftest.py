"""Exchanges recorded with Mistral's official SDK."""

from tests.kit.recordings import load_recordings, parametrize_by

pytest_generate_tests = parametrize_by(
    load_recordings("mistral"),
    chat_request=lambda case: case["request"]["path"].endswith("/chat/completions"),
    chat_answer=lambda case: "choices" in case["response"].get("body", {}) and "sdk_parsed" in case,
)
