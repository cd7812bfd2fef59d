"""Many searches of one matrix at the same time."""

import time
from array import array
from concurrent.futures import ThreadPoolExecutor

import pytest

from hocket.vectorstores.matrix import make_rows

SIZE, COUNT, SEARCHES = 384, 20_000, 40


def test_searches_at_once_cost_what_they_cost_one_after_another() -> None:
    """Threads of the library below numpy do not wait for one another: before, forty at once took many times as long."""
    numpy = pytest.importorskip("numpy")
    rows = make_rows(SIZE, COUNT)
    vectors = numpy.random.default_rng(0).standard_normal((COUNT, SIZE)).astype("float32")
    rows.append(array("f", vector.tobytes()) for vector in vectors)
    asked, alive = array("f", vectors[7].tobytes()), b"\1" * COUNT

    def search(_: int) -> int:
        return rows.search(asked, 1, alive)[0][0]

    def measure(workers: int) -> float:
        with ThreadPoolExecutor(workers) as pool:
            began = time.process_time()
            assert set(pool.map(search, range(SEARCHES))) == {7}
            return time.process_time() - began

    measure(1)  # what is loaded first
    bound = 4 * max(measure(1), 0.02)
    assert any(measure(SEARCHES) < bound for _ in range(3))
