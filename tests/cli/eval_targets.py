"""Targets and scorers that the command line names."""

from hocket.errors import ProviderUnavailable
from hocket.evaluation import Answer, Case, Score

__all__ = ["broken", "is_right", "long", "shout", "unsure", "weak"]


def is_right(answer: Answer, case: Case) -> bool:
    return answer.text == case.expected


def unsure(answer: Answer, case: Case) -> Score:
    raise ValueError("no idea")


async def shout(question: str) -> str:
    return question.upper()


async def weak(question: str) -> str:
    return question.upper() if question.endswith(("7", "8", "9")) else question


async def broken(question: str) -> str:
    if question.endswith("3"):
        raise ProviderUnavailable("busy")
    return question.upper()


long = "no function"
