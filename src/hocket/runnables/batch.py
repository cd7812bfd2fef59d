"""Many calls at once: the engine behind every form of batch.

Workers pull inputs as they become free: an endless input is fine, a slow item holds up only its own worker, and memory
does not grow with the number of items. Every outcome carries the index of its input. The first failure cancels the rest,
unless failures are wanted as outcomes.
"""

from collections.abc import (
    AsyncIterable,
    AsyncIterator,
    Awaitable,
    Callable,
    Iterable,
    Iterator,
    Sequence,
    Sized,
)
from typing import Any, Generic, TypeVar, cast

import anyio

from hocket._runtime.cancellation import is_cancelled, only
from hocket._runtime.clock import Turns
from hocket.errors import HocketError, InvalidInput
from hocket.runnables.config import RunnableConfig, ensure_config, mark_resolved

__all__ = ["Batch", "Configs"]

Input = TypeVar("Input")
Output = TypeVar("Output")
Configs = RunnableConfig | Sequence[RunnableConfig] | None
"""A config for all items, one for each, or none."""

AT_ONCE = 100
_END: Any = object()


class Batch(Generic[Input, Output]):
    """One batch.

    Args:
        call: makes one call.
        inputs: an iterable or async iterable, pulled only as far as needed.
        config: for every item (its ``run_id`` for the first alone), or one for each.
        return_exceptions: whether an item's exception is its outcome, instead of the end of the batch.
        tells_index: whether the exception that ends the batch gets a note of the item's index. The inputs themselves
            may be private, and stay out of it.

    Raises:
        InvalidInput: ``inputs`` cannot be iterated, or the number of configs is not that of the inputs.
    """

    def __init__(
        self,
        call: Callable[[Input, RunnableConfig], Awaitable[Output]],
        inputs: Iterable[Input] | AsyncIterable[Input],
        config: Configs,
        *,
        return_exceptions: bool,
        tells_index: bool = False,
    ) -> None:
        self._call = call
        self._async_inputs: AsyncIterator[Input] | None = None
        self._inputs: Iterator[Input] = iter(())
        if isinstance(inputs, AsyncIterable):
            self._async_inputs = aiter(inputs)
        elif isinstance(inputs, Iterable) and not isinstance(inputs, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            self._inputs = iter(inputs)
        else:
            raise InvalidInput(f"a batch takes an iterable of inputs, not {type(inputs).__name__}")
        self._size = len(inputs) if isinstance(inputs, Sized) else None
        self._take_configs(config)
        self._return_exceptions = return_exceptions
        self._tells_index = tells_index
        self._next_index = 0
        self._workers = 0
        self._is_hiring = False
        self._pulling = anyio.Lock()
        self._failure: BaseException | None = None
        self._put: Callable[[tuple[int, Output]], Awaitable[None] | None] = lambda item: None

    def _take_configs(self, config: Configs) -> None:
        self._configs: list[RunnableConfig] | None = None
        if isinstance(config, Sequence) and not isinstance(config, str):
            if self._size is not None and len(config) != self._size:
                raise InvalidInput(
                    f"{len(config)} configs were given for {self._size} inputs; give one, or one for each"
                )
            self._configs = [ensure_config(one) for one in config]
        first = self._configs[0] if self._configs else ensure_config(cast("RunnableConfig | None", config))
        limit = first.get("max_concurrency")
        self._limit = AT_ONCE if limit is None else limit
        self._first = first
        self._rest = mark_resolved({key: value for key, value in first.items() if key != "run_id"})

    async def run(self, put: Callable[[tuple[int, Output]], Awaitable[None] | None]) -> None:
        """Make the calls; ``put((index, outcome))`` takes the outcomes in the order in which the calls end.

        With ``return_exceptions`` an outcome may be an exception, too.

        Raises:
            BaseException: the first failure of an item, as itself, after the other calls were cancelled.
        """
        self._put = put
        try:
            async with anyio.create_task_group() as self._group:
                self._hire()
        except BaseExceptionGroup as errors:
            raise only(errors) from None
        if self._failure is not None:
            raise self._failure

    async def collect(self) -> list[Output]:
        """Make the calls and return their outcomes, in the order of the inputs. Raises as `run`."""
        outcomes: dict[int, Output] = {}
        await self.run(lambda outcome: outcomes.__setitem__(*outcome))
        return [outcomes[index] for index in range(len(outcomes))]

    def _hire(self) -> None:
        self._workers += 1
        self._is_hiring = True
        self._group.start_soon(self._run_worker)

    async def _run_worker(self) -> None:
        self._is_hiring = False
        turns = Turns()
        try:
            while True:
                await turns.share()
                if self._async_inputs is None:
                    item = next(self._inputs, _END)
                else:
                    async with self._pulling:
                        item = await anext(self._async_inputs, _END)
                if item is _END or self._failure is not None:  # which cancels this worker at its next wait only
                    return
                index = self._next_index
                self._next_index += 1
                if not self._is_hiring and self._workers < self._limit and self._workers != self._size:
                    self._hire()  # one at a time: calls that never wait are all made by the first worker
                config = self._get_config(index)
                try:
                    outcome = await self._call(item, config)
                except Exception as error:
                    if not self._return_exceptions:
                        if self._tells_index:
                            _note_index(error, index)
                        raise
                    outcome = cast(Output, error)
                waiting = self._put((index, outcome))
                if waiting is not None:
                    await waiting
        except BaseException as error:
            if is_cancelled() and isinstance(error, anyio.get_cancelled_exc_class()):
                raise
            self._failure = self._failure or error
            self._group.cancel_scope.cancel()

    def _get_config(self, index: int) -> RunnableConfig:
        if self._configs is None:
            return self._rest if index else self._first
        if index >= len(self._configs):
            raise InvalidInput(f"{len(self._configs)} configs were given for more inputs; give one, or one for each")
        return self._configs[index]


def _note_index(error: Exception, index: int) -> None:
    """Say in an exception at which input of a batch it was raised."""
    if isinstance(error, HocketError):
        error.batch_index = index
    note = f"at index {index} of the batch"
    if note not in getattr(error, "__notes__", ()):  # equal calls in flight share their error
        error.add_note(note)
