"""Where a value stands in a plot, in percent of its width or height: it grows with the page, and its letters do not."""

import math
from collections.abc import Iterable
from dataclasses import dataclass

__all__ = ["Scale", "fit_scale", "place"]

_MOST_TICKS = 6
_MARGIN = 0.04


@dataclass(frozen=True)
class Scale:
    """An axis from ``low`` to ``high``, with ticks at round numbers; of magnitudes (logarithmic) or not."""

    low: float
    high: float
    is_log: bool = False

    def place_x(self, value: float) -> str:
        """Return the place of a value from the left."""
        return place(self._find(value))

    def place_y(self, value: float) -> str:
        """Return the place of a value from the top, where high values are."""
        return place(1 - self._find(value))

    def list_ticks(self) -> list[float]:
        """Return round numbers between both ends, six at most."""
        if self.is_log:
            powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
            for parts in ((1, 2, 5), (1,)):
                ticks = [part * 10.0**power for power in powers for part in parts]
                ticks = [one for one in ticks if self.low <= one <= self.high]
                if len(ticks) <= _MOST_TICKS:
                    return ticks
            return ticks[:: -(-len(ticks) // _MOST_TICKS)]
        rough = (self.high - self.low) / _MOST_TICKS
        power = 10.0 ** math.floor(math.log10(rough))
        step = next(part * power for part in (1, 2, 5, 10) if part * power >= rough)
        return [step * one for one in range(math.ceil(self.low / step), math.floor(self.high / step) + 1)]

    def _find(self, value: float) -> float:
        low, high, here = map(math.log, (self.low, self.high, value)) if self.is_log else (self.low, self.high, value)
        return (here - low) / (high - low)


def fit_scale(values: Iterable[float], *, may_be_log: bool = False) -> Scale:
    """Return an axis that has all values, with a margin; of magnitudes, if it may be and they differ twentyfold."""
    several = list(values)
    low, high = min(several), max(several)
    if may_be_log and 0 < low * 20 <= high:
        margin = (high / low) ** _MARGIN
        return Scale(low / margin, high * margin, True)
    if low == high:
        low, high = low - (abs(low) or 1) / 2, high + (abs(high) or 1) / 2
    margin = (high - low) * _MARGIN
    return Scale(max(low - margin, 0) if low >= 0 else low - margin, high + margin)


def place(share: float) -> str:
    """Return a share of the width or the height."""
    return f"{100 * share:.4g}%"
