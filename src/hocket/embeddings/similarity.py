"""How alike two vectors are."""

import math
import operator
from collections.abc import Sequence

__all__ = ["measure_cosine"]


def measure_cosine(first: Sequence[float], second: Sequence[float]) -> float:
    """Return the cosine of the angle between two vectors; 0 where one has no length."""
    lengths = math.hypot(*first) * math.hypot(*second)
    cosine = sum(map(operator.mul, first, second)) / lengths if lengths else 0.0
    return max(-1.0, min(1.0, cosine))  # rounding may drive it out
