"""What a row costs is looked up where nothing waits for it."""

import threading
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from hocket._metering.batch_row import BatchPlace, batch_place
from hocket.batch import arun_batch
from hocket.batch.meter import RowMeter, row_meter
from hocket.language_models import ScriptedChatModel, Turn
from hocket.prices import Price, lookup, packaged, set_prices

USAGE = {"input_tokens": 1_000_000, "output_tokens": 0, "total_tokens": 1_000_000}


async def test_tables_of_prices_are_not_loaded_on_the_event_loop(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes a third of a second, once."""
    threads = list[threading.Thread]()

    def find(name: str, provider: str | None) -> Price:
        threads.append(threading.current_thread())
        return Price(2, 10)

    def is_loaded() -> bool:
        return False

    monkeypatch.setattr(lookup, "_find_packaged", lookup._find_packaged.__wrapped__)  # which keeps nothing for others
    monkeypatch.setattr(packaged, "find_price", find)
    monkeypatch.setattr(packaged, "is_loaded", is_loaded)
    turn: Any = Turn(text="ok", usage=USAGE)
    model = ScriptedChatModel(script=[turn])
    report = await arun_batch(model, ["a"], tmp_path / "out.jsonl")
    assert report.cost == 2
    assert threads and threading.current_thread() not in threads


@pytest.mark.parametrize(("in_a_batch", "cost"), [(Price("0.5", 1), Decimal("0.5")), (None, None)])
async def test_a_row_of_a_batch_costs_what_batches_cost(in_a_batch: Price | None, cost: Decimal | None) -> None:
    """Its tokens are counted; if it is not known what batches cost, the cost is not either."""
    set_prices({"scripted-chat-model": Price(1, 2, batch=in_a_batch)})
    meter = RowMeter()
    tokens = row_meter.set(meter), batch_place.set(BatchPlace("hk1", "file-1", 0.0))
    try:
        await ScriptedChatModel(script=[Turn(text="ok", usage=USAGE)]).ainvoke("hi")  # type: ignore[arg-type]
    finally:
        row_meter.reset(tokens[0])
        batch_place.reset(tokens[1])
        set_prices({"scripted-chat-model": None})
    assert (meter.cost, meter.attempts, meter.usage) == (cost, 1, USAGE)
