"""Run ids: unique, sorted by time, and never given out twice, not even by a fork."""

import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, UUID, SafeUUID

import hypothesis.strategies as st
import pytest
from hypothesis import given

from hocket._runtime.clock import new_run_id, uuid_text


def milliseconds_of(made: UUID) -> int:
    return made.int >> 80


def test_a_hundred_thousand_are_all_different() -> None:
    """Ids do not repeat within one process."""
    assert len({new_run_id() for _ in range(100_000)}) == 100_000


def test_threads_never_get_the_same_one() -> None:
    """The generator may be used by many threads at once."""
    with ThreadPoolExecutor(8) as pool:
        batches = list(pool.map(lambda _: [new_run_id() for _ in range(5_000)], range(8)))
    assert len({made for batch in batches for made in batch}) == 40_000


def test_they_are_version_7_uuids() -> None:
    """Version and variant are those of RFC 9562, and everything that a UUID can do works."""
    for made in [new_run_id() for _ in range(1_000)]:
        assert made.version == 7
        assert made.variant == RFC_4122
        assert made.is_safe is SafeUUID.unknown
        assert UUID(str(made)) == UUID(bytes=made.bytes) == UUID(int=made.int) == made
        assert hash(UUID(str(made))) == hash(made)


def test_they_carry_the_time_at_which_they_were_made() -> None:
    """The first 48 bits are the milliseconds since 1970."""
    before = time.time_ns() // 1_000_000
    made = new_run_id()
    assert before <= milliseconds_of(made) <= time.time_ns() // 1_000_000


def test_they_sort_by_time() -> None:
    """An id made a millisecond later is greater, as a number and as text."""
    earlier = new_run_id()
    while milliseconds_of(later := new_run_id()) == milliseconds_of(earlier):
        pass
    assert earlier < later
    assert str(earlier) < str(later)


def test_all_74_random_bits_are_used() -> None:
    """No random bit is stuck at 0 or 1."""
    ones = zeros = 0
    for _ in range(200):
        ones |= new_run_id().int
        zeros |= ~new_run_id().int
    random_bits = ((1 << 76) - 1) & ~(0xF << 76) & ~(0x3 << 62)
    assert ones & random_bits == random_bits
    assert zeros & random_bits == random_bits


def test_the_users_seed_changes_nothing() -> None:
    """`random.seed` makes a program repeatable, not its run ids."""
    random.seed(1)
    first = new_run_id()
    random.seed(1)
    second = new_run_id()
    assert first.int & ((1 << 62) - 1) != second.int & ((1 << 62) - 1)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on this platform")
def test_parent_and_child_never_give_out_the_same(pytester: pytest.Pytester) -> None:
    """A forked worker draws from a generator of its own (in a fresh process, where no thread is in the way)."""
    script = pytester.makepyfile(
        """
        import os
        from hocket._runtime.clock import new_run_id, uuid_text

        new_run_id()
        read, write = os.pipe()
        child = os.fork()
        mine = [new_run_id().int & ((1 << 62) - 1) for _ in range(100)]
        if not child:
            os.write(write, ",".join(map(str, mine)).encode())
            os._exit(0)
        os.waitpid(child, 0)
        theirs = set(map(int, os.read(read, 100_000).decode().split(",")))
        print(len(theirs), len(theirs & set(mine)))
        """
    )
    done = pytester.run(sys.executable, script)
    assert (done.ret, done.outlines) == (0, ["100 0"])


@given(st.uuids())
def test_an_id_is_written_as_its_text(id: UUID) -> None:
    """The quick way and Python's own agree."""
    assert uuid_text(id) == str(id)
