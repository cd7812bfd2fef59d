"""Where rows come from: any iterable, or async iterable, a bit at a time and never all at once; and their own ids."""

import time
from collections.abc import AsyncIterable, AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Generic, TypeVar, cast

import anyio

from hocket._runtime.mode import ASYNC
from hocket.batch.digest import to_plain
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, near_name

__all__ = ["RowShape", "RowSource", "find_id"]

Row = TypeVar("Row")

_MOST = 64
_PATIENCE = 0.01


@dataclass(frozen=True)
class RowShape(Generic[Row]):
    """What is known of a row: its own id, what it asks, and what is written of its answer (`arun_batch`)."""

    id: str | Callable[[Row], object] | None = None
    input: Callable[[Row], object] | None = None
    write: Callable[[Row, object, float], object] | None = None

    def read_input(self, row: Row) -> object:
        """Return what the model is asked for a row."""
        return row if self.input is None else self.input(row)

    def write_answer(self, row: Row, answer: object, seconds: float) -> object:
        """Return what stands in the line of a row."""
        return answer if self.write is None else self.write(row, answer, seconds)


class RowSource(Generic[Row]):
    """Hands out rows with their numbers, one by one, to whichever task asks next.

    A sync iterable is read in a worker thread, since it may read a file: up to 64 rows at once, or what comes in 10 ms.

    Args:
        rows: what to read.

    Raises:
        InvalidInput: it is neither; a text is no iterable of rows, and a DataFrame is one of columns.
    """

    def __init__(self, rows: Iterable[Row] | AsyncIterable[Row]) -> None:
        self._async: AsyncIterator[Row] | None = None
        self._sync: Iterator[Row] = iter(())
        if any(kind.__name__ == "DataFrame" for kind in type(rows).__mro__):  # it would give the names of its columns
            way_out = "df.iter_rows(named=True)" if hasattr(rows, "iter_rows") else 'df.to_dict("records")'
            raise InvalidInput(f"rows is a DataFrame, which is iterated by its columns; give its rows: {way_out}")
        if isinstance(rows, AsyncIterable):
            self._async = aiter(rows)
        elif isinstance(rows, str | bytes) or not isinstance(rows, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"rows is {type(rows).__name__}; it must be a list, or an iterable, of what is asked")
        else:
            self._sync = iter(rows)
        self._ready: list[Row] = []
        self._number = 0
        self._is_over = False
        self._turn = anyio.Lock()

    def stop(self) -> None:
        """Hand out no more rows."""
        self._is_over = True

    async def take(self) -> tuple[int, Row] | None:
        """Return the next row and its number, from 0; None: there are no more."""
        async with self._turn:
            if self._is_over:
                return None
            if not self._ready:
                self._ready = (await self._read())[::-1]
            if not self._ready or self._is_over:
                self._is_over = True
                return None
            self._number += 1
            return self._number - 1, self._ready.pop()

    async def _read(self) -> list[Row]:
        if self._async is None:
            return await ASYNC.call_sync(self._read_some)
        async for row in self._async:
            return [row]
        return []

    def _read_some(self) -> list[Row]:
        until = time.monotonic() + _PATIENCE
        some: list[Row] = []
        for row in self._sync:
            some.append(row)
            if len(some) == _MOST or time.monotonic() >= until:
                break
        return some


def find_id(id: str | Callable[[Row], object], number: int, row: Row) -> object:
    """Return a row's own id; None: a function says that it has none.

    Raises:
        InvalidInput: it has none.
    """
    try:
        found: object = cast("Mapping[str, object]", row)[id] if isinstance(id, str) else id(row)
    except Exception as error:
        raise InvalidInput(_explain_id(id, number, row, error)) from error
    plain = found if isinstance(found, str | int) else to_plain(found)
    return plain if plain is None or isinstance(plain, str | int) else str(plain)


def _explain_id(id: object, number: int, row: object, error: Exception) -> str:
    if not isinstance(id, str):
        return f"id is a function that fails for row {number}: {type(error).__name__}: {error}"
    if not isinstance(row, Mapping):
        return f"id is {id!r}, a key, and row {number} is no mapping but {type(row).__name__}; give a function of a row"
    names = [str(name) for name in cast("Mapping[object, object]", row)]
    near = near_name(id, names)
    hint = "" if near is None else f"; did you mean {near!r}?"
    return f"id is {id!r}, which row {number} does not have; it has {excerpt(names, 300)}{hint}"
