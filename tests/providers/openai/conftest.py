"""Exchanges recorded with the official SDK: what it sent, what it was answered, and what it made of that."""

from tests.kit.recordings import Recording, load_recordings, parametrize_by


def is_chat(case: Recording) -> bool:
    return str(case["request"]["path"]).endswith("/chat/completions")


def is_answer(case: Recording) -> bool:
    return is_chat(case) and "sdk_parsed" in case and bool(case["response"].get("body", {}).get("choices"))


pytest_generate_tests = parametrize_by(
    load_recordings("openai_chat", "openai_compat"),
    chat_request=is_chat,
    chat_answer=is_answer,
    whole_stream=lambda case: "sse" in case["response"] and "sdk_parsed" in case,
)
