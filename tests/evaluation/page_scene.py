"""Two runs to look at: their cases, answers, scores, costs and failures are the same each time, and nothing is asked."""

import random
from pathlib import Path
from typing import Any

from hocket import AIMessage
from hocket.evaluation import Answer, Case, Score, evaluate

__all__ = ["HOSTILE", "make_runs", "run_answers"]

HOSTILE = """</svg></script><script>alert(1)</script><img src=x onerror="alert('2')"> '"><b>&lt; \x00\udc80\u202e"""


def helpful(answer: Answer, case: Case) -> Score:
    """Whether the customer is told where the order is."""
    is_right = str(case.expected) in answer.text
    return Score(is_right, "the order is named" if is_right else "the customer is sent away")


def brief(answer: Answer, case: Case) -> float:
    return max(0, 1 - len(answer.text) / 250)


def run_answers(path: Path, answers: list[Any], *, scorers: Any = (helpful,), **options: Any) -> Any:
    """Return the report of a run whose cases are answered so, or raise so; each is expected to have an "ok" in it."""
    cases = [Case(f"question {number}", "ok", f"case-{number}") for number in range(len(answers))]

    async def answer(question: str) -> object:
        said = answers[int(question.split()[1])]
        if isinstance(said, Exception):
            raise said
        return said

    return evaluate(answer, cases, scorers, path, version=str(path), **options)


def make_runs(folder: Path, cases: int = 120, baseline: bool = False) -> tuple[Path, Path]:
    """Return the paths of an old run of a shop's clerk, and of a new one that is worse; the baseline stops it early."""
    old, new = folder / "old.jsonl", folder / "new.jsonl"
    asked = [
        Case(f"Where is my order {number}, and may I send it back?", f"Order {number} is", f"order-{number:04}")
        for number in range(cases)
    ]
    for path, rate, seed in ((old, 0.86, 1), (new, 0.62, 2)):

        async def answer(question: str, rate: float = rate, seed: int = seed) -> AIMessage:
            number = int(question.split()[4].strip(","))
            chance = random.Random(number * 1_000 + (seed if number % 3 == 0 else 0))
            if number % 40 == 17:
                raise ValueError("no JSON in the answer")
            if chance.random() < rate:
                text = f"Order {number} is on its way. You may send it back within 30 days."
            else:
                text = "I cannot say. Please ask our support, who know more about it than I do."
            calls: Any = [{"name": "find_order", "args": {"number": number}, "id": "1"}]
            return AIMessage(text + " Thank you for asking." * chance.randrange(3), tool_calls=calls)

        options = {"baseline": old} if baseline and path is new else {}
        evaluate(answer, asked, [helpful, brief], path, version=path.name, **options)
    return old, new
