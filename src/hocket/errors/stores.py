"""Stores that fail: of conversations, of vectors, of what processes share, and of answers that outlive their readers."""

from typing import Any

from hocket.errors.own import HocketError

__all__ = [
    "AnswerBusy",
    "AnswerLost",
    "AnswerTooLarge",
    "EmbeddingMismatch",
    "HistoryBusy",
    "HistoryError",
    "HistoryLockLost",
    "HistoryUnavailable",
    "StoreError",
    "StoreUnavailable",
    "VectorStoreError",
    "VectorStoreUnavailable",
]


class HistoryError(HocketError, RuntimeError):
    """A store of conversations could not be read or written; its content is unchanged.

    Attributes:
        answer: the message of the model that could not be stored, if a turn failed at its end; else None.
    """

    answer: Any = None


class HistoryUnavailable(HistoryError):
    """The server of a store could not be reached, broke off, or took too long: another try may do better.

    Attributes:
        was_sent: whether something reached the server, as far as is known: if not, nothing can have been stored.
    """

    page = "histories.md#connections"
    was_sent: bool = True


class HistoryBusy(HistoryError, TimeoutError):
    """Another run has the conversation to itself, for longer than this one was to wait. See ``history.exclusive()``."""

    page = "histories.md#one-run-at-a-time"


class HistoryLockLost(HistoryUnavailable):
    """A run no longer has the conversation to itself, so its block of ``history.exclusive()`` was cancelled."""


class VectorStoreError(HocketError, RuntimeError):
    """A store of vectors could not be read or written; its content is unchanged."""


class VectorStoreUnavailable(VectorStoreError):
    """The server of a store could not be reached, broke off, or took too long: another try may do better."""

    page = "retrieval.md#stores"


class EmbeddingMismatch(VectorStoreError):
    """A store holds vectors of another embedding model, which are not comparable. Nothing was searched or stored."""

    page = "retrieval.md#stores"


class StoreError(HocketError, RuntimeError):
    """A store that processes share, as of a cache, a limit or live answers, could not be read or written."""

    page = "fleets.md#when-something-fails"


class StoreUnavailable(StoreError):
    """The server of a shared store could not be reached, broke off, or took too long: another try may do better."""


class AnswerBusy(HocketError, RuntimeError):
    """A live answer of this name is running: follow it, or stop it first. Nothing was asked."""

    page = "serving.md#answers-that-survive-a-closed-tab"


class AnswerLost(HocketError, RuntimeError):
    """The process of a live answer is gone. The part so far can be read."""

    page = "serving.md#answers-that-survive-a-closed-tab"


class AnswerTooLarge(HocketError, RuntimeError):
    """A live answer has more events than `LiveAnswers` keeps, and was stopped."""

    page = "serving.md#answers-that-survive-a-closed-tab"
