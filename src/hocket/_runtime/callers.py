"""Warnings that point at the line of the user's program that they are about."""

import inspect
import warnings
from pathlib import Path
from types import FrameType

__all__ = ["warn_caller"]

_HOCKET = str(Path(__file__).parents[1])


def warn_caller(message: str, category: type[Warning]) -> None:
    """Warn where hocket was called; Python shows a warning once for each such line."""
    frame: FrameType | None = inspect.currentframe()
    level = 1
    while frame is not None and frame.f_code.co_filename.startswith(_HOCKET):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)
