"""Rows that failed one after another: so many that the next ones would, too."""

__all__ = ["FailureStreak"]

FAILED = 1


class FailureStreak:
    """Counts rows that failed in a row, in the order in which they were asked for, whichever ended first.

    By their ends quick failures would make up a row of their own, while slow answers are still to come.

    Args:
        longest: so many are too many; None: any number is well.
    """

    def __init__(self, longest: int | None) -> None:
        self._longest = longest
        self._outcomes = bytearray()

    def begin(self) -> int:
        """Return the place of a row that is asked for now."""
        if self._longest is not None:
            self._outcomes.append(0)
        return len(self._outcomes) - 1

    def fail(self, place: int) -> bool:
        """Note that a row failed.

        Returns:
            whether it is one of too many.
        """
        if self._longest is None:
            return False
        outcomes = self._outcomes
        outcomes[place] = FAILED
        first = last = place
        while first > 0 and outcomes[first - 1] == FAILED and last - first + 1 < self._longest:
            first -= 1
        while last + 1 < len(outcomes) and outcomes[last + 1] == FAILED and last - first + 1 < self._longest:
            last += 1
        return last - first + 1 >= self._longest
