"""What a row costs is looked up where nothing waits for it."""

import threading
from pathlib import Path
from typing import Any

import pytest

from hocket.batch import arun_batch
from hocket.language_models import ScriptedChatModel, Turn
from hocket.prices import Price, lookup, packaged

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
