"""Classes whose validator is built when it is first needed."""

import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hocket.load.serializable import Serializable

THREADS = 8


@pytest.fixture
def restless_threads() -> Iterator[None]:
    """Threads that interrupt one another at each turn."""
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("restless_threads")
def test_a_class_that_many_threads_need_first_is_built_once() -> None:
    """None of them gets the validator of the base class."""
    together = threading.Barrier(THREADS)

    for _ in range(10):

        class Base(Serializable):
            word: str

        class Late(Base):
            number: int

        def make(text: str, cls: type[Late] = Late) -> Late:
            together.wait()
            made = cls.__pydantic_validator__.validate_python({"word": text, "number": text})
            assert isinstance(made, cls)
            return made

        with ThreadPoolExecutor(THREADS) as pool:
            made = list(pool.map(make, map(str, range(THREADS))))
        assert [one.number for one in made] == list(range(THREADS))
