"""The stage for Ray Data, called as Ray calls it; where Ray is installed, by Ray."""

import importlib.util
import pickle
from typing import Any

import pytest

from hocket.batch import ray_stage
from hocket.language_models import FakeListChatModel
from hocket.runnables import RunnableLambda


def shout(row: str) -> str:
    if row == "bad":
        raise ValueError("not this one")
    return row.upper()


def test_a_batch_of_columns() -> None:
    """Answers and errors in columns of their own, the others as they were."""
    stage = ray_stage(RunnableLambda(shout), column="text", output="answer")()
    assert stage({"text": ["a", "bad", "c"], "n": [1, 2, 3]}) == {
        "text": ["a", "bad", "c"],
        "n": [1, 2, 3],
        "answer": ["A", "", "C"],
        "error": ["", "ValueError: not this one", ""],
    }


def test_cells_of_numpy() -> None:
    """Are Python's texts for the model."""
    numpy = pytest.importorskip("numpy")
    stage = ray_stage(RunnableLambda(lambda row: type(row).__name__))()
    assert stage({"input": numpy.array(["a"])})["output"] == ["str"]


def test_a_model_travels() -> None:
    """By pickle, as Ray sends it."""
    model = pickle.loads(pickle.dumps(FakeListChatModel(responses=["yes"])))
    assert ray_stage(model)()({"input": ["hi"]})["output"] == ["yes"]


@pytest.mark.filterwarnings("ignore")  # Ray's own
@pytest.mark.skipif(not importlib.util.find_spec("ray"), reason="Ray is not installed: pip install 'hocket[ray]'")
def test_ray_calls_it() -> None:
    """In actors, which leave Ray Data a CPU."""
    import ray  # pyright: ignore  # an extra

    ray.init(num_cpus=2, include_dashboard=False, logging_level="ERROR")
    try:
        rows: Any = ray.data.from_items([{"text": f"row {number}"} for number in range(100)])
        stage = ray_stage(RunnableLambda(shout), column="text")
        done = rows.map_batches(stage, concurrency=1, num_cpus=0.1, batch_size=20).take_all()
        assert sorted(one["output"] for one in done) == sorted(f"ROW {number}" for number in range(100))
    finally:
        ray.shutdown()
