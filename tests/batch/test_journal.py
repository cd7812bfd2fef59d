"""The output file of a bulk run, used from the loop and from the threads that wait for the disk, at once."""

import sys
import threading
from array import array
from pathlib import Path

from hocket.batch.entry import BatchEntry
from hocket.batch.journal import BatchJournal

ROWS = 4000


def test_rows_end_while_batches_begin_and_end(tmp_path: Path) -> None:
    """Those that go over the batches under way see them as they were ("dictionary changed size during iteration")."""
    journal = BatchJournal(str(tmp_path / "out.jsonl"), "m", "raise", retry_failed=True)
    is_over = threading.Event()

    def submit(name: str) -> None:
        for number in range(10**6):
            if is_over.is_set():
                return
            rows = array("Q", [ROWS + number])
            entry = BatchEntry(f"{name}{number}", "openai", rows, array("I", [1]), array("I", [1]), 1.0)
            journal.begin_batch(entry)
            if number % 8:
                journal.end_batch(entry, "done")

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    threads = [threading.Thread(target=submit, args=(name,)) for name in "ab"]
    try:
        for thread in threads:
            thread.start()
        for row in range(ROWS):
            journal.add(1, {"row": row})
            assert journal.pending >= 0
    finally:
        sys.setswitchinterval(interval)
        is_over.set()
        for thread in threads:
            thread.join()
        journal.close()
    assert journal.report.ok == ROWS
