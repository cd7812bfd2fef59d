"""An entry of a ledger: one attempt to have a model answer, or an answer that nobody was asked for again."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from decimal import Decimal
from sys import float_info
from typing import Any, Literal, TypeAlias, cast, get_args

from hocket.errors import StoreError

__all__ = ["BATCH", "COLUMNS", "EntryOutcome", "LedgerEntry", "decode_entry", "encode_entry", "encode_line"]

BATCH = "batch"
"""What the price of an entry of a provider's batch begins with, and where its metadata have the key of the batch."""

EntryOutcome: TypeAlias = Literal["ok", "failed", "cancelled", "closed", "cached", "shared", "open"]
"""How it ended.

"closed": the consumer of a stream left. "cached": the answer came out of a cache. "shared": out of an equal call in flight.
"open": it has not ended yet, or its process has died.
"""


@dataclass(frozen=True, kw_only=True)
class LedgerEntry:
    """What an attempt came to.

    Attributes:
        id: of the entry.
        at: when the attempt began, by this machine's clock, in UTC.
        run_id: of the call. parent_run_id: of what it is inside of, where handlers listen.
        attempt: 1 for the first attempt of a call; 0 where none was made.
        provider, model: who was asked.
        outcome: how it ended.
        error: the class of the error that ended it.
        input_tokens, output_tokens: None: the answer said nothing of them. Input includes what was read from and written
            to the provider's cache, output includes reasoning.
        cache_read, cache_write, reasoning: those among them.
        served_tokens: tokens of an answer that came out of a cache: what it would have used.
        cost: in US dollars, exactly; None: there is no price, or no usage. Never 0 for that.
        price: the price it was counted with: "1.75/14", of input and output. "batch": that of batches, which is not known;
            "batch 0.875/7": which is this.
        estimated: whether the tokens were counted here, since the answer did not come to its end.
        seconds: that it took. first_token: until the first chunk; None: there was none.
        request_id: the server's name for the request.
        metadata: of the call and its model; under "batch" the key of the provider's batch that the attempt was a row of.
    """

    id: str
    at: datetime
    run_id: str | None = None
    parent_run_id: str | None = None
    attempt: int = 1
    provider: str | None = None
    model: str | None = None
    outcome: EntryOutcome = "ok"
    error: str | None = None
    input_tokens: int | None = None
    output_tokens: int | None = None
    cache_read: int = 0
    cache_write: int = 0
    reasoning: int = 0
    served_tokens: int = 0
    cost: Decimal | None = None
    price: str | None = None
    estimated: bool = False
    seconds: float = 0.0
    first_token: float | None = None
    request_id: str | None = None
    metadata: Mapping[str, Any] = field(default_factory=dict[str, Any])

    @property
    def cached_share(self) -> float | None:
        """How much of the input was read from the provider's cache, from 0 to 1; None: the answer told of no input."""
        return self.cache_read / self.input_tokens if self.input_tokens else None

    def __getitem__(self, name: str) -> Any:
        """Return a column, or an entry of the metadata; None: there is none."""
        return getattr(self, name) if name in COLUMNS else self.metadata.get(name)


COLUMNS = tuple(one.name for one in fields(LedgerEntry))
"""The names of the columns, in order."""


def encode_entry(entry: LedgerEntry) -> dict[str, Any]:
    """Return an entry as JSON data, with all columns, and without what some database could not hold.

    Metadata that cannot be written, since it holds itself, gives way to the reason: what was paid counts all the same.
    """
    data = {name: _clean(getattr(entry, name)) for name in COLUMNS if name != "metadata"}
    try:
        data["metadata"] = _clean(entry.metadata)
    except Exception as error:  # of an object's own text, too
        data["metadata"] = {"unwritable": type(error).__name__}
    data["at"] = entry.at.isoformat()
    data["cost"] = None if entry.cost is None else format(entry.cost, "f")
    return data


def _clean(value: object) -> Any:
    """Return a value as JSON: without NULs and halves of characters, and what JSON has no word for as texts."""
    if isinstance(value, str):
        return value.replace("\0", "").encode("utf-8", "replace").decode()
    if value is None or (isinstance(value, int | float) and abs(value) <= float_info.max):  # NaN is not
        return value
    if isinstance(value, Mapping):
        pairs = cast("Mapping[object, object]", value).items()
        return {_clean(key if isinstance(key, str) else str(key)): _clean(one) for key, one in pairs}
    if isinstance(value, list | tuple):
        return [_clean(one) for one in cast("Sequence[object]", value)]
    return _clean(str(value))


def decode_entry(data: object) -> LedgerEntry:
    """Return an entry out of JSON data; columns of a later version are left out.

    Raises:
        StoreError: it is none.
    """
    try:
        columns = {name: value for name, value in cast("dict[str, Any]", data).items() if name in COLUMNS}
        columns["at"] = datetime.fromisoformat(columns["at"])
        columns["cost"] = None if columns.get("cost") is None else Decimal(columns["cost"])
        if columns["outcome"] not in get_args(EntryOutcome) or not isinstance(columns.get("metadata", {}), dict):
            raise ValueError("an outcome or metadata of another kind")
        return LedgerEntry(**columns)
    except (ArithmeticError, AttributeError, KeyError, TypeError, ValueError) as error:
        raise StoreError(f"an entry of the ledger is damaged: {error!r}") from error


def encode_line(entry: LedgerEntry) -> bytes:
    """Return an entry as a line of JSON."""
    return json.dumps(encode_entry(entry), ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
