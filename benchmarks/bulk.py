"""A bulk run: what a row costs beside the model's own call, with its line in the file.

The model answers at once, so that nothing is measured but the run: to take the row, to know whether it is done, to count
tokens and cost, to write the line. LangChain has nothing of the kind; bare is the same model asked for the same rows by
``abatch``.
"""

import os
import tempfile
from collections.abc import Iterator
from typing import Any

from .bench import Bench, Case, awaiting
from .harness import Body, Target, measure
from .library import library
from .table import Row

__all__ = ["CASES"]

ROWS = 2_000


def bulk(bench: Bench) -> Iterator[Row]:
    """Ask for some rows into a file, and for the same rows without one."""
    from hocket.batch import arun_batch

    model: Any = library("hocket").language_models.FakeListChatModel(responses=["yes"])
    questions = [f"Is this review positive? Review {number}." for number in range(ROWS)]

    def run() -> Body:
        async def into_a_file() -> None:
            with tempfile.TemporaryDirectory() as folder:
                await arun_batch(model, questions, os.path.join(folder, "out.jsonl"))

        return awaiting(into_a_file)

    samples = measure({"hocket": run, "bare": lambda: awaiting(lambda: model.abatch(questions))}, bench.plan, per=ROWS)
    whole, alone = samples.median("hocket"), samples.median("bare")
    yield Row(
        bench.case,
        "a row of a bulk run, beside the model's own call",
        hocket=None if whole is None or alone is None else whole - alone,
        bare=alone,
        target=Target(60, over=None),
        rounds=samples.rounds,
        failure="; ".join(f"{name}: {why}" for name, why in samples.failures.items()) or None,
    )


CASES: dict[str, Case] = {"bulk": bulk}
