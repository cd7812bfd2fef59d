"""Rows of any kind: known again by what they say, whatever holds it; and what they cost, if somebody knows."""

import array
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hocket.batch import BatchReport, ResumeMismatch, arun_batch, read_batch
from hocket.batch.digest import find_digest
from hocket.cli.batch_rows import InputFile
from hocket.errors import InvalidInput
from hocket.prices import Price, price_of, set_prices
from hocket.providers.openai import ChatOpenAI
from hocket.runnables import RunnableLambda
from hocket.testing import OpenAIFormat, serve
from tests.kit.notebooks import require_packages


class Series:
    """A row of a table, as pandas has it."""

    def __init__(self, cells: dict[str, Any]) -> None:
        self.cells = cells

    def to_dict(self) -> dict[str, Any]:
        return self.cells

    def tolist(self) -> list[Any]:
        return [*self.cells.values()]


class Point:
    """Known by what it says of itself."""

    def __init__(self, x: int) -> None:
        self.x = x

    def __repr__(self) -> str:
        return f"Point({self.x})"


def numbers() -> dict[str, Any]:
    import numpy

    return {
        "int64": numpy.int64(3),
        "float32": numpy.float32(0.5),
        "bool": numpy.bool_(True),
        "text": numpy.str_("a"),
        "time": numpy.datetime64("2026-01-01"),
        "array": numpy.array([[1, 2], [3, 4]]),
        "objects": numpy.array(["a", None, numpy.int8(3)], dtype=object),
    }


ROWS: dict[str, Callable[[], Any]] = {
    "numpy": numbers,
    "numpy alone": lambda: numbers()["array"],
    "row of a table": lambda: Series({"a": numbers()["int64"], "b": "x", "c": datetime(2026, 1, 1, tzinfo=UTC)}),
    "array": lambda: {"a": array.array("d", [1, 2])},
    "object that says what it is": lambda: {"a": Point(1)},
}


@pytest.mark.parametrize("make", ROWS.values(), ids=ROWS)
async def test_equal_rows_are_the_same_rows(tmp_path: Path, make: Callable[[], Any]) -> None:
    """Though they are other objects: a second run goes on."""
    require_packages("numpy")
    out = tmp_path / "out.jsonl"
    chain = RunnableLambda(lambda row: "done")
    await arun_batch(chain, [make(), make()], out)
    assert (await arun_batch(chain, [make(), make()], out)).skipped == 2
    with pytest.raises(ResumeMismatch, match="row 1 of"):
        await arun_batch(chain, [make(), "other"], out)


def test_values_count_and_not_what_holds_them() -> None:
    """The rows of a table are those of its records."""
    require_packages("numpy")
    import numpy

    plain = {"n": 3, "x": 0.5, "list": [1, 2], "when": datetime(2026, 1, 1, tzinfo=UTC)}
    held = {"n": numpy.int64(3), "x": numpy.float64(0.5), "list": numpy.array([1, 2]), "when": plain["when"]}
    assert find_digest(0, plain) == find_digest(0, held) == find_digest(0, Series(held))
    assert find_digest(0, {"n": 3}) != find_digest(0, {"n": numpy.int64(4)})


@pytest.mark.parametrize(
    ("row", "named"),
    [
        ({"id": 1, "image": object()}, "row 0 again: its column 'image' holds a object"),
        (Series({"id": 1, "image": object()}), "its column 'image' holds a object"),
        ([1, object()], "item 1 is a object"),
        (object(), "it is a object"),
    ],
)
async def test_a_row_that_nobody_could_know_again_is_refused_at_once(tmp_path: Path, row: Any, named: str) -> None:
    asked: list[object] = []
    with pytest.raises(InvalidInput, match=named):
        await arun_batch(RunnableLambda(asked.append), [row, "b"], tmp_path / "out.jsonl")
    assert asked == []


async def test_a_table_is_refused_with_the_way_out(tmp_path: Path) -> None:
    """Iterated, it gives the names of its columns."""

    class DataFrame:
        def __iter__(self) -> Iterator[str]:
            return iter(["id", "text"])

    class Polars(DataFrame):
        iter_rows = None

    for table, way_out in ((DataFrame(), r'df\.to_dict\("records"\)'), (Polars(), r"df\.iter_rows\(named=True\)")):
        with pytest.raises(InvalidInput, match=way_out):
            await arun_batch(RunnableLambda(str), table, tmp_path / "out.jsonl")


async def test_ids_are_plain(tmp_path: Path) -> None:
    """A number of numpy's is a number; a function may say that a row has none."""
    require_packages("numpy")
    import numpy

    out = tmp_path / "out.jsonl"
    rows = [{"id": numpy.int64(7)}, {"id": None}]
    await arun_batch(RunnableLambda(lambda row: "done"), rows, out, id="id", max_concurrency=1)
    assert [row.id for row in read_batch(out)] == [7, None]
    assert "id" not in json.loads(out.read_text().splitlines()[2])


def test_a_line_of_text_has_no_id(tmp_path: Path) -> None:
    rows = tmp_path / "in.jsonl"
    rows.write_text('"one"\n{"input": "two"}\n{"id": "c", "input": "three"}\n')
    source = InputFile(str(rows), None)
    assert [source.find_id(row) for row in source.read()] == [None, None, "c"]


async def run_priced(out: Path, priced: int, unpriced: int) -> BatchReport:
    """Ask a model that costs a dollar a row, one that nobody knows the price of, and for one row none at all."""
    async with serve(OpenAIFormat(), lambda request: "yes") as server:
        models = {name: ChatOpenAI(model=name, base_url=server.url, api_key="a-key") for name in ("m", "n")}

        async def ask(name: str) -> str:
            return (await models[name].ainvoke("x")).text if name else "free"

        rows = ["n"] * unpriced + ["m"] * priced + [""]
        return await arun_batch(RunnableLambda(ask), rows, out, max_concurrency=1, version="1")


@pytest.fixture
def price() -> Iterator[None]:
    set_prices({"m": Price("500000", "500000")})
    assert price_of("n", "openai") is None  # the tables are read here: a test's event loop refuses to read files
    yield
    set_prices({"m": None})


@pytest.mark.usefixtures("price")
@pytest.mark.parametrize(
    ("priced", "unpriced", "cost", "told"),
    [
        (2, 0, Decimal(2), "$2.0000"),
        (1, 2, Decimal(1), "at least $1.0000"),
        (0, 2, None, "unknown"),
        (0, 0, Decimal(0), "$0.0000"),
    ],
)
async def test_a_cost_that_nobody_knows_is_none(
    tmp_path: Path, priced: int, unpriced: int, cost: Decimal | None, told: str
) -> None:
    """In this run, and read from its file; sums have no zeros at their ends."""
    out = tmp_path / "out.jsonl"
    report = await run_priced(out, priced, unpriced)
    again = await run_priced(out, priced, unpriced)
    for one in report, again:
        assert (str(one.cost), one.unpriced, one.priced) == (str(cost), unpriced, priced)
        assert f"<td>{told}</td>" in one._repr_html_()
    assert again.skipped == priced + unpriced + 1
    assert [str(row.cost) for row in read_batch(out)] == ["None"] * unpriced + ["1"] * priced + ["0"]
