"""What keeps a bulk run from beginning, or ends it."""

from hocket.errors import HocketError

__all__ = ["BatchBusy", "BatchFileFailed", "ResumeMismatch", "TooManyFailures"]


class BatchBusy(HocketError, RuntimeError):
    """Another run writes to the file."""


class BatchFileFailed(HocketError, OSError):
    """The file cannot be opened or written, as on a disk that is full; what is in it stays, and can be gone on with."""


class ResumeMismatch(HocketError, ValueError):
    """The file holds the answers of another model, or to other rows: take another file, or ``on_mismatch="redo"``."""


class TooManyFailures(HocketError, RuntimeError):
    """So many rows failed one after another that the next ones would, too; its cause is the error of the last one."""
