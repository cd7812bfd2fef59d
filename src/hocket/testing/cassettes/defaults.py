"""What holds for every cassette of a test session, as its command line says."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

__all__ = ["CassetteDefaults", "RecordMode", "get_defaults", "use_defaults"]

RecordMode = Literal["none", "once", "new", "all"]
"""What is recorded: nothing, all if there is no file, what the file has not, or all again."""


@dataclass
class CassetteDefaults:
    """What holds for cassettes that do not say otherwise.

    Attributes:
        record: as for `hocket.testing.cassette`; None: nothing was said.
        max_age: days that a recording may be old; None: any age will do.
        strict: recordings that nobody asks for are failures.
        is_pytest: the plugin is there, and so are its options.
        written: what was recorded, and how many exchanges in each file; 0: it was not written, since a call failed.
    """

    record: RecordMode | None = None
    max_age: float | None = None
    strict: bool = False
    is_pytest: bool = False
    written: dict[Path, int] = field(default_factory=dict[Path, int])


_defaults = CassetteDefaults()


def get_defaults() -> CassetteDefaults:
    """Return what holds."""
    return _defaults


def use_defaults(defaults: CassetteDefaults) -> CassetteDefaults:
    """Have something else hold, and return what held before."""
    global _defaults
    before, _defaults = _defaults, defaults
    return before
