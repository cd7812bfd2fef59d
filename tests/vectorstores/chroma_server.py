"""A real Chroma server of its own, in a temporary folder: it lives as long as whoever started it.

The package `chromadb` brings half a gigabyte, and its server is one library of 57 MB, written in Rust. That alone is
installed, into a cache folder of the user's, when it is first needed.

Run as a program it prints the server's URL, and stops when its standard input ends, whatever becomes of the tests.
"""

import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

__all__ = ["PACKAGE", "start_chroma"]

PACKAGE = "chromadb==1.5.9"
READY = 30.0  # seconds
RUN = "import sys, chromadb_rust_bindings; chromadb_rust_bindings.cli(['chroma', 'run', *sys.argv[1:]])"


@contextmanager
def start_chroma(home: Path) -> Iterator[str]:
    """Return a context with the URL of a server, which ends with the context, or with this process.

    Args:
        home: where the package is installed.
    """
    process = subprocess.Popen(
        [sys.executable, __file__, str(home)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C is not for it
    )
    assert process.stdout is not None
    try:
        url = process.stdout.readline().strip()
        if not url:
            raise RuntimeError(f"Chroma did not start: {process.communicate()[1][-1000:]}")
        yield url
    finally:
        process.communicate()


def _serve(home: str) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"http://127.0.0.1:{port}"
    with tempfile.TemporaryDirectory(prefix="hocket-chroma-", ignore_cleanup_errors=True) as folder:
        server = subprocess.Popen(
            [sys.executable, "-c", RUN, "--path", f"{folder}/data", "--host", "127.0.0.1", "--port", str(port)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": home},
        )
        try:
            _wait(server, url)
            print(url, flush=True)
            sys.stdin.read()
        finally:
            server.kill()
            server.wait()


def _wait(server: "subprocess.Popen[bytes]", url: str) -> None:
    until = time.monotonic() + READY
    while server.poll() is None and time.monotonic() < until:
        try:
            urllib.request.urlopen(f"{url}/api/v2/heartbeat", timeout=READY).close()
            return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError(f"it did not answer (exit code {server.poll()})")


if __name__ == "__main__":
    _serve(sys.argv[1])
