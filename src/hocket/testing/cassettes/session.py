"""What holds for every cassette of a test session, as its command line says."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["Session", "get_session", "use_session"]


@dataclass
class Session:
    """What holds for cassettes that do not say otherwise.

    Attributes:
        record: as for `hocket.testing.cassette`; None: nothing was said.
        max_age: days that a recording may be old; None: any age will do.
        strict: recordings that nobody asks for are failures.
        is_pytest: the plugin is there, and so are its options.
        written: what was recorded, and how many exchanges in each file.
    """

    record: Literal["none", "once", "new", "all"] | None = None
    max_age: float | None = None
    strict: bool = False
    is_pytest: bool = False
    written: dict[Path, int] = field(default_factory=dict[Path, int])


_session = Session()


def get_session() -> Session:
    """Return what holds."""
    return _session


def use_session(session: Session) -> Session:
    """Have something else hold, and return what held before."""
    global _session
    before, _session = _session, session
    return before
