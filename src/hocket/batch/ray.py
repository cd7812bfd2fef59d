"""A stage for Ray Data: rows of many machines through one model.

Ray itself is not imported: it calls a class. What it pickles is the model; a model's key goes with it in the clear, into
Ray's object store and its spill files, so leave it out and set it in the workers' environment.
"""

from collections.abc import Mapping
from typing import Any, Protocol

from hocket.runnables import Runnable, RunnableConfig

__all__ = ["RayStage", "ray_stage"]


class RayStage(Protocol):
    """What Ray makes in each worker, and calls with each batch of columns."""

    def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]: ...


def ray_stage(
    model: Runnable[Any, Any],
    *,
    column: str = "input",
    output: str = "output",
    error: str = "error",
    max_concurrency: int = 100,
) -> type[RayStage]:
    """Return a class for ``Dataset.map_batches``.

        dataset.map_batches(ray_stage(model, column="text"), concurrency=2, num_cpus=0.1)

    Give actors a fraction of a CPU: a pool that takes all of them leaves Ray Data none to read with, and it hangs without a
    word. A run that is to be gone on with after a crash needs a cache that its workers share, such as `RedisCache`: Ray asks
    again for the batches that were lost.

    Args:
        model: asked for each row. It travels to the workers: cache, limiter, budget and ledger made from an address go with
            it, without the password.
        column: of what is asked.
        output: the column of the answers' texts, or data; "" where a row failed.
        error: the column of what went wrong; "" where nothing did.
        max_concurrency: rows that a worker asks for at once.
    """

    class Stage:
        def __init__(self) -> None:
            self.model = model

        def __call__(self, batch: Mapping[str, Any]) -> dict[str, Any]:
            rows = [_to_python(row) for row in batch[column]]
            config: RunnableConfig = {"max_concurrency": max_concurrency}
            answers: list[Any] = self.model.batch(rows, config, return_exceptions=True)
            return {**batch, output: [_to_cell(one) for one in answers], error: [_to_reason(one) for one in answers]}

    return Stage


def _to_python(value: Any) -> Any:
    """Return a cell as Python has it; numpy's texts are no ``str`` of their own."""
    return value.item() if hasattr(value, "item") else value


def _to_cell(answer: Any) -> Any:
    from hocket.batch.runner import write_output

    return "" if isinstance(answer, BaseException) else write_output(answer)


def _to_reason(answer: Any) -> str:
    return f"{type(answer).__name__}: {answer}" if isinstance(answer, BaseException) else ""
