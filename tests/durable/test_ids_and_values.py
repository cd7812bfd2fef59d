"""Ids, and values: what is stored comes back as it was, in whichever process, and anything else is refused at once."""

import dataclasses
import pickle
import re
import sqlite3
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any, Literal
from uuid import UUID

import pytest
from pydantic import BaseModel

from hocket.documents import Document
from hocket.durable import current_run, open_runs, step, wait_for
from hocket.errors import InvalidInput, RunExists, RunFailed
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from tests.durable.conftest import RELEASE, until, work


@dataclasses.dataclass
class Order:
    """What somebody wants."""

    what: str
    when: date
    notes: tuple[str, ...] = ()


class Price(BaseModel):
    """What it costs."""

    amount: Decimal
    order: Order


class Line(BaseModel):
    """One of a bill."""

    kind: Literal["line"] = "line"
    price: Price | None = None


ORDER = Order("tea", date(2026, 3, 1), ("green", "loose"))
PRICE = Price(amount=Decimal("3.50"), order=ORDER)

PLAIN: list[Any] = [
    None,
    True,
    -(2**70),
    1e-7,
    "Grüße \U0001f375 \x00 \ud800",
    [1, ["a"], {"b": None}],
    {"deep": {"a": [1, [2]]}},
    {1: "a", "b": 2},
    {1, 2},
    frozenset({"a"}),
    b"\x00\xff",
    date(2026, 3, 1),
    datetime(2026, 3, 1, 12, 30, tzinfo=UTC),
    timedelta(days=3),
    Decimal("0.10"),
    UUID(int=7),
    HumanMessage("hi"),
    AIMessage("yes", tool_calls=[{"name": "pay", "args": {"amount": 3}, "id": "c", "type": "tool_call"}]),
    [HumanMessage("hi"), ToolMessage("done", tool_call_id="c", artifact={"a": 1})],
    Document("tea", metadata={"page": 3}),
    {"documents": [Document("tea")], "message": AIMessage([{"type": "text", "text": "hi"}])},
    "long " * 5000,
]


async def test_plain_values_come_back(either_url: str):
    """As an input, a step's result, a signal, and an output: equal, and of the same type."""

    async def give(at: int) -> Any:
        return PLAIN[at]

    async def echo(values: Any) -> Any:
        check(values)
        check([await step(give, at) for at in range(len(PLAIN))])
        check(await wait_for(RELEASE))
        return values

    def check(found: list[Any]) -> None:
        assert found == PLAIN
        assert [type(one) for one in found] == [type(one) for one in PLAIN]

    async with work(either_url, echo) as durable:
        run = await durable.astart(PLAIN, id="a")
        await run.asignal(RELEASE, PLAIN)
        check(await run.aresult())
    check(await open_runs(either_url).run("a").aresult())  # to somebody who knows nothing about the function


async def test_a_tuple_is_a_list(url: str):
    """As in JSON, unless an annotation says that it is one; the first time, too."""

    def give() -> Any:
        return (1, ("a",))

    def give_pair() -> tuple[int, str]:
        return (1, "a")

    async def report(value: Any) -> Any:
        assert await step(give) == [1, ["a"]]
        assert await step(give_pair) == (1, "a")
        return value

    async with work(url, report) as durable:
        assert await durable.ainvoke((1, ("a",))) == [1, ["a"]]


async def test_a_result_against_its_annotation(url: str):
    """A step that returns something else has failed, and says what is wrong; it is not made again."""
    calls: list[str] = []

    def give() -> list[Order]:
        calls.append("give")
        return [ORDER, {"what": "tea"}]  # type: ignore[list-item]

    async def report(topic: str) -> str:
        with pytest.raises(InvalidInput, match=r"annotation says"):
            await step(give)
        await wait_for(RELEASE)
        return topic

    for life in (1, 2):
        async with work(url, report) as durable:
            run = await durable.astart("tea", id="a")
            await until(run, "waiting", attempts=life)
    assert calls == ["give"]


