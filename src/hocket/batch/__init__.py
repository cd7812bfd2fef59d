"""Bulk runs: a model, or anything runnable, asked for each of many rows, into a file that is the journal too.

    from hocket.batch import arun_batch

    report = await arun_batch(model, texts, "answers.jsonl")
    print(report.ok, report.failed, report.cost)

A run that is killed and started again goes on where it was: no row is lost, none is answered twice.

- `run`: the run.
- `journal`: the file.
- `streak`: rows that failed one after another.
- `report`: what it came to.
- `progress`: where it shows how far it is.
- `meter`: what a row used and cost.
- `ray`: a stage for Ray Data, for many machines.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.batch.errors import BatchBusy, BatchFileFailed, ResumeMismatch, TooManyFailures
    from hocket.batch.journal import read_batch
    from hocket.batch.ray import ray_stage
    from hocket.batch.report import BatchReport, BatchRow
    from hocket.batch.run import arun_batch, run_batch

__all__ = [
    "BatchBusy",
    "BatchFileFailed",
    "BatchReport",
    "BatchRow",
    "ResumeMismatch",
    "TooManyFailures",
    "arun_batch",
    "ray_stage",
    "read_batch",
    "run_batch",
]

_LATER = {
    "errors": "BatchBusy BatchFileFailed ResumeMismatch TooManyFailures",
    "journal": "read_batch",
    "ray": "ray_stage",
    "report": "BatchReport BatchRow",
    "run": "arun_batch run_batch",
}

__getattr__: Loader = loader(__name__, _LATER)
