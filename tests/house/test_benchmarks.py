"""The benchmarks' harness, on trivial cases: what is only run by hand rots."""

import asyncio
import gc
import json
from pathlib import Path
from xml.etree import ElementTree

import pytest

from benchmarks.__main__ import CASES
from benchmarks.bench import awaiting, bare_answer, repeating
from benchmarks.chart import BARS, TRACK, draw_chart, read_percents
from benchmarks.harness import Body, Plan, Samples, Target, measure
from benchmarks.limiter import Queue
from benchmarks.table import Row, print_header, print_row, row_of

TINY = Plan(rounds=4, fewest=2, turn_seconds=0.0005, row_seconds=0.02)


def counting(to: int) -> Body:
    """Build a body that works in proportion to ``to``."""
    return repeating(lambda: sum(range(to)))


def failing() -> Body:
    """Fail as a library does that is not installed."""
    raise ImportError("no module\nof that name")


def test_measure_finds_the_dearer_contender() -> None:
    """The ratio says which contender costs more, and every contender has a sample of every round."""
    samples = measure({"hocket": lambda: counting(4_000), "bare": lambda: counting(40)}, TINY)

    ratio = samples.ratio("hocket", "bare")
    assert ratio is not None
    assert ratio > 2
    assert {len(micros) for micros in samples.micros.values()} == {samples.rounds}
    assert TINY.fewest <= samples.rounds <= TINY.rounds


def test_measure_counts_operations() -> None:
    """The figure is that of one unit: a hundred units in an operation make it a hundredth."""
    samples = measure({"hocket": lambda: counting(1_000)}, TINY)
    hundredths = measure({"hocket": lambda: counting(1_000)}, TINY, per=100)

    whole, part = samples.median("hocket"), hundredths.median("hocket")
    assert whole is not None
    assert part is not None
    assert 10 < whole / part < 1_000


def test_measure_runs_async_bodies() -> None:
    """An async operation is measured on a loop of its own, and the collector of garbage is back afterwards."""
    samples = measure({"bare": lambda: awaiting(lambda: bare_answer("hi"))}, TINY)

    assert not samples.failures
    assert samples.rounds >= TINY.fewest
    assert gc.isenabled()


def test_failing_contender_leaves_the_others() -> None:
    """A contender that raises is named in one line of the row; the others are measured."""
    samples = measure({"hocket": failing, "bare": lambda: counting(10)}, TINY)
    row = row_of("trivial", "a sum", samples, Target(2, over="bare"))

    assert row.verdict == "failed: hocket: ImportError: no module of that name"
    assert row.bare is not None


@pytest.mark.parametrize(
    ("target", "verdict"),
    [
        (Target(0.5), "meets"),
        (Target(0.4), "falls short"),
        (Target(3, over="bare"), "meets"),
        (Target(0.3, over="peer"), "meets"),
        (Target(20, over=None, at_least=True), "falls short"),
        (None, ""),
    ],
)
def test_verdict(target: Target | None, verdict: str) -> None:
    """A row is judged by its target: on a ratio, or on hocket's own figure."""
    others = {"langchain": [20.0] * 3, "peer": [40.0] * 3, "bare": [5.0, 4.0, 1.0]}
    samples = Samples({"hocket": [10.0, 10.0, 1.0], **others})
    row = row_of("trivial", "a sum", samples, target)

    assert (row.ratio, row.over_peer, row.over_bare) == (0.5, 0.25, 2.0)
    assert row.verdict == verdict


def test_a_row_that_wants_something_this_machine_lacks_is_skipped() -> None:
    """It says what, and counts as no failure."""
    assert Row("trivial", "a sum", target=Target(0.5), skipped="no Redis").verdict == "skipped: no Redis"


def test_table_lines_up(capsys: pytest.CaptureFixture[str]) -> None:
    """The figures of a row stand under their headings, and a missing one is a dash."""
    print_header()
    print_row(Row("trivial", "a sum", hocket=1234.5, bare=0.1234, target=Target(0.08), rounds=5, failure="why"))
    header, _, line = capsys.readouterr().out.splitlines()

    assert line.index("1,23") + len("1,234") == header.index("hocket") + len("hocket")
    assert line.index("÷") == header.index("target")
    assert line.split()[3:10] == ["1,234", "-", "-", "0.123", "-", "-", "-"]
    assert line.split()[10:] == ["÷", "langchain", "≤", "0.08", "5", "failed:", "why"]


def test_queue_sees_who_jumps() -> None:
    """A grant to the last of three while the first waits is one jump; serving the rest in order is none."""

    async def ask() -> Queue:
        queue = Queue()
        events = [asyncio.Event() for _ in range(3)]
        tasks = [asyncio.create_task(queue.wait(event.wait)) for event in events]
        for event in (events[2], events[0], events[1]):
            await asyncio.sleep(0)
            event.set()
            await asyncio.sleep(0)
        await asyncio.gather(*tasks)
        return queue

    queue = asyncio.run(ask())
    assert (queue.grants, queue.jumps) == (3, 1)


def test_cases_are_named_once() -> None:
    """Every subject's cases are found under their own names by the command."""
    assert {"import", "ainvoke", "cache", "astream", "fold", "limiter", "limiter-shared", "memory"} <= CASES.keys()


def test_the_chart_shows_what_a_report_says(tmp_path: Path) -> None:
    """A bar is as long as its percent of the track, and a report without one of its rows is refused by name."""
    rows = [{"what": row, "ratio": 0.1 * (index + 1)} for index, row in enumerate(BARS)]
    report = tmp_path / "figures.json"
    report.write_text(json.dumps({"rows": rows}))
    percents = read_percents(report)
    assert percents == dict(zip(BARS.values(), (10, 20, 30, 40, 50), strict=True))
    bars = [
        float(one.attrib["width"])
        for one in ElementTree.fromstring(draw_chart(percents)).iter()
        if one.get("class") == "bar"
    ]
    assert bars == [TRACK * percent / 100 for percent in percents.values()]

    report.write_text(json.dumps({"rows": rows[1:]}))
    with pytest.raises(SystemExit, match="a token of 200"):
        read_percents(report)
