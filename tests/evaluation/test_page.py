"""The page of a report or a comparison: what a person finds on it, and what the words of an answer cannot do to it."""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest

from hocket import AIMessage
from hocket.errors import InvalidInput, ProviderUnavailable
from hocket.evaluation import Answer, Case, Score, compare, evaluate, read_report, write_page
from hocket.evaluation.page.scale import fit_scale
from tests.evaluation.page_scene import HOSTILE, make_runs, run_answers

OF_A_PAGE = {
    *("html", "head", "meta", "title", "style", "body", "main", "section", "article", "footer", "div", "figure"),
    *("figcaption", "h1", "h2", "h4", "p", "b", "em", "small", "span", "code", "ul", "li", "dl", "dt", "dd"),
    *("table", "tbody", "tr", "td", "details", "summary", "svg", "g", "line", "rect", "circle", "polygon", "text"),
}
POLICY = "default-src 'none'; style-src 'unsafe-inline'"


class Page(HTMLParser):
    """What a browser makes of a page: its elements, with their attributes and their text."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.source = path.read_text(encoding="utf-8")
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""
        self._open: list[str] = []
        self.feed(self.source)
        self.close()
        assert self._open == []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag != "meta":
            self._open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self._open.pop() == tag

    def handle_data(self, data: str) -> None:
        if self._open and self._open[-1] != "style":
            self.text += f"{data}\n"

    def find(self, tag: str, **attributes: str) -> list[dict[str, str | None]]:
        return [found for name, found in self.elements if name == tag and attributes.items() <= {**found}.items()]

    @property
    def sections(self) -> list[str]:
        return re.findall(r"<h2>(.*?)</h2>", self.source)


def write(subject: Any, folder: Path) -> Page:
    write_page(subject, folder / "page.html")
    return Page(folder / "page.html")


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    return make_runs(tmp_path_factory.mktemp("runs"))


def test_a_comparison(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """The verdict as a sentence, an interval a metric, the cases with both answers, a point a case, and the errors."""
    comparison = compare(*runs)
    page = write(comparison, tmp_path)
    verdict = comparison["helpful"]
    assert verdict.verdict == "worse"
    heading = re.sub(r"<[^>]*>", "", re.findall(r"<h1>.*?</h1>", page.source)[0]).replace("\N{MINUS SIGN}", "-")
    assert heading == str(comparison).splitlines()[1].strip()
    lost, gained = len(comparison.lost), len(comparison.gained)
    assert page.sections == ["Difference", f"Lost: {lost}", f"Gained: {gained}", "Time and money", "Errors"]
    assert len(page.find("details")) == lost + gained
    assert len(page.find("line", **{"class": "interval worse"})) == 1
    assert [one["aria-label"] for one in page.find("svg", role="img")][1].startswith("brief: ")
    assert len([one for one in page.find("circle") if str(one["class"]).startswith("point")]) == 117  # 3 have failed
    assert page.text.count("the customer is sent away") == lost + gained
    assert f'find_order({{"number": {int(comparison.lost[0][-4:])}}})' in page.text
    assert "ValueError\n3\na wrong answer" in page.text


def test_a_report(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """Metrics, all cases, the lowest scores first, and how long they took."""
    report = read_report(runs[1])
    page = write(report, tmp_path)
    metric = report["helpful"]
    assert f"helpful: {metric.mean:.1%}" in page.text and f"[{metric.low:.1%}, {metric.high:.1%}] of 120" in page.text
    assert page.sections == ["Metrics", "Cases, the lowest scores first", "Errors"]
    scores = re.findall(r'<span class="score plain">(.*?)</span>', page.source)
    assert scores == sorted(scores) and (scores.count("0"), scores.count("1")) == (
        120 - round(120 * metric.mean),
        round(120 * metric.mean),
    )


def test_looks(tmp_path: Path) -> None:
    """The difference after each, in a band; a report with a baseline is shown as the comparison that it has."""
    old, new = make_runs(tmp_path, baseline=True)
    comparison = compare(old, new)
    looks = comparison["helpful"].looks
    page = write(comparison, tmp_path)
    assert len(looks) > 1 and "After each look" in page.sections
    plot = page.source.partition("After each look")[2].partition("</section>")[0]
    assert plot.count("<circle") == len(looks)
    points = [tuple(map(float, one.split(","))) for one in re.findall(r'points="(.*?)"', plot)[0].split()]
    assert len(points) == 2 * len(looks)
    first, last = points[-1][1] - points[0][1], points[len(looks)][1] - points[len(looks) - 1][1]
    assert abs(last) < abs(first)
    report = read_report(new)
    report.comparison = comparison
    assert write(report, tmp_path).source == page.source


def test_what_is_not_as_it_should_be(tmp_path: Path) -> None:
    """Cases that waver, that have no answer, that are in one run alone; scores that are missing."""
    down = ProviderUnavailable("busy")

    def moody(answer: Answer, case: Case) -> bool:
        if case.id == "case-1":
            raise ValueError("no score")
        return answer.text == "ok"

    run_answers(tmp_path / "old.jsonl", ["ok", "ok", "ok", "ok"], scorers=[moody])
    run_answers(tmp_path / "new.jsonl", ["ok", "ok", "no", down, "ok"], scorers=[moody])
    page = write(compare(tmp_path / "old.jsonl", tmp_path / "new.jsonl"), tmp_path)
    assert page.sections[-3:] == ["In one run alone: 2", "Without an answer: 1", "Errors"]
    assert "ProviderUnavailable\n1\nno answer; the next run asks again" in page.text
    assert "\n1\nno score; the next run scores again" in page.text
    report = run_answers(tmp_path / "flaky.jsonl", ["ok"], repeats=2, scorers=[say_in_turn(iter([True, False]))])
    assert report["score"].flaky == ["case-0"]
    page = write(report, tmp_path)
    assert "Flaky: 1" in page.sections
    assert "Answer, run 1" in page.text and "Answer, run 2" in page.text


def say_in_turn(values: Any) -> Any:
    def score(answer: Answer, case: Case) -> bool:
        return next(values)

    return score


@pytest.mark.parametrize("kind", ["report", "comparison"])
def test_an_answer_stays_a_text(tmp_path: Path, kind: str) -> None:
    """Whatever it says, in the answer, the input, the expectation, the reason, an id, a call or an error."""
    calls: Any = [{"name": HOSTILE, "args": {HOSTILE: HOSTILE}, "id": "1"}]
    asked = [Case(HOSTILE, [HOSTILE], HOSTILE, {"m": HOSTILE}), Case(HOSTILE + "1", HOSTILE, "failed"), Case("3")]

    def score(answer: Answer, case: Case) -> Score:
        return Score(values[0] and case.id != "failed", HOSTILE)

    values = [False]
    score.__name__ = HOSTILE.replace("/", "")

    async def answer(question: str) -> object:
        if question == HOSTILE + "1":
            raise ValueError(HOSTILE)
        return AIMessage(HOSTILE, tool_calls=calls)

    old, new = tmp_path / "old.jsonl", tmp_path / "new.jsonl"
    evaluate(answer, asked, [score], old, version="1")
    values = [True]
    report = evaluate(answer, asked, [score], new, version="2")
    page = write(report if kind == "report" else compare(old, new), tmp_path)
    assert {name for name, _ in page.elements} <= OF_A_PAGE
    assert {name for _, found in page.elements for name in found if name.startswith("on")} == set()
    assert page.text.count("<script>alert(1)</script>") >= 5


@pytest.mark.parametrize("kind", ["report", "comparison"])
def test_nothing_is_loaded(runs: tuple[Path, Path], tmp_path: Path, kind: str) -> None:
    """The policy comes before anything that could be; there is no link, no address, no script."""
    page = write(compare(*runs) if kind == "comparison" else read_report(runs[0]), tmp_path)
    names = [name for name, _ in page.elements]
    assert page.find("meta", **{"http-equiv": "Content-Security-Policy", "content": POLICY})
    assert names.index("meta") < names.index("style") and names[:4] == ["html", "head", "meta", "meta"]
    assert not {"script", "link", "img", "iframe", "object", "base", "form", "a", "use", "image"} & {*names}
    assert not {"src", "href", "xlink:href", "style", "srcset", "action"} & {
        key for _, found in page.elements for key in found
    }
    assert not re.search(r"https?:|url\(|@import|//", page.source.replace("<!doctype", ""))


def test_long_answers_are_cut(tmp_path: Path) -> None:
    """Beyond 20,000 characters, which is said."""
    report = run_answers(tmp_path / "new.jsonl", ["x" * 25_000, "y" * 20_000])
    page = write(report, tmp_path)
    assert max(map(len, re.findall("x+", page.source))) == 20_000
    assert "… (5000 more characters)" in page.text and "y" * 20_000 in page.text


def test_a_page_of_a_thousand_cases(tmp_path: Path) -> None:
    """Is smaller than 3 MB; if the answers are long, cases are left out, and counted."""
    paths = [tmp_path / "old.jsonl", tmp_path / "new.jsonl"]
    run_answers(paths[0], [f"ok {'old ' * 100}"] * 1_000)
    run_answers(paths[1], [f"no {'new ' * 100}"] * 1_000)
    write_page(compare(*paths), tmp_path / "page.html")
    source = (tmp_path / "page.html").read_bytes()
    assert source.count(b"<details") == 1_000 and len(source) < 3_000_000
    report = run_answers(tmp_path / "long.jsonl", ["<" * 19_000] * 150)
    write_page(report, tmp_path / "page.html")
    source = (tmp_path / "page.html").read_bytes()
    shown = source.count(b"<details")
    assert 10 < shown < 150 and len(source) < 3_000_000
    assert f"{150 - shown} more are in {report.path}: this page would be too long" in source.decode()


def test_runs_that_are_gone(runs: tuple[Path, Path], tmp_path: Path) -> None:
    """A comparison has only their paths."""
    comparison = compare(*runs)
    comparison.old = str(tmp_path / "gone.jsonl")
    with pytest.raises(InvalidInput, match=r"there is no run at .*gone\.jsonl"):
        write_page(comparison, tmp_path / "page.html")
    assert not (tmp_path / "page.html").exists()


@pytest.mark.parametrize(
    "values", [[0, 0], [3, 3], [-2, -2], [1e-9, 5], [0, 7e6], [-0.3, 0.4], [0.02, 0.021], [1, 19.9], [1, 1e12]], ids=str
)
@pytest.mark.parametrize("may_be_log", [False, True])
def test_a_scale(values: list[float], may_be_log: bool) -> None:
    """Has room for all values, in their order, and a few round numbers between its ends."""
    scale = fit_scale(values, may_be_log=may_be_log)
    left, right = (float(scale.place_x(value).removesuffix("%")) for value in values)
    assert 0 <= left <= right <= 100 and (left < right) == (values[0] < values[1])
    assert float(scale.place_y(values[0]).removesuffix("%")) == pytest.approx(100 - left, abs=0.1)
    ticks = scale.list_ticks()
    assert 1 <= len(ticks) <= 7 and ticks == sorted(ticks)
    assert all(scale.low <= tick <= scale.high for tick in ticks)
