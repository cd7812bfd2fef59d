"""Runs that survive: an agent, a chain or a function is started under an id, and goes on in another process if its own dies.

See ``docs/durable.md``. It takes the extra ``durable``: ``pip install 'hocket[durable]'``.
"""

from hocket.durable.definition import Durable
from hocket.durable.engine import Engine, EngineState, Journal, Kind
from hocket.durable.run import Run
from hocket.durable.runs import Runs, current_run, open_runs
from hocket.durable.steps import sleep, step, wait_for
from hocket.durable.store import RunInfo

__all__ = [
    "Durable",
    "Engine",
    "EngineState",
    "Journal",
    "Kind",
    "Run",
    "RunInfo",
    "Runs",
    "current_run",
    "open_runs",
    "sleep",
    "step",
    "wait_for",
]
