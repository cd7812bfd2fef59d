"""What a row asks, as a number: by it a later run knows that it is given the same row.

Values count, whatever holds them: cells of numpy, pandas and the like by the plain data that they give, which is asked of
them by the names of their methods, so that nothing is imported. What is known only by its address would be another row in
each process, and is refused.
"""

import re
import zlib
from collections.abc import Mapping
from typing import cast

from hocket._pipeline.cache_key import LocalKey, value_key
from hocket.errors import InvalidInput

__all__ = ["find_digest", "to_plain"]

_PLAIN_BY = ("to_dict", "tolist")  # of pandas, whose rows have both; of numpy, torch, array

_ADDRESS = re.compile("0x[0-9a-fA-F]{4,}")


def find_digest(number: int, row: object) -> int:
    """Return the digest of a row.

    Raises:
        InvalidInput: it has none that holds in another process.
    """
    key = value_key(row)
    if isinstance(key, LocalKey):
        plain = to_plain(row)
        key = value_key(plain)
        if isinstance(key, LocalKey):
            raise InvalidInput(_explain(number, row, plain))
    return zlib.crc32(key.encode())


def to_plain(value: object) -> object:
    """Return a value as plain data, as far as it can be said."""
    if isinstance(value, Mapping):
        return {key: to_plain(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [to_plain(item) for item in cast("list[object]", value)]
    if isinstance(value, type) or not isinstance(value_key(value), LocalKey):
        return value
    for verb in _PLAIN_BY:
        try:
            plain: object = getattr(value, verb)()
        except Exception:  # it has none, or one for something else
            continue
        if type(plain) is not type(value):
            return to_plain(plain)
    said = repr(value)
    return value if _ADDRESS.search(said) else [type(value).__qualname__, said]


def _explain(number: int, row: object, plain: object) -> str:
    what, holder = type(row).__name__, f"it is a {type(row).__name__}"
    cells = (
        cast("Mapping[object, object]", plain).items()
        if isinstance(plain, Mapping)
        else enumerate(cast("list[object]", plain) if isinstance(plain, list) else [])
    )
    for name, cell in cells:
        if isinstance(value_key(cell), LocalKey):
            what = type(cell).__name__
            holder = f"its column {name!r} holds a {what}" if isinstance(plain, Mapping) else f"item {name} is a {what}"
            break
    return (
        f"a later run could not know row {number} again: {holder}, which only its address tells from another {what}; "
        "give data instead, such as a text, numbers or bytes, or leave it out"
    )