async def test_annotations_say_what_comes_back(url: str):
    """Dataclasses and pydantic's models, of the function and of its steps, the first time and again."""
    seen: list[Any] = []

    async def find_price(order: Order) -> Price:
        return Price(amount=Decimal("3.50"), order=order)

    def list_lines(price: Price) -> list[Line]:
        return [Line(price=price), Line()]

    async def quote(order: Order) -> dict[str, Price]:
        price = await step(find_price, order)
        seen.append([order, price, await step(list_lines, price)])
        await wait_for(RELEASE)
        return {order.what: price}

    for life in (1, 2):
        async with work(url, quote) as durable:
            run = await durable.astart(ORDER, id="a")
            await until(run, "waiting", attempts=life)
            if life == 2:
                await run.asignal(RELEASE)
                assert await run.aresult() == {"tea": PRICE}
    assert seen == [[ORDER, PRICE, [Line(price=PRICE), Line()]]] * 2
    assert await open_runs(url).run("a").aresult() == {"tea": PRICE.model_dump(mode="json")}


async def test_an_input_is_what_the_annotation_says(url: str):
    """The function gets what it asks for, though it was started with the JSON of that."""

    async def quote(order: Order) -> str:
        assert isinstance(order, Order)
        return f"{order.what} {order.when:%d.%m.}"

    async with work(url, quote) as durable:
        assert await durable.ainvoke({"what": "tea", "when": "2026-03-01"}) == "tea 01.03."


class Odd:
    """An object that nobody can write down."""


async def test_what_cannot_be_stored_is_refused(url: str):
    """An input before anything is stored; an output when it comes: the run has failed, and its steps are kept."""
    calls: list[str] = []

    async def make(what: Any) -> Any:
        calls.append("make")
        return {"output": Odd(), "partly": [1, Odd()], "function": make}[what]

    async with work(url, make) as durable:
        for value in (Odd(), [1, Odd()], {"a": {Odd()}}, make, iter([1]), {Odd(): 1}):
            with pytest.raises(InvalidInput, match="the input of 'make' cannot be stored"):
                await durable.astart(value, id="odd")
        assert (calls, await open_runs(url).alist()) == ([], [])
        for what in ("output", "partly", "function"):
            with pytest.raises(RunFailed, match="what 'make' returned cannot be stored") as caught:
                await durable.ainvoke(what)
            assert caught.value.kind == "InvalidInput"


async def test_an_input_against_its_annotation(url: str):
    """It is refused when the run is started, and not when it is read."""

    async def quote(order: Order) -> str:
        return order.what

    async with work(url, quote) as durable:
        for value in ({"what": "tea"}, "tea", 3, None):
            with pytest.raises(InvalidInput, match="the input of 'quote'"):
                await durable.astart(value, id="a")
        assert await open_runs(url).alist() == []


async def test_nothing_is_pickled(url: str, tmp_path: Path):
    """What is on disk is text, which no program runs; what is long is compressed."""

    async def give(text: str) -> str:
        return text

    async def report(text: str) -> str:
        said = await step(give, text)
        await wait_for(RELEASE)
        return said

    long = "tea and biscuits " * 4000
    async with work(url, report) as durable:
        for at, text in enumerate(("short", long)):
            run = await durable.astart(text, id=str(at))
            await run.asignal(RELEASE)
            assert await run.aresult() == text
    with sqlite3.connect(tmp_path / "runs.db") as connection:
        cells = [
            cell
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall()
            for row in connection.execute(f"SELECT * FROM {table}")
            for cell in row
        ]
    connection.close()
    found = 0
    for cell in cells:
        assert not isinstance(cell, bytes)
        if isinstance(cell, str):
            assert len(cell) < 4096
            assert not cell.startswith(("gAS", "\x80"))  # how a pickle begins, in base64 too
            found += cell == '"{\\"value\\":\\"short\\"}"'
    assert found
    assert pickle.dumps(1)  # it would have been one


