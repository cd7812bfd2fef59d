"""Bulk runs: a model, or anything runnable, asked for each of many rows, into a file that is the journal too.

    from hocket.batch import arun_batch

    report = await arun_batch(model, texts, "answers.jsonl")
    print(report.ok, report.failed, report.cost)

A run that is killed and started again goes on where it was: no row is lost, none is answered twice.

- `run`: a bulk run, from its arguments to its report; `route`: how rows are asked; `runner`: its workers.
- `journal`: the file; `lines`: what is in it; `entry`: what it says of a batch at the provider;
  `replay`: what it says to others.
- `streak`: rows that failed one after another.
- `provider`: rows that a provider's batches answer; `chunks`: which go together;
  `submission`: a batch on its way; `lookup`: is there a batch already?
- `results`: what a batch gave; `wire`: a row's way through the chain; `patience`: how long is waited; `cancel`: an end.
- `report`: what it came to.
- `progress`: where it shows how far it is.
- `meter`: what a row used and cost.
- `context`: a bulk run over the pieces of documents.
- `ray`: a stage for Ray Data, for many machines.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.batch.cancel import acancel_batch, cancel_batch
    from hocket.batch.context import aadd_context, add_context
    from hocket.batch.errors import (
        BatchBusy,
        BatchExpired,
        BatchFailed,
        BatchFileFailed,
        BatchPending,
        ResumeMismatch,
        TooManyFailures,
    )
    from hocket.batch.lines import read_batch
    from hocket.batch.ray import ray_stage
    from hocket.batch.report import BatchReport, BatchRow
    from hocket.batch.run import arun_batch, run_batch

__all__ = [
    "BatchBusy",
    "BatchExpired",
    "BatchFailed",
    "BatchFileFailed",
    "BatchPending",
    "BatchReport",
    "BatchRow",
    "ResumeMismatch",
    "TooManyFailures",
    "aadd_context",
    "acancel_batch",
    "add_context",
    "arun_batch",
    "cancel_batch",
    "ray_stage",
    "read_batch",
    "run_batch",
]

_LATER = {
    "cancel": "acancel_batch cancel_batch",
    "context": "aadd_context add_context",
    "errors": "BatchBusy BatchExpired BatchFailed BatchFileFailed BatchPending ResumeMismatch TooManyFailures",
    "lines": "read_batch",
    "ray": "ray_stage",
    "report": "BatchReport BatchRow",
    "run": "arun_batch run_batch",
}

__getattr__: Loader = loader(__name__, _LATER)
