"""What keeps a bulk run from beginning, or ends it, or leaves it under way."""

from hocket.errors import HocketError

__all__ = [
    "BatchBusy",
    "BatchExpired",
    "BatchFailed",
    "BatchFileFailed",
    "BatchPending",
    "ResumeMismatch",
    "TooManyFailures",
]


class BatchBusy(HocketError, RuntimeError):
    """Another run writes to the file."""


class BatchExpired(HocketError, RuntimeError):
    """The batches that a row was in ended, or were cancelled, before the provider ran it: the next run asks again."""


class BatchFailed(HocketError, RuntimeError):
    """The provider refused a batch as a whole, and ran none of its rows: the next run asks them."""


class BatchFileFailed(HocketError, OSError):
    """The file cannot be opened or written, as on a disk that is full; what is in it stays, and can be gone on with."""


class BatchPending(HocketError, RuntimeError):
    """Batches are under way at the provider, and the time to wait for them is over: the same call collects them later."""


class ResumeMismatch(HocketError, ValueError):
    """The file holds the answers of another model, or to other rows: take another file, or ``on_mismatch="redo"``."""


class TooManyFailures(HocketError, RuntimeError):
    """So many rows failed one after another that the next ones would, too; its cause is the error of the last one."""
