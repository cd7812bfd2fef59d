"""An evaluation runs, goes on, and stops: what is asked, what is scored, and what is never paid for twice."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from hocket import AIMessage, HumanMessage, ScriptedChatModel, Turn, create_agent
from hocket.batch import ResumeMismatch, TooManyFailures, read_batch
from hocket.batch.errors import BatchExpired, BatchFailed, BatchPending
from hocket.budgets import spending
from hocket.documents import Document
from hocket.errors import (
    BudgetExceeded,
    InvalidInput,
    InvalidReply,
    ProviderUnavailable,
    RetryTool,
    ToolException,
    ToolServerUnavailable,
    ToolTimeout,
)
from hocket.evaluation import Answer, Case, Score, aevaluate, compare, evaluate, read_report
from hocket.evaluation.scorer import NamedScorer
from hocket.prices import Price, set_prices
from hocket.rate_limiters import InMemoryRateLimiter, RateLimiter
from hocket.routing.gate import NoRoomError
from hocket.runnables import RunnableLambda
from hocket.testing import BatchPlan, VirtualClock
from tests.batch.providers import PROVIDERS
from tests.kit.batches import serve_batches
from tests.kit.models import hook_model, tool_model

USED: Any = {"input_tokens": 30, "output_tokens": 5, "total_tokens": 35}
CASES = [(f"q{number}", f"a{number}") for number in range(12)]


def right(answer: Answer, case: Case) -> bool:
    return answer.text == case.expected


class GoneError(ToolServerUnavailable):
    """As the room of tools has one of its own."""


class UnreadableError(InvalidReply):
    """As a provider may have one."""


class Target:
    """Answers right, but for the questions that it does not know; fails, as long as it is told to."""

    def __init__(self, *unknown: str) -> None:
        self.unknown = set(unknown)
        self.failures: dict[str, Exception] = {}
        self.asked = Counter[str]()

    async def __call__(self, question: str) -> str:
        self.asked[question] += 1
        if question in self.failures:
            raise self.failures[question]
        return "no" if question in self.unknown else f"a{question[1:]}"


@pytest.fixture
def out(tmp_path: Path) -> Path:
    return tmp_path / "new.jsonl"


async def run(target: Any, out: Path, cases: Any = CASES, scorers: Any = (right,), **options: Any) -> Any:
    return await aevaluate(target, cases, scorers, out, version="1", **options)


@pytest.mark.both_loops
async def test_a_run_and_its_report(out: Path) -> None:
    target = Target("q1", "q2", "q3")
    report = await run(target, out, repeats=2)
    assert set(target.asked.values()) == {2}
    metric = report["right"]
    assert (metric.mean, metric.cases, metric.runs, metric.flaky) == (0.75, 12, 24, [])
    assert metric.low < 0.75 < metric.high
    assert (report.cases, report.missing, report.errors, report.unscored, report.is_complete) == (12, 0, 0, 0, True)
    assert report.seconds is not None and report.seconds_p95 is not None
    assert (await to_thread.run_sync(read_report, out)).asdict() == report.asdict()
    assert json.loads(json.dumps(report.asdict()))["metrics"]["right"]["mean"] == 0.75
    assert "right  " in str(report) and "75.0%" in str(report) and "75.0%" in report._repr_html_()
    assert (await to_thread.run_sync(lambda: read_report(out, confidence=0.5)))["right"].low > metric.low


def test_the_sync_face(out: Path) -> None:
    assert evaluate(lambda question: f"a{question[1:]}", CASES, [right], out)["right"].mean == 1


async def test_a_run_goes_on_where_it_was(out: Path) -> None:
    """Killed while it asks, or while it scores: nothing is asked twice, and the report is the same, field by field."""
    whole = await run(Target("q1"), out.with_name("whole.jsonl"))
    target = Target("q1")
    judged = Counter[str]()

    async def judge(answer: Answer, case: Case) -> bool:
        judged[case.id] += 1
        if sum(judged.values()) == 4:
            scope.cancel()
            await anyio.sleep(1)
        return right(answer, case)

    judge.__name__ = "right"

    async def cut(question: str) -> str:
        reply = await target(question)
        if sum(target.asked.values()) == 5:
            scope.cancel()
            await anyio.sleep(1)
        return reply

    for _ in range(3):
        with anyio.CancelScope() as scope:
            report = await run(cut, out, scorers=[judge], max_concurrency=1)
    assert max(target.asked.values()) == 2 and sum(target.asked.values()) == 13  # the one that was under way
    assert max(judged.values()) == 2 and sum(judged.values()) == 13
    timeless = [{**one.asdict(), "path": "", "seconds": 0, "seconds_p95": 0} for one in (whole, report)]
    assert timeless[0] == timeless[1]


async def test_a_failure_of_the_server_is_no_failure_of_the_answer(out: Path) -> None:
    """It is missing, and asked again; what the target itself has done wrong counts, and is not."""
    target = Target()
    target.failures = {
        "q1": ProviderUnavailable("down"),
        "q2": InvalidReply("no JSON"),
        "q3": ZeroDivisionError("a bug"),
    }
    report = await run(target, out)
    assert (report.cases, report.missing, report.errors) == (11, 1, 2)
    assert report["right"].mean == pytest.approx(9 / 11) and not report.is_complete
    assert report.causes["missing"] == {"ProviderUnavailable": 1} and report.causes["unscored"] == {}
    assert "1 without an answer, which the next run asks for: 1 ProviderUnavailable\n" in str(report)
    assert "2 wrong, since the target has failed: 1 InvalidReply, 1 ZeroDivisionError\n" in str(report)
    target.failures = {}
    report = await run(target, out)
    assert target.asked["q1"] == 2 and target.asked["q2"] == target.asked["q3"] == 1
    assert (report.missing, report.errors, report["right"].mean) == (0, 2, pytest.approx(10 / 12))
    errors = [row["error"] for row in report.rows if row["error"]]
    assert errors == ["InvalidReply: no JSON", "ZeroDivisionError: a bug"]


@pytest.mark.parametrize(
    ("error", "is_fault"),
    [
        (BatchExpired("a day has passed"), False),
        (BatchFailed("refused"), False),
        (NoRoomError("for now", retry_after=1), False),
        (ToolServerUnavailable("gone"), False),
        (GoneError("gone"), False),
        (ToolTimeout("it took longer than 5 s"), False),
        (ToolException("no such order"), True),
        (RetryTool("no such order"), True),
        (UnreadableError("no JSON"), True),
        (TimeoutError("mine"), True),
    ],
)
async def test_whose_fault_it_is_is_decided_by_class(out: Path, error: Exception, is_fault: bool) -> None:
    """A subclass is what its class is, wherever it is defined: a failure of a server is asked again, and no wrong answer."""
    target = Target()
    target.failures = {"q1": error}
    report = await run(target, out)
    assert (report.missing, report.errors) == (not is_fault, is_fault)
    target.failures = {}
    report = await run(target, out)
    assert (target.asked["q1"], report["right"].cases, report.errors) == (1 + (not is_fault), 12, is_fault)


async def test_the_commonest_errors_are_named(out: Path) -> None:
    """With counts, the commonest first; of many kinds only a few."""
    target = Target()
    errors = [KeyError, KeyError, ValueError, TypeError, IndexError, OSError, EOFError, AttributeError]
    target.failures = {f"q{number}": error("x") for number, error in enumerate(errors)}
    report = await run(target, out)
    assert "8 wrong, since the target has failed: 2 KeyError, 1 ValueError, 1 TypeError, 1 IndexError" in str(report)
    assert report.asdict()["causes"]["errors"]["KeyError"] == 2 and "and 2 more" in str(report)


async def test_a_target_with_a_bug_ends_the_run(out: Path) -> None:
    with pytest.raises(
        TooManyFailures, match=r"what the target itself has done wrong is asked again in another file alone$"
    ):
        await run(lambda question: 1 / 0, out, [(f"q{number}", "") for number in range(150)])


async def test_a_scorer_that_fails_counts_nothing(out: Path) -> None:
    """The row has no score of it, and is scored again by the next run."""
    broken = True

    def picky(answer: Answer, case: Case) -> Any:
        if broken and case.input == "q1":
            raise KeyError("mine")
        return 7 if broken and case.input == "q2" else Score(None) if case.input == "q3" else Score(0.5, "so so")

    target = Target()
    report = await run(target, out, scorers=[right, picky])
    assert (report.unscored, report["picky"].cases, report["right"].cases) == (2, 9, 12)
    assert report["picky"].mean == 0.5 and report.causes["unscored"] == {"KeyError": 1, "InvalidInput": 1}
    assert "2 scores missing, since a scorer has failed: 1 KeyError, 1 InvalidInput" in str(report)
    broken = False
    report = await run(target, out, scorers=[right, picky])
    assert (report.unscored, report["picky"].cases) == (0, 11) and set(target.asked.values()) == {1}
    assert report.rows[0]["reasons"] == {"picky": "so so"}


async def test_other_scorers_ask_no_target(out: Path) -> None:
    target = Target("q1")
    await run(target, out)
    loose = NamedScorer("loose", lambda answer, case: True)
    report = await run(target, out, scorers=[right, loose])
    assert (report["right"].cases, report["loose"].mean) == (12, 1) and set(target.asked.values()) == {1}
    strict = NamedScorer("loose", lambda answer, case: False, "a new rubric")
    assert (await run(target, out, scorers=[strict]))["loose"].mean == 0
    assert set(target.asked.values()) == {1}


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: data["output"].pop("value"),
        lambda data: data["output"].pop("reason"),
        lambda data: data["output"].update(value="much"),
        lambda data: data["output"].update(value=2),
        lambda data: data["output"].pop("of"),
        lambda data: data.update(output=["right"]),
        lambda data: data.pop("output"),
    ],
)
async def test_a_damaged_score(out: Path, damage: Callable[[Any], object]) -> None:
    """The line is named, before a scorer is asked for more; without it only that score is made again."""
    judged: list[str] = []

    def likes(answer: Answer, case: Case) -> bool:
        judged.append(case.input)
        return True

    def edit(change: Callable[[str], str | None]) -> None:
        path = out.with_name("new.scores.jsonl")
        kept = [change(line) for line in path.read_text().splitlines()]
        path.write_text("".join(f"{line}\n" for line in kept if line is not None))

    def break_line(line: str) -> str:
        data = json.loads(line)
        if str(data.get("id")).endswith(f"{name}/likes"):
            damage(data)
        return json.dumps(data)

    before = await run(Target(), out, scorers=[likes])
    name = f"{before.rows[3]['case']}#0"
    await to_thread.run_sync(edit, break_line)
    for read in (lambda: to_thread.run_sync(read_report, out), lambda: run(Target(), out, scorers=[likes, right])):
        with pytest.raises(InvalidInput, match=rf"new.scores.jsonl.*row 4.*{name}/likes.*take that line out, and run"):
            await read()
    await to_thread.run_sync(edit, lambda line: None if f"{name}/likes" in line else line)
    report = await run(Target(), out, scorers=[likes])
    assert not [
        row for row in await to_thread.run_sync(list, read_batch(out.with_name("new.scores.jsonl"))) if row.error
    ]
    assert report.asdict() == before.asdict() and len(judged) == 13 and judged[-1] == "q3"


async def test_a_file_of_scores_without_its_first_row(out: Path) -> None:
    """It says which scorers there are; the next run writes it again, and scores nothing."""
    before, path = await run(Target(), out), out.with_name("new.scores.jsonl")
    lines = (await to_thread.run_sync(path.read_text)).splitlines(keepends=True)
    await to_thread.run_sync(path.write_text, "".join(line for line in lines if '"id":"scorers"' not in line))
    with pytest.raises(InvalidInput, match="does not say of which scorers it is; run the evaluation again"):
        await to_thread.run_sync(read_report, out)
    assert (await run(Target(), out)).asdict() == before.asdict()


@pytest.mark.parametrize("half", ["", '{"hocket_batch":1,"fing'])
async def test_killed_before_the_first_line_of_scores(out: Path, half: str) -> None:
    """The answers are read, and the next run scores them."""
    before = await run(Target(), out)
    await to_thread.run_sync(out.with_name("new.scores.jsonl").write_text, half)
    assert (await to_thread.run_sync(read_report, out)).cases == 12
    assert (await run(Target(), out)).asdict() == before.asdict()


async def test_any_name_of_a_scorer(out: Path) -> None:
    """Also one with a slash, beside another that it ends with; and ids of cases with one."""
    scorers = [NamedScorer(name, lambda answer, case: True, name) for name in ("a/b", "b", "/", "#0/b")]
    cases = [Case(question, expected, f"{question}/b") for question, expected in CASES]
    report = await run(Target(), out, cases, scorers)
    assert {name: metric.mean for name, metric in report.metrics.items()} == {"a/b": 1, "b": 1, "/": 1, "#0/b": 1}
    assert report.is_complete and report.rows[0]["scores"]["a/b"] == 1


async def test_a_scorer_that_is_added_scores_alone(out: Path, request: pytest.FixtureRequest) -> None:
    """What judges have said and cost stays, also where cases come behind, and where a scorer is left out for a while."""
    judged = Counter[str]()
    model = ScriptedChatModel(script=[Turn(text="yes", usage=USED)] * 40)
    set_prices({"scripted-chat-model": Price(1000, 0)})
    request.addfinalizer(lambda: set_prices({"scripted-chat-model": None}))

    def make(name: str, version: str = "") -> NamedScorer:
        async def score(answer: Answer, case: Case) -> Score:
            judged[name + version] += 1
            await model.ainvoke(case.input)
            return Score(True, f"{name}{version} likes it")

        return NamedScorer(name, score, version)

    first, second, other = make("first"), make("second"), make("second", "2")
    before = await run(Target(), out, scorers=[first])
    assert before.judge_cost is not None and before.judge_cost > 0
    report = await run(Target(), out, scorers=[second, first])
    assert judged == {"first": 12, "second": 12} and [*report.metrics] == ["second", "first"]
    assert report.judge_cost == 2 * before.judge_cost
    assert (await run(Target(), out, scorers=[second]))["second"].cases == 12
    assert [*(await to_thread.run_sync(read_report, out)).metrics] == ["second"]
    more = [*CASES, ("q12", "a12")]
    report = await run(Target(), out, more, scorers=[first])
    assert judged == {"first": 13, "second": 12} and report.is_complete
    report = await run(Target(), out, more, scorers=[first, other])
    assert judged == {"first": 13, "second": 12, "second2": 13} and report.is_complete
    assert report.rows[12]["reasons"] == {"first": "first likes it", "second": "second2 likes it"}


async def test_more_cases_behind_the_old_ones(out: Path) -> None:
    target = Target()
    await run(target, out)
    report = await run(target, out, [*CASES, ("q12", "a12")])
    assert (report.cases, report.design.cases) == (13, 13) and set(target.asked.values()) == {1}
    for cases, options in (([("q12", "a12"), *CASES], {}), (CASES, {"repeats": 2}), ([("q0", "changed")], {})):
        with pytest.raises(
            ResumeMismatch, match="give the cases, repeats and baseline of the first run, or take another"
        ):
            await run(target, out, cases, **options)
    with pytest.raises(
        ResumeMismatch, match=r"take another file\. Do its answers still hold\? Then version='1' goes on$"
    ):
        await aevaluate(target, CASES, [right], out, version="another target")
    assert set(target.asked.values()) == {1}


async def test_a_budget_that_is_used_up(out: Path) -> None:
    model = ScriptedChatModel(script=[Turn(text="a0", usage=USED)] * 12).bind(max_tokens=5)
    with spending(tokens=200):
        report = await run(model, out, max_concurrency=1)
    assert isinstance(report.stopped, BudgetExceeded) and 0 < report.cases < 12 and "stopped by" in str(report)
    assert (await run(model, out)).cases == 12


async def test_a_budget_that_the_judge_uses_up(out: Path) -> None:
    """The report says so, and no further part is asked for; the next run goes on."""
    cases = [(f"q{number}", f"a{number}") for number in range(100)]
    model = ScriptedChatModel(script=[Turn(text="yes", usage=USED)] * 200).bind(max_tokens=5)

    async def likes(answer: Answer, case: Case) -> bool:
        return (await model.ainvoke(case.input)).text == "yes"

    baseline, target = out.with_name("old.jsonl"), Target()
    await run(Target(), baseline, cases, [likes])
    with spending(tokens=200):
        report = await run(target, out, cases, [likes], baseline=baseline, max_concurrency=1)
    assert isinstance(report.stopped, BudgetExceeded) and sum(target.asked.values()) == 20
    assert report.causes["unscored"] == {"not scored yet": report.unscored}
    assert (await run(target, out, cases, [likes], baseline=baseline)).stopped is None


async def test_outputs_that_are_there(out: Path) -> None:
    """Without a target the cases have their answers: logs of production."""
    cases = [
        {"input": "q", "expected": "a", "output": "a", "id": 1},
        {"input": "q", "expected": "a", "output": "b", "id": 2},
    ]
    assert (await run(None, out, cases))["right"].mean == 0.5
    report = await run(None, out.with_name("other.jsonl"), CASES)
    assert report.missing == 12


async def test_what_scorers_are_given(out: Path) -> None:
    """The same shape for models, agents, retrievers and chains."""
    seen: list[Answer] = []

    def look(answer: Answer, case: Case) -> bool:
        seen.append(answer)
        return True

    calls = [{"name": "search", "args": {"word": "x"}, "id": "1", "type": "tool_call"}]

    def search(word: str) -> str:
        """Search."""
        return "found"

    def answer(call: Any) -> Any:
        return "done" if call.input[-1].type == "tool" else AIMessage("", tool_calls=calls)

    document = Document("text", metadata={"source": "a.txt"}, id="d1")
    for number, target in enumerate(
        [
            hook_model(AIMessage("hi", tool_calls=calls, usage_metadata=USED)),
            create_agent(tool_model(answer), [search]),
            RunnableLambda(lambda question: [document]),
            RunnableLambda(lambda question: {"answer": "yes [1]", "context": [document], "unsupported": [2]}),
            RunnableLambda(lambda question: {"city": "Lima", "people": 10}),
        ]
    ):
        await run(target, out.with_name(f"{number}.jsonl"), [([HumanMessage("q")], None)], [look])
    model, agent, retriever, chain, data = seen
    wanted = [{"name": "search", "args": {"word": "x"}}]
    assert (model.text, model.calls) == ("hi", wanted) and (agent.text, agent.calls) == ("done", wanted)
    for found in (retriever, chain):
        [one] = found.documents
        assert (one.id, one.source, one.text) == ("d1", "a.txt", "text")
    assert (chain.text, chain.unsupported, chain.output) == ("yes [1]", [2], {"answer": "yes [1]"})
    assert json.loads(data.text) == data.output == {"city": "Lima", "people": 10}
    assert model.seconds is not None and model.usage == USED


@pytest.mark.parametrize(
    "limits",
    [
        {"max_in_flight": 2},
        {"rate_limiter": InMemoryRateLimiter(requests_per_second=1)},
        {"rate_limiter": RateLimiter(60)},
        {"rate_limiter": RateLimiter(60), "timeout": 2},  # which turns calls away that would wait longer
    ],
    ids=["places", "requests", "turns", "short"],
)
async def test_seconds_are_those_of_the_case_and_not_of_its_wait(
    out: Path, virtual_clock: VirtualClock, limits: dict[str, Any]
) -> None:
    """However long the line at a limit is, a case takes what it takes: two calls of half a second each."""

    model = ScriptedChatModel(script=[Turn(text="a1", delay=0.5)] * 24, **limits)

    async def target(question: str) -> str:
        await model.ainvoke(question)
        return (await model.ainvoke(question)).text

    report = await run(target, out, CASES)
    assert virtual_clock.now() >= 6
    assert report.seconds == pytest.approx(1, abs=0.05) and report.seconds_p95 == pytest.approx(1, abs=0.05)


async def test_it_stops_as_soon_as_the_verdict_is_certain(out: Path) -> None:
    cases = [(f"q{number}", f"a{number}") for number in range(100)]
    baseline = out.with_name("old.jsonl")
    await run(Target(*(f"q{number}" for number in range(60))), baseline, cases)
    target = Target()
    report = await run(target, out, cases, baseline=baseline)
    assert report.comparison is not None and report.comparison.verdict == "better" and report.is_complete
    assert 20 <= report.cases == sum(target.asked.values()) <= 40
    assert "certain before the end" in str(report)
    again = await to_thread.run_sync(compare, baseline, out)
    assert again["right"] == report.comparison["right"] and not again.unpaired  # peeking costs nothing
    same = await run(
        Target(*(f"q{number}" for number in range(60))), out.with_name("same.jsonl"), cases, baseline=baseline
    )
    assert same.comparison is not None and same.comparison.verdict == "same" and same.cases > 40


async def test_looks_go_on_over_runs_that_never_wait(out: Path) -> None:
    """Each run collects the batch of the last one, and submits that of the next look, until the verdict is certain."""
    cases = [(f"q{number}", f"q{number}".upper() if number % 2 else "no") for number in range(60)]
    provider = next(one for one in PROVIDERS if one.name == "openai")
    baseline = out.with_name("old.jsonl")

    def is_equal(answer: Answer, case: Case) -> bool:
        return answer.text == case.expected

    await run(lambda text: text.upper(), baseline, cases, (is_equal,))
    options: dict[str, Any] = {"baseline": baseline, "via": "provider", "min_difference": 0.01}
    async with serve_batches(provider, out) as served:
        served.server.batches.plan = BatchPlan(seconds=1)
        for _ in range(3):
            report = await run(served.model(), out, cases, (is_equal,), wait=0, **options)
            await served.clock.sleep(100)
        assert len(served.server.batches.submitted) == 3 and isinstance(report.stopped, BatchPending)
        report = await run(served.model(), out, cases, (is_equal,), **options)
    assert report.stopped is None and report.cases == 60
    assert set(served.server.batches.executed_bodies.values()) == {1}


async def test_a_baseline_that_nothing_could_be_compared_with(out: Path) -> None:
    """It is refused before anything is asked; where all answers are missing there is no comparison."""
    old = out.with_name("old.jsonl")
    target = Target()
    await run(target, old)
    target.asked.clear()
    loose = NamedScorer("loose", lambda answer, case: True)
    with pytest.raises(InvalidInput, match="has no metric 'loose'; it has right"):
        await run(target, out, scorers=[loose], baseline=old)
    with pytest.raises(InvalidInput, match="has none of these cases"):
        await run(target, out, [("x", "y")], baseline=old)
    assert not target.asked
    target.failures = {question: ProviderUnavailable("down") for question, _ in CASES}
    report = await run(target, out, baseline=old)
    assert report.comparison is None and report.missing == 12


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"repeats": 0}, "repeats is 0"),
        ({"metric": "exact"}, "no scorer is called so; the scorers are right"),
        ({"scorers": []}, "one at least"),
        ({"scorers": [right, right]}, "two scorers are called 'right'"),
        ({"scorers": [bool]}, "it is a function of an answer"),
        ({"confidence": 1.5}, "confidence is 1.5"),
        ({"min_difference": 0}, "min_difference is 0; it lies between 0 and 1"),
        ({"min_difference": 1}, "min_difference is 1"),
        ({"repeats": 1.5}, "repeats is 1.5"),
        ({"max_concurrency": 0}, "max_concurrency is 0"),
        ({"wait": 1}, "wait is 1"),
        ({"baseline": "/nowhere.jsonl"}, "there is no run at /nowhere.jsonl"),
    ],
)
async def test_arguments_that_are_of_no_use(out: Path, options: dict[str, Any], words: str) -> None:
    target = Target()
    with pytest.raises(InvalidInput, match=words):
        await run(target, out, **options)
    assert not target.asked


@pytest.mark.parametrize("target", [5, "openai:gpt-5.2", {"a": 1}])
async def test_a_target_that_cannot_be_run(out: Path, target: Any) -> None:
    """Is refused like any other argument, before the cases are read."""
    with pytest.raises(InvalidInput, match="it is a Runnable, such as a model or a chain, a function of"):
        await run(target, out, "/nowhere.jsonl")
