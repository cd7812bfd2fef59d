"""Targets and scorers that the command line names."""

import json

from hocket import AIMessage
from hocket.documents import Document
from hocket.errors import ProviderUnavailable
from hocket.evaluation import Answer, Case, Score

__all__ = ["broken", "failing", "is_right", "long", "recall", "shout", "unsure", "weak"]


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


async def failing(question: str) -> str:
    raise ValueError(question)


async def recall(question: str) -> AIMessage | dict[str, object] | list[Document] | str:
    """Answer what a scorer is about: with a call, a citation, documents, fields or a text; wrongly to a "no"."""
    what, _, word = question.partition(" ")
    if what == "called":
        return AIMessage("", tool_calls=[{"name": "find", "args": {"word": word}, "id": "1", "type": "tool_call"}])
    if what == "cites":
        return {"answer": "It is so.", "citations": ["a.txt"] if word == "yes" else []}
    if what == "mrr":
        return [Document("", id=word)]
    return json.dumps({"word": word}) if what == "fields" else f"{what} {word}"


long = "no function"
