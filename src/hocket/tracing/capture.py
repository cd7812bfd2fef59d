"""Whether the content of messages goes into spans and events: by default it goes nowhere."""

import os
import warnings
from typing import NamedTuple

from hocket.errors import HocketWarning, InvalidInput
from hocket.tracing.conventions import CAPTURE_VARIABLE

__all__ = ["Capture", "read_capture"]


class Capture(NamedTuple):
    """Where content goes.

    Attributes:
        in_spans: as attributes of spans.
        in_events: in an event for each call of a model.
    """

    in_spans: bool = False
    in_events: bool = False

    @property
    def is_on(self) -> bool:
        """Whether it goes anywhere."""
        return self.in_spans or self.in_events


_WORDS = {
    "NO_CONTENT": Capture(),
    "SPAN_ONLY": Capture(in_spans=True),
    "EVENT_ONLY": Capture(in_events=True),
    "SPAN_AND_EVENT": Capture(in_spans=True, in_events=True),
    "TRUE": Capture(in_spans=True, in_events=True),
    "FALSE": Capture(),
}


def read_capture(value: bool | str | None) -> Capture:
    """Return what ``capture_content`` means; None: what the environment says (`CAPTURE_VARIABLE`).

    An unknown word in the environment warns, and means that content is off.

    Raises:
        InvalidInput: ``value`` is an unknown word, or something else.
    """
    words = ", ".join(list(_WORDS)[:4])
    if value is None:
        said = os.environ.get(CAPTURE_VARIABLE, "").strip()
        found = _WORDS.get(said.upper() or "NO_CONTENT")
        if found is None:
            warnings.warn(
                f"{CAPTURE_VARIABLE} is {said!r}; content stays off. It may be one of {words}, true and false",
                HocketWarning,
                stacklevel=4,
            )
        return found or Capture()
    if isinstance(value, bool):
        return _WORDS[str(value).upper()]
    found = _WORDS.get(value.strip().upper()) if isinstance(value, str) else None  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
    if found is None:
        raise InvalidInput(f"capture_content is {value!r}; it may be True, False, None, or one of {words}")
    return found
