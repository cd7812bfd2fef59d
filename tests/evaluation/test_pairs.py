"""Two runs compared by a judge that sees both answers: which preferences count, and what is asked twice."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket import ScriptedChatModel
from hocket.batch import read_batch
from hocket.errors import BudgetExceeded, InvalidInput, InvalidReply, ProviderUnavailable
from hocket.evaluation import (
    Answer,
    Case,
    PairJudge,
    Preference,
    acompare_pairs,
    aevaluate,
    compare_pairs,
    evaluate,
    matches,
    prefer,
    read_report,
)

Make = Callable[..., Awaitable[Path]]


@pytest.fixture
def make(tmp_path: Path) -> Make:
    """Writes a run of so many cases, each answered by a function of its number."""
    made = 0

    async def make(answer: Callable[[int], str], count: int = 60, **options: Any) -> Path:
        nonlocal made
        made += 1
        path = tmp_path / f"{made}.jsonl"
        cases = [Case(number, id=f"c{number}") for number in range(count)]
        await aevaluate(answer, cases, [matches("")], path, version=str(made), **options)
        return path

    return make


class Longer:
    """Prefers the longer answer; of two of one length, the one that is shown first. Counts what it is asked."""

    def __init__(self, position: str = "first") -> None:
        self.position = position
        self.asked: list[str] = []
        self.failures: dict[str, Exception] = {}

    async def __call__(self, case: Case, first: Answer, second: Answer) -> Any:
        self.asked.append(case.id)
        if case.id in self.failures:
            raise self.failures[case.id]
        if len(first.text) == len(second.text):
            return Preference(self.position)  # type: ignore[arg-type]
        return Preference("first" if len(first.text) > len(second.text) else "second", "longer")


@pytest.mark.both_loops
async def test_only_a_preference_that_survives_the_swap_counts(make: Make, tmp_path: Path) -> None:
    """40 of 60 cases prefer the new answer, 5 the old one; what stands first in the others is a guess."""
    old, new = await make(lambda n: "xx"), await make(lambda n: "xxx" if n < 40 else "x" if n < 45 else "yy")
    judge = Longer()
    comparison = await acompare_pairs(old, new, PairJudge("longer", judge), tmp_path / "pairs.jsonl")
    verdict = comparison["longer"]
    assert (verdict.verdict, verdict.cases, len(judge.asked)) == ("better", 60, 120)
    assert verdict.difference == pytest.approx(35 / 60) and verdict.old + verdict.new == pytest.approx(1)
    assert comparison.gained == sorted(f"c{n}" for n in range(40))
    assert comparison.lost == sorted(f"c{n}" for n in range(40, 45))
    assert comparison.swap_agreement == pytest.approx(45 / 60)
    assert "75% of its preferences survive" in str(comparison) and "guesses" in str(comparison)
    report = await anyio.to_thread.run_sync(read_report, new)
    again = await acompare_pairs(old, report, PairJudge("longer", judge), tmp_path / "pairs.jsonl")
    assert again == comparison
    assert len(judge.asked) == 120
    await acompare_pairs(old, new, PairJudge("longer", judge, "2"), tmp_path / "pairs.jsonl")
    assert len(judge.asked) == 240


async def test_no_preference_at_all(make: Make, tmp_path: Path) -> None:
    """It is no change, whether a judge says "neither" or guesses; only the latter is called a guess."""
    old, new = await make(lambda n: "x", 400), await make(lambda n: "y", 400)
    silent = await acompare_pairs(old, new, PairJudge("p", Longer("neither")), tmp_path / "a.jsonl")
    guesses = await acompare_pairs(old, new, PairJudge("p", Longer("second")), tmp_path / "b.jsonl")
    assert (silent.verdict, silent.swap_agreement) == ("same", None)
    assert (guesses.verdict, guesses.swap_agreement) == ("same", 0)


async def test_failures(make: Make, tmp_path: Path) -> None:
    """An answer that has failed loses unseen; one that is missing is no pair; a judge that fails is asked again."""
    broken: list[Any] = [InvalidReply("no JSON"), ProviderUnavailable("down")]

    def answer(number: int) -> str:
        if number < 2:
            raise broken[number]
        return "xx"

    old, new = await make(lambda n: "x", 5), await make(answer, 5)
    judge, out = Longer(), tmp_path / "pairs.jsonl"
    judge.failures = {"c3": ProviderUnavailable("down")}
    comparison = await acompare_pairs(old, new, PairJudge("p", judge), out)
    assert (comparison.lost, comparison.gained) == (["c0"], ["c2", "c4"])
    assert (comparison.unpaired, comparison.unscored) == (["c1"], ["c3"])
    assert "1 without a preference" in str(comparison)
    judge.failures = {}
    comparison = await acompare_pairs(old, new, PairJudge("p", judge), out)
    assert comparison.gained == ["c2", "c3", "c4"] and not comparison.unscored
    assert sorted(judge.asked) == sorted(["c2", "c3", "c4"] * 2 + ["c3"] * 2)


async def test_repeats(make: Make, tmp_path: Path) -> None:
    """Run by run; those that only one side has are left out, and a case is the mean of its runs."""
    seen: list[int] = []

    def answer(number: int) -> str:
        seen.append(number)
        return "x" * (1 + seen.count(number))

    old, new = await make(lambda n: "xx", 1, repeats=3), await make(answer, 1, repeats=2, max_concurrency=1)
    comparison = await acompare_pairs(old, new, PairJudge("p", Longer("neither")), tmp_path / "pairs.jsonl")
    assert comparison["p"].new == pytest.approx(0.75) and comparison["p"].cases == 1


async def test_an_answer_that_has_changed_is_shown_again(make: Make, tmp_path: Path) -> None:
    old, new, other = (
        await make(lambda n: "x", 3),
        await make(lambda n: "xx", 3),
        await make(lambda n: "xx" if n else "", 3),
    )
    judge, out = Longer(), tmp_path / "pairs.jsonl"
    await acompare_pairs(old, new, PairJudge("p", judge), out)
    comparison = await acompare_pairs(old, other, PairJudge("p", judge), out)
    assert comparison.lost == ["c0"] and {row.output["better"] for row in read_batch(out)} == {"old", "new"}  # type: ignore[index, call-overload]


async def test_prefer(make: Make, tmp_path: Path) -> None:
    """Its two answers are quoted, in both orders; each order is one request."""
    old, new = await make(lambda n: "old", 1), await make(lambda n: "new", 1)
    script = ScriptedChatModel(script=[f'{{"reason": "r", "better": "{one}"}}' for one in ("second", "first")])
    comparison = await acompare_pairs(
        old, new, prefer(script, "The newer one."), tmp_path / "p.jsonl", max_concurrency=1
    )
    assert comparison.gained == ["c0"] and comparison.swap_agreement == 1
    assert [_find_first(request.messages[1].text) for request in script.requests] == ["old", "new"]
    assert "The newer one." in script.requests[0].messages[0].text


def _find_first(shown: str) -> str:
    return shown.partition("<first answer ")[2].splitlines()[1]


async def test_a_budget_that_is_used_up(make: Make, tmp_path: Path) -> None:
    """Nothing is concluded from half of the pairs; the next call goes on."""
    old, new, out = await make(lambda n: "x", 4), await make(lambda n: "xx", 4), tmp_path / "pairs.jsonl"
    judge = Longer()
    asked = judge.__call__

    async def choose(case: Case, first: Answer, second: Answer) -> Any:
        if len(judge.asked) == 3:
            judge.asked.append("stop")
            raise BudgetExceeded("used up")
        return await asked(case, first, second)

    with pytest.raises(BudgetExceeded):
        await acompare_pairs(old, new, PairJudge("p", choose), out, max_concurrency=1)
    comparison = await acompare_pairs(old, new, PairJudge("p", choose), out, max_concurrency=1)
    assert comparison["p"].cases == 4 and len(judge.asked) == 9


async def test_arguments_of_no_use(make: Make, tmp_path: Path) -> None:
    old, out = await make(lambda n: "x", 3), tmp_path / "pairs.jsonl"
    with pytest.raises(InvalidInput, match="judge is"):
        await acompare_pairs(old, old, Longer(), out)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="no run at"):
        await acompare_pairs(old, tmp_path / "none.jsonl", PairJudge("p", Longer()), out)
    other = tmp_path / "other.jsonl"
    await aevaluate(str, [("a", "b")], [matches("")], other, version="1")
    with pytest.raises(InvalidInput, match="no case in common"):
        await acompare_pairs(old, other, PairJudge("p", Longer()), out)
    for name, value in (("min_difference", 1), ("min_difference", 0), ("confidence", 1)):
        with pytest.raises(InvalidInput, match=f"{name} is {value}; it lies between"):
            await acompare_pairs(old, old, PairJudge("p", Longer()), out, **{name: value})  # type: ignore[arg-type]
    assert not out.exists()

    async def choose(case: Case, first: Answer, second: Answer) -> Any:
        return "first"

    with pytest.raises(InvalidInput, match="no metric in common"):
        await acompare_pairs(old, old, PairJudge("p", choose), out)
    with pytest.raises(InvalidInput, match="rubric is"):
        prefer(ScriptedChatModel(script=["x"]), "")


def test_the_sync_face(tmp_path: Path) -> None:
    evaluate(str, [("a", "b")], [matches("")], tmp_path / "a.jsonl", version="1")
    judge = PairJudge("p", Longer("neither"))
    assert compare_pairs(tmp_path / "a.jsonl", tmp_path / "a.jsonl", judge, tmp_path / "p.jsonl")["p"].difference == 0
