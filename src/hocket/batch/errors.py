"""What keeps a bulk run from beginning."""

from hocket.errors import HocketError

__all__ = ["BatchBusy", "ResumeMismatch"]


class BatchBusy(HocketError, RuntimeError):
    """Another run writes to the file."""


class ResumeMismatch(HocketError, ValueError):
    """The file holds the answers of another model, or to other rows: take another file, or ``on_mismatch="redo"``."""
