"""What the file of a bulk run says, for those who do not write it: which batches are under way.

The file is read without its lock, so it may be written meanwhile.
"""

import os

from hocket.batch.entry import BatchEntry
from hocket.batch.journal import HEADER, read_lines
from hocket.errors import InvalidInput

__all__ = ["read_open_batches"]


def read_open_batches(path: str | os.PathLike[str]) -> list[BatchEntry]:
    """Return the batches of a file that have not come to their end.

    Raises:
        InvalidInput: it is no file of a batch.
        OSError: it cannot be read.
    """
    batches: dict[str, BatchEntry] = {}
    is_ours = False
    for data in read_lines(path):
        if data is None or "sent_at" in data or "reservations" in data:
            continue
        if HEADER in data:
            batches.clear()  # another model's
            is_ours = True
        elif "row" in data:
            for entry in batches.values():
                entry.finish(data["row"])
        elif "end" in data:
            batches.pop(data["batch"], None)
        elif data["batch"] in batches:
            batches[data["batch"]].id = BatchEntry.read(data).id
        else:
            entry = BatchEntry.read(data)
            for older in batches.values():  # a row is in the last one alone
                for row in entry.numbers:
                    older.finish(row)
            batches[entry.key] = entry
    if not is_ours:
        raise InvalidInput(f"{os.fspath(path)} is no file of a batch")
    return [*batches.values()]
