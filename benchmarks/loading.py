"""What loading documents keeps in memory: a CSV file that is read as a stream, of any size."""

import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from .bench import Bench, Case
from .harness import Target, one_line
from .table import Row

__all__ = ["CASES"]

ROW = "{number},Ada Lovelace,London," + "She wrote the first programs and what they would be good for. " * 3 + "\n"

# By how much the peak of the process grows from a small file, which has loaded all the code, to a large one.
REPORT = """
import asyncio, resource, sys
from hocket.document_loaders import CSVLoader

async def read(path):
    count = 0
    async for _ in CSVLoader(path).alazy_load():
        count += 1
    return count

def peak():
    try:
        return next(int(line.split()[1]) for line in open("/proc/self/status") if line.startswith("VmHWM")) / 1024
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)

small, large = sys.argv[1:]
asyncio.run(read(small))
before = peak()
print(asyncio.run(read(large)), peak() - before)
"""


def csv_rows(bench: Bench) -> Iterator[Row]:
    """The most memory that reading a long CSV file needs, beyond what a short one does."""
    count = 30_000 if bench.plan.quick else 300_000
    what, target = f"memory, CSV of {count:,} rows, read as a stream", Target(20, over=None)
    with tempfile.TemporaryDirectory() as folder:
        small, large = (_write(Path(folder, f"{rows}.csv"), rows) for rows in (100, count))
        try:
            done = subprocess.run(
                [sys.executable, "-c", REPORT, small, large], capture_output=True, text=True, check=True, timeout=300
            )
            read, grown = done.stdout.split()
            if int(read) != count:
                raise ValueError(f"{read} rows were read, not {count}")
        except Exception as error:
            yield Row(bench.case, what, "MB", target=target, failure=one_line(error))
        else:
            yield Row(bench.case, what, "MB", hocket=float(grown), target=target, rounds=1)


def _write(path: Path, rows: int) -> str:
    with path.open("w", encoding="utf-8") as file:
        file.write("id,name,city,text\n")
        file.writelines(ROW.format(number=number) for number in range(rows))
    return str(path)


CASES: dict[str, Case] = {"memory-csv": csv_rows}
