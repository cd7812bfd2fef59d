"""Exchanges recorded with Ollama's own SDK."""

from tests.kit.recordings import Recording, load_recordings, parametrize_by


def is_chat(case: Recording) -> bool:
    return bool(case["request"]["path"] == "/api/chat")


pytest_generate_tests = parametrize_by(
    load_recordings("ollama"),
    chat_request=is_chat,
    chat_answer=lambda case: is_chat(case) and "message" in case["response"].get("body", {}),
)
