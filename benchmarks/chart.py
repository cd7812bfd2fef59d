"""Draws docs/images/cost.svg, the chart of README.md, from a report of the benchmarks.

    .venv/bin/python -m benchmarks --only providers providers-cold agents service --json figures.json
    .venv/bin/python -m benchmarks.chart figures.json

A bar's track is LangChain's CPU time, the bar hocket's. The picture has both of its looks in it: a reader's system says
whether it is shown light or dark, on GitHub as on the site.
"""

import json
import sys
from pathlib import Path

PICTURE = Path(__file__).parents[1] / "docs/images/cost.svg"

BARS = {
    "OpenAI, chat completions: a token of 200": "a piece of a streamed answer",
    "OpenAI, chat completions: a call": "a call to OpenAI's API",
    "a run of 10 steps, per step": "a step of an agent",
    "OpenAI, chat completions: first answer of a process": "the first answer of a process",
    "a streamed answer of 200 tokens, FastAPI service": "a FastAPI service that streams",
}
"""What the chart calls these rows of the report."""

LABELS, TRACK, HEIGHT, STEP, TOP = 250, 400, 16, 32, 14

START = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" role="img" \
aria-label="{label}" font-family="system-ui, sans-serif" font-size="14">
<style>
text {{ fill: #1f2328 }} .note {{ fill: #59636e; font-size: 12px }} .track {{ fill: #d8dee4 }} .bar {{ fill: #0a7d5a }}
@media (prefers-color-scheme: dark) {{
  text {{ fill: #e6edf3 }} .note {{ fill: #9198a1 }} .track {{ fill: #30363d }} .bar {{ fill: #2fbf8f }}
}}
</style>
"""


def read_percents(report: Path) -> dict[str, int]:
    """Return hocket's CPU time in percent of LangChain's for each bar, from a file that ``--json`` wrote.

    Raises:
        SystemExit: a row is missing, or has no ratio.
    """
    ratios = {row["what"]: row["ratio"] for row in json.loads(report.read_text(encoding="utf-8"))["rows"]}
    missing = [row for row in BARS if ratios.get(row) is None]
    if missing:
        sys.exit(f"{report} has no ratio of {missing}: run the benchmarks that this module's first lines name.")
    return {label: round(ratios[row] * 100) for row, label in BARS.items()}


def draw_chart(percents: dict[str, int]) -> str:
    """Return the picture: a row for each label, with a track of 100 percent and a bar on it."""
    label = "CPU time with hocket, in percent of LangChain's: " + ", ".join(
        f"{what} {percent}" for what, percent in percents.items()
    )
    width, height = LABELS + TRACK + 60, TOP + STEP * len(percents) + 22
    lines = [START.format(width=width, height=height, label=label)]
    for index, (what, percent) in enumerate(percents.items()):
        y, length = TOP + STEP * index, TRACK * percent / 100
        text = y + HEIGHT - 3
        lines += [
            f'<text x="{LABELS - 12}" y="{text}" text-anchor="end">{what}</text>',
            f'<rect class="track" x="{LABELS}" y="{y}" width="{TRACK}" height="{HEIGHT}" rx="3"/>',
            f'<rect class="bar" x="{LABELS}" y="{y}" width="{length:.0f}" height="{HEIGHT}" rx="3"/>',
            f'<text x="{LABELS + length + 8:.0f}" y="{text}">{percent} %</text>',
        ]
    note = "CPU time. The whole bar is the same with LangChain: 100 %."
    lines.append(f'<text class="note" x="{LABELS}" y="{height - 8}">{note}</text>\n</svg>\n')
    return "\n".join(lines)


def main() -> None:
    """Draw what the report says, and print it."""
    if len(sys.argv) != 2:
        sys.exit("usage: python -m benchmarks.chart REPORT.json")
    percents = read_percents(Path(sys.argv[1]))
    PICTURE.write_text(draw_chart(percents), encoding="utf-8")
    for what, percent in percents.items():
        print(f"{percent:4} %  {what}")


if __name__ == "__main__":
    main()
