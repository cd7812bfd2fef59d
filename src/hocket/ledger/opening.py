"""A ledger by its address."""

import os

from hocket._databases.urls import parse_address
from hocket._secrets import redact_url
from hocket.errors import InvalidInput
from hocket.ledger.base import Ledger

__all__ = ["open_ledger"]


def open_ledger(url_or_path: str | os.PathLike[str]) -> Ledger:
    """Return the ledger at an address. Nothing is opened before it is used.

    The driver of a server is imported here, which takes a tenth of a second: open it before the event loop runs.

    Args:
        url_or_path: ``sqlite:///usage.sqlite``, ``postgresql://…``, or a path: one that ends in ``.jsonl`` is a file of
            JSON lines, any other an SQLite database.

    Raises:
        InvalidInput: it is no address of a ledger.
        MissingDependency: the extra ``postgres`` is needed, and not installed.
    """
    address = parse_address(url_or_path, "a ledger")
    if address.kind == "postgres":
        from hocket.ledger.postgres import PostgresLedger

        return PostgresLedger(address.place)
    if address.kind == "redis":
        raise InvalidInput(f"{redact_url(address.place)!r}: Redis keeps no ledger; take PostgreSQL, SQLite or a file")
    if address.kind == "file" and address.place.endswith(".jsonl"):
        from hocket.ledger.jsonl import JSONLLedger

        return JSONLLedger(address.place)
    from hocket.ledger.sqlite import SQLiteLedger

    return SQLiteLedger(address.place)
