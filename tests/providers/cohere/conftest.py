"""Exchanges recorded with Cohere's official SDK."""

from tests.kit.recordings import load_recordings, parametrize_by

pytest_generate_tests = parametrize_by(
    load_recordings("cohere_v2"),
    chat_request=lambda case: case["request"]["path"] == "/v2/chat",
    chat_answer=lambda case: "finish_reason" in case["response"].get("body", {}),
)
