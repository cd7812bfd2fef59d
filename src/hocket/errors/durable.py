"""Durable runs that do not go on, or of which something is not known."""

from hocket.errors.own import HocketError
from hocket.errors.stores import StoreUnavailable

__all__ = [
    "EngineUnavailable",
    "OutcomeUnknown",
    "RunCanceled",
    "RunError",
    "RunExists",
    "RunFailed",
    "StepFailed",
    "UnknownRun",
]


class RunError(HocketError, RuntimeError):
    """Something about a durable run."""

    page = "durable.md"


class RunExists(RunError):
    """There is a run of this id, which was started with something else. Nothing was started."""

    page = "durable.md#ids"


class UnknownRun(RunError, LookupError):
    """There is no run of this id in this store."""


class RunFailed(RunError):
    """A run has ended with an error.

    Attributes:
        id: of the run.
        kind: the name of the error's class.
    """

    page = "durable.md#when-a-run-fails"

    def __init__(self, message: str, id: str = "", kind: str = "") -> None:
        super().__init__(message)
        self.id: str = id
        self.kind: str = kind


class RunCanceled(RunError):
    """A run was called off, by ``acancel()`` in whichever process."""


class OutcomeUnknown(RunError):
    """A step was begun in a process that died, and nobody saw its end: it may have been done, or not.

    Attributes:
        key: of the step.
    """

    page = "durable.md#steps"

    def __init__(self, message: str, key: str = "") -> None:
        super().__init__(message)
        self.key: str = key


class StepFailed(RunError):
    """A step has raised an error of a class that no other process need know.

    Attributes:
        kind: the name of that class.
    """

    page = "durable.md#steps"

    def __init__(self, message: str, kind: str = "") -> None:
        super().__init__(message)
        self.kind: str = kind


class EngineUnavailable(StoreUnavailable):
    """The store of durable runs cannot be reached: another try may do better. Nothing was started."""

    page = "durable.md#when-something-fails"
