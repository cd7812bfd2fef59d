"""The plots of the page, as SVG: rows of intervals, a difference over the looks, pairs of amounts."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

from hocket.evaluation.page.markup import Html, tag
from hocket.evaluation.page.scale import Scale, fit_scale, place
from hocket.evaluation.statistics import PairedLook

__all__ = ["MINUS", "Estimate", "Pair", "draw_estimates", "draw_looks", "draw_pairs", "write_points", "write_tick"]

MINUS = "\N{MINUS SIGN}"


class Estimate(NamedTuple):
    """A value with its interval, as a row.

    Attributes:
        name: what it is of.
        word: what is said of it, which gives it its colour.
        figures: the same as a text, in which a person reads it.
    """

    name: str
    word: str
    value: float
    low: float
    high: float
    figures: str


class Pair(NamedTuple):
    """A case in both runs: an amount in the old one and in the new one, and whether it was gained or lost."""

    case: str
    word: str
    old: float
    new: float


def write_points(value: float) -> str:
    """Return a difference in percentage points, with its sign."""
    return f"{100 * value:+.1f}".replace("-", MINUS)


def write_tick(value: float) -> str:
    """Return a round difference in percentage points."""
    return "0" if abs(value) < 1e-9 else f"{100 * value:+.3g}".replace("-", MINUS)


def draw_estimates(
    rows: Sequence[Estimate], scale: Scale, write: Callable[[float], str], *, band: float | None, about: str
) -> Html:
    """Return a row for each estimate: its name, its interval, its figures; and below them the axis.

    Args:
        rows: the estimates.
        scale: of all rows.
        write: writes a value of the axis.
        band: half of what does not matter, on both sides of 0; None: there is no such, and no 0 to be seen.
        about: what the axis says, from the left to the right.
    """
    ticks = scale.list_ticks()
    grid = [_draw_line(scale.place_x(one), "0", scale.place_x(one), "100%", "grid") for one in ticks]
    if band is not None:
        left, right = max(-band, scale.low), min(band, scale.high)
        width = place((right - left) / (scale.high - scale.low))
        grid.insert(0, tag("rect", class_="band", x=scale.place_x(left), y=0, width=width, height="100%"))
        grid.append(_draw_line(scale.place_x(0), "0", scale.place_x(0), "100%", "zero"))
    parts: list[Html] = []
    for one in rows:
        colour = _name(one.word)
        bar = _draw_line(scale.place_x(one.low), "50%", scale.place_x(one.high), "50%", f"interval {colour}")
        dot = tag("circle", class_=f"dot {colour}", cx=scale.place_x(one.value), cy="50%", r=6)
        parts += [
            tag("span", one.name, class_="name"),
            tag("svg", *grid, bar, dot, role="img", aria_label=f"{one.name}: {one.figures}"),
            tag("span", one.figures, class_=f"figures {colour}"),
        ]
    labels = [tag("text", write(one), x=scale.place_x(one), y=14, text_anchor="middle") for one in ticks]
    below = (tag("svg", *labels, class_="axis", aria_hidden="true"), tag("p", about, class_="axis-name"))
    parts += [part for one in below for part in (tag("span"), one, tag("span"))]
    return tag("div", *parts, class_="estimates")


def draw_looks(looks: Sequence[PairedLook], band: float, word: str) -> Html:
    """Return the difference after each look, and its interval as a band that gets narrower."""
    height = fit_scale([band, -band, *(one.low for one in looks), *(one.high for one in looks)])
    width = Scale(0, looks[-1].cases * 1.04)
    edge = [(one.cases, one.low) for one in looks] + [(one.cases, one.high) for one in reversed(looks)]
    shape = " ".join(f"{width.place_x(x)[:-1]},{height.place_y(y)[:-1]}" for x, y in edge)
    points = [(width.place_x(one.cases), height.place_y(one.difference)) for one in looks]
    marks = [_draw_line(*one, *two, "way") for one, two in pairwise(points)]
    for one in looks:
        x = width.place_x(one.cases)
        colour = _name(word) if one is looks[-1] else ""
        said = f"{one.cases} cases: {write_points(one.difference)} [{write_points(one.low)}, {write_points(one.high)}]"
        marks.append(
            tag(
                "g",
                tag("title", said),
                _draw_line(x, height.place_y(one.low), x, height.place_y(one.high), f"interval {colour}"),
                tag("circle", class_=f"dot {colour}", cx=x, cy=height.place_y(one.difference), r=5),
            )
        )
    inside = tag("polygon", points=shape, class_="funnel")
    funnel = tag("svg", inside, width="100%", height="100%", viewBox="0 0 100 100", preserveAspectRatio="none")
    top = height.place_y(band)
    size = place(2 * band / (height.high - height.low))
    ground = tag("rect", class_="band", x=0, y=top, width="100%", height=size)
    zero = _draw_line("0", height.place_y(0), "100%", height.place_y(0), "zero")
    return _draw_frame(
        width,
        height,
        [ground, funnel, zero, *marks],
        lambda one: f"{one:g}",
        write_tick,
        "looks",
        "the difference after each look",
    )


def draw_pairs(pairs: Sequence[Pair], write: Callable[[float], str]) -> Html:
    """Return a point for each case, from left to right by the old amount, and upwards by the new one."""
    scale = fit_scale([amount for one in pairs for amount in (one.old, one.new)], may_be_log=True)
    same = _draw_line("0", "100%", "100%", "0", "zero")
    points = [
        tag(
            "circle",
            tag("title", f"{one.case}: {write(one.old)}, then {write(one.new)}"),
            class_=f"point {_name(one.word)}",
            cx=scale.place_x(one.old),
            cy=scale.place_y(one.new),
            r=4,
        )
        for one in pairs
    ]
    return _draw_frame(scale, scale, [same, *points], write, write, "pairs", "each case in both runs")


def _draw_frame(
    width: Scale,
    height: Scale,
    inside: Sequence[Html],
    write_x: Callable[[float], str],
    write_y: Callable[[float], str],
    kind: str,
    about: str,
) -> Html:
    """Return a plot with both axes, beside it and below it."""
    across = [_draw_line("0", height.place_y(one), "100%", height.place_y(one), "grid") for one in height.list_ticks()]
    left = [
        tag("text", write_y(one), x="100%", y=height.place_y(one), dy=4, text_anchor="end")
        for one in height.list_ticks()
    ]
    below = [tag("text", write_x(one), x=width.place_x(one), y=14, text_anchor="middle") for one in width.list_ticks()]
    return tag(
        "div",
        tag("svg", *left, class_="left", aria_hidden="true"),
        tag("svg", *across, *inside, class_="plot", role="img", aria_label=about),
        tag("span"),
        tag("svg", *below, class_="axis", aria_hidden="true"),
        class_=f"frame {kind}",
    )


def _draw_line(x1: str, y1: str, x2: str, y2: str, kind: str) -> Html:
    return tag("line", class_=kind.strip(), x1=x1, y1=y1, x2=x2, y2=y2)


def _name(word: str) -> str:
    """Return a verdict as the name of a class of CSS."""
    return word.replace(" ", "-")
