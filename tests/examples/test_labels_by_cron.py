"""`examples/labels_by_cron`, with its own server, as often as it takes."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from hocket.batch import read_batch
from tests.examples.conftest import CopyProject, make_environment, run
from tests.kit.batches import read_lines


@contextmanager
def serve_batches(folder: Path) -> Iterator[dict[str, str]]:
    """Start the project's server; yield the variables that lead to it."""
    command = [sys.executable, "server.py", "1"]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen(command, cwd=folder, env=make_environment(), text=True, **pipes) as process:
        assert process.stdin is not None and process.stdout is not None
        try:
            yield {"OPENAI_BASE_URL": process.stdout.readline().strip(), "OPENAI_API_KEY": "a-key"}
        finally:
            process.stdin.close()


@pytest.mark.nightly
def test_letters_are_submitted_once_and_collected_later(copy_project: CopyProject):
    """A run never waits; the next ones collect, and a new letter goes by itself."""
    folder = copy_project("labels_by_cron")
    with serve_batches(folder) as server:
        assert run(folder, "label.py", **server) == "0 labelled, 3 under way, 0 failed\n"
        while (said := run(folder, "label.py", **server)) != "3 labelled, 0 under way, 0 failed\n":
            assert said == "0 labelled, 3 under way, 0 failed\n"
        with (folder / "letters.jsonl").open("a") as letters:
            letters.write('{"id": "a4", "text": "It is late, again."}\n')
        assert run(folder, "label.py", **server) == "3 labelled, 1 under way, 0 failed\n"
        while (said := run(folder, "label.py", **server)) != "4 labelled, 0 under way, 0 failed\n":
            assert said == "3 labelled, 1 under way, 0 failed\n"

    labels = sorted((str(row.id), str(row.output)) for row in read_batch(folder / "labels.jsonl"))
    about = {"a1": "delivery", "a2": "damage", "a3": "other", "a4": "delivery"}
    assert labels == [(id, str({"about": label})) for id, label in about.items()]
    assert sum("end" in line for line in read_lines(folder / "labels.jsonl")) == 2
