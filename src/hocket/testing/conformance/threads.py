"""Threads of a test."""

import threading
from collections.abc import Callable, Sequence

__all__ = ["run_in_threads"]


def run_in_threads(jobs: Sequence[Callable[[], None]]) -> None:
    """Run jobs at once, a thread each, and raise what the first of them to fail has raised."""
    failures: list[BaseException] = []

    def run(job: Callable[[], None]) -> None:
        try:
            job()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]