async def test_the_same_id_is_the_same_run(url: str):
    """With the same input: while it works and when it has ended; with another input or name there is one already."""
    calls: list[str] = []

    async def report(topic: str) -> str:
        calls.append(topic)
        await wait_for(RELEASE)
        return topic

    async def other(topic: str) -> str:
        return topic

    runs = open_runs(url)
    durable, another = runs.durable(report), runs.durable(other)
    async with runs:
        run = await durable.astart("tea", id="a", metadata={"n": 1})
        again = await durable.astart("tea", id="a", metadata={"n": 2}, timeout=0.001)
        await until(run, "waiting")
        for wrong, topic in ((durable, "coffee"), (another, "tea"), (another, "coffee")):
            with pytest.raises(RunExists, match="'a'"):
                await wrong.astart(topic, id="a")
        await run.asignal(RELEASE)
        assert [await run.aresult(), await again.aresult(), await durable.ainvoke("tea", id="a")] == ["tea"] * 3
        with pytest.raises(RunExists):
            await durable.astart("coffee", id="a")
        assert (await again.ainfo()).metadata == {"n": 1}
    assert calls == ["tea"]


async def test_equal_inputs_are_the_same(url: str):
    """However a mapping or a model is written."""

    async def quote(order: Order) -> str:
        return order.what

    async def echo(value: dict[str, int]) -> dict[str, int]:
        return value

    runs = open_runs(url)
    quoting, echoing = runs.durable(quote), runs.durable(echo)
    async with runs:
        await quoting.astart(ORDER, id="a")
        await quoting.astart(dataclasses.replace(ORDER), id="a")
        await echoing.astart({"a": 1, "b": 2}, id="b")
        await echoing.astart({"b": 2, "a": 1}, id="b")
        with pytest.raises(RunExists):
            await quoting.astart(dataclasses.replace(ORDER, what="coffee"), id="a")


async def test_ids_that_will_not_do(url: str):
    """They are refused before anything is stored."""

    async def report(topic: str) -> str:
        return topic

    async with work(url, report) as durable:
        for id in ("", "a" * 201, "a\nb", "a\x00", "\ud800", 3, b"a"):
            with pytest.raises(InvalidInput, match="id is"):
                await durable.astart("tea", id=id)  # type: ignore[arg-type]


async def test_ids_that_will_do(either_url: str):
    """Whatever is printable, up to 200 characters."""
    ids = ["a", "a" * 200, "order/7 #3 100%", "../../etc", "Grüße \U0001f375", "a'; DROP TABLE x"]

    async def report(topic: str) -> str:
        run = current_run()
        assert run is not None
        return run.id

    async with work(either_url, report) as durable:
        for id in ids:
            assert await durable.ainvoke("tea", id=id) == id
    assert sorted(info.id for info in await open_runs(either_url).alist()) == sorted(ids)


async def test_without_an_id(url: str):
    """Each run has one that nobody has."""

    async def report(topic: str) -> str:
        return topic

    async with work(url, report) as durable:
        ids = {(await durable.astart("tea")).id for _ in range(3)}
        assert len(ids) == 3
        assert all(re.fullmatch("[0-9a-f-]{36}", id) for id in ids)


async def test_runs_are_listed(url: str):
    """The newest first; of a name, of a status, and as many as one asks for."""

    async def report(topic: str) -> str:
        if topic == "fail":
            raise ValueError("odd")
        if topic == "wait":
            await wait_for(RELEASE)
        return topic

    async def other(topic: str) -> str:
        return topic

    runs = open_runs(url)
    durable, another = runs.durable(report), runs.durable(other, version="2")
    async with runs:
        for topic in ("done", "fail", "wait"):
            await until(await durable.astart(topic, id=topic), "done", "failed", "waiting")
        await another.ainvoke("x", id="other")
        listed = await runs.alist()
        assert [info.id for info in listed] == ["other", "wait", "fail", "done"]
        assert [info.status for info in listed] == ["done", "waiting", "failed", "done"]
        assert [(info.name, info.version) for info in listed][:2] == [("other", "2"), ("report", "1")]
        assert [info.error for info in listed] == [None, None, "ValueError: odd", None]
        assert [info.id for info in await runs.alist(name="report", limit=2)] == ["wait", "fail"]
        assert [info.id for info in await runs.alist(status="waiting")] == ["wait"]
        assert [info.id for info in await runs.alist(status="failed")] == ["fail"]
        assert [info.id for info in await runs.alist(status="running")] == []
        assert [info.id for info in await runs.alist(status="done", name="other")] == ["other"]
        first = listed[-1]
        assert first.created <= first.updated
        assert (first.attempts, first.metadata, first.waiting_for) == (1, {}, [])
        assert first.worker
