"""Cases as a person reads them: folded, each with what was asked, expected and answered, its scores and its calls.

A page has room for so many characters of cases; those beyond are counted, for a page of 100 MB opens nowhere.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from hocket.evaluation.answer import Answer
from hocket.evaluation.comparison import Amount
from hocket.evaluation.page.markup import Html, join, tag
from hocket.evaluation.report import EvalReport
from hocket.evaluation.statistics import average
from hocket.messages.html import shorten_text

__all__ = ["CaseWriter", "write_amount", "write_value"]

LONGEST = 20_000
"""Characters of a text that are shown."""

_ROOM = 2_500_000
_EXCERPT = 160

Row = Mapping[str, Any]


class CaseWriter:
    """Writes cases of one run, or of two of them side by side, until the page is full.

    Args:
        reports: the runs, the old one first.
        metric: whose scores are shown at the head of a case.
    """

    def __init__(self, reports: Sequence[EvalReport], metric: str) -> None:
        self._metric = metric
        self._runs: list[tuple[str, dict[str, list[Row]]]] = []
        for report in reports:
            rows: dict[str, list[Row]] = {}
            for row in report.rows:
                rows.setdefault(row["case"], []).append(row)
            self._runs.append((report.path, rows))
        self._room = _ROOM

    def write(self, cases: Iterable[str], word: str) -> Html:
        """Return cases, folded, as far as there is room; ``word``: what is said of them, such as "worse"."""
        parts: list[Html] = []
        left = 0
        for case in cases:
            part = self._write_case(case, word) if self._room > 0 else Html()
            self._room -= len(part.encode())
            if self._room > 0:
                parts.append(part)
            else:
                left += 1
        if left:
            where = " and ".join(path for path, _ in self._runs)
            parts.append(tag("p", f"{left} more are in {where}: this page would be too long with them.", class_="soft"))
        return join(parts)

    def _write_case(self, case: str, word: str) -> Html:
        runs = [(path, rows.get(case, [])) for path, rows in self._runs]
        known = [row for _, rows in runs for row in rows]
        asked = next((row for row in known if row["digest"]), None)
        scores = [average(row["scores"].get(self._metric) for row in rows) for _, rows in runs]
        shown = ["-" if score is None else f"{score:.3g}" for score in scores]
        said = " → ".join(shown) if any(score is not None for score in scores) else ""
        question = "" if asked is None else write_value(asked["input"])
        head = tag(
            "summary",
            tag("span", case, class_="id"),
            tag("span", " ".join(question[: 4 * _EXCERPT].split())[:_EXCERPT], class_="excerpt", dir="auto"),
            tag("span", said, class_=f"score {word}"),
        )
        parts = [head]
        if asked is not None:
            parts += [tag("h4", "Input"), _write_words(question)]
            if asked["expected"] is not None:
                parts += [tag("h4", "Expected"), _write_words(write_value(asked["expected"]))]
        several = len(known) > len(runs)
        names = ("Old answer", "New answer") if len(runs) > 1 else ("Answer",)
        answers = [
            join(self._write_run(name, row, several) for row in rows)
            for name, (_, rows) in zip(names, runs, strict=True)
        ]
        parts.append(tag("div", *(tag("div", one) for one in answers), class_="answers"))
        return tag("details", *parts, class_="case")

    def _write_run(self, name: str, row: Row, is_one_of_several: bool) -> Html:
        answer = cast("Answer", row["answer"])
        parts = [tag("h4", name + (f", run {row['run'] + 1}" if is_one_of_several else ""))]
        if answer.error is not None:
            parts.append(tag("p", shorten_text(answer.error, LONGEST), class_="worse"))
        else:
            parts.append(_write_words(answer.text))
        calls = [tag("li", tag("code", _write_call(call))) for call in answer.calls]
        parts += [tag("ul", *calls, class_="calls")] if calls else []
        sources = [one.source or one.id or "" for one in answer.documents] or list(answer.citations)
        if sources:
            parts.append(tag("p", f"Found: {', '.join(sources[:20])}", class_="soft"))
        for metric, value in row["scores"].items():
            reason = shorten_text(row["reasons"].get(metric, ""), LONGEST)
            said = "does not apply" if value is None else f"{value:.3g}"
            parts.append(tag("p", tag("b", metric), " ", said, " ", tag("span", reason, class_="soft"), class_="said"))
        facts = [None if answer.seconds is None else write_amount(answer.seconds, "seconds")]
        facts += [None if not answer.cost else write_amount(float(answer.cost), "cost")]
        facts += [None if answer.usage is None else f"{answer.usage['total_tokens']} tokens"]
        parts.append(tag("p", " · ".join(filter(None, facts)), class_="soft"))
        return tag("article", *parts)


def write_amount(value: float, what: Amount) -> str:
    """Return seconds, or a cost in US dollars, as short as a person reads them."""
    if what == "seconds":
        return f"{value:.3g} s" if value >= 1 or not value else f"{1000 * value:.3g} ms"
    if value >= 1 or not value:
        return f"${value:,.2f}"
    return f"${value:.2g}" if value >= 1e-4 else f"${value:.7f}".rstrip("0")


def write_value(value: object) -> str:
    """Return what was asked or expected as a text: messages one below the other, other data as JSON."""
    match value:
        case str():
            return value
        case {"type": str(kind), "content": str(content)} | {"role": str(kind), "content": str(content)}:
            return f"{kind}: {content}"
        case list() if value and all(isinstance(one, dict) and "content" in one for one in cast("list[object]", value)):
            return "\n\n".join(map(write_value, cast("list[object]", value)))
        case _:
            return json.dumps(value, ensure_ascii=False, indent=2, default=str)


def _write_words(text: str) -> Html:
    return tag("div", shorten_text(text, LONGEST) or "(nothing)", class_="words", dir="auto")


def _write_call(call: Mapping[str, Any]) -> str:
    return shorten_text(f"{call['name']}({json.dumps(call['args'], ensure_ascii=False, default=str)})", LONGEST)
