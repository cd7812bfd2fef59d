"""Exchanges with the Responses API, recorded with the official SDK."""

from tests.kit.recordings import Recording, load_recordings, parametrize_by


def is_request(case: Recording) -> bool:
    """Whether an answer is asked for; another endpoint of the API condenses conversations."""
    return str(case["request"]["path"]).endswith("/responses")


def is_answer(case: Recording) -> bool:
    return is_request(case) and case["response"].get("body", {}).get("status") in ("completed", "incomplete")


pytest_generate_tests = parametrize_by(
    load_recordings("openai_responses"), chat_request=is_request, chat_answer=is_answer
)
