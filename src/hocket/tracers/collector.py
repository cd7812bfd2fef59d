"""The runs of a block, kept as objects."""

from uuid import UUID

from hocket.callbacks.run_listeners import Listening
from hocket.runnables.run_record import Run
from hocket.tracers.base import BaseTracer

__all__ = ["RunCollectorCallbackHandler", "collect_runs"]


class RunCollectorCallbackHandler(BaseTracer):
    """Keeps the runs that it hears of, as far as they are inside no other.

    Args:
        example_id: noted on each, as ``extra["reference_example_id"]``.

    Attributes:
        traced_runs: in the order of their ends.
    """

    run_inline = True
    name: str = "run-collector_callback_handler"

    def __init__(self, example_id: UUID | str | None = None) -> None:
        super().__init__()
        self.example_id: UUID | None = UUID(example_id) if isinstance(example_id, str) else example_id
        self.traced_runs: list[Run] = []

    def _persist_run(self, run: Run) -> None:
        if self.example_id is not None:
            run.extra["reference_example_id"] = self.example_id
        self.traced_runs.append(run)


class _Collecting(Listening):
    """`Listening`, typed for its handler."""

    def __enter__(self) -> RunCollectorCallbackHandler:
        super().__enter__()
        assert isinstance(self.handler, RunCollectorCallbackHandler)
        return self.handler


def collect_runs() -> _Collecting:
    """Return a context manager that keeps every run made in its block, as ``traced_runs`` of what it gives.

    Examples:
        >>> from hocket.language_models import FakeListChatModel
        >>> with collect_runs() as collected:
        ...     reply = FakeListChatModel(responses=["hi"]).invoke("hello")
        >>> [(run.name, run.inputs) for run in collected.traced_runs]
        [('FakeListChatModel', {'prompts': ['Human: hello']})]
    """
    return _Collecting(RunCollectorCallbackHandler())
