"""An end to the batches of a file that are under way at the provider."""

import os
from typing import Any, Final

from hocket._runtime.mode import ASYNC
from hocket._runtime.sync_twin import sync_function
from hocket.batch.lookup import LONGEST_SKEW
from hocket.batch.replay import read_open_batches
from hocket.batch.route import find_client
from hocket.errors import InvalidInput
from hocket.runnables import Runnable

__all__ = ["acancel_batch", "cancel_batch"]


async def acancel_batch(model: Runnable[Any, Any], out: str | os.PathLike[str]) -> int:
    """Ask the provider to cancel the batches of a file that are under way.

    What they have answered until then is paid, and collected by the next run, which asks again for the rest: in another
    batch, or with ``via="live"`` at once. A run on the file that waits for them goes on.

    Args:
        model: that of the run.
        out: the path of the file.

    Returns:
        how many were asked for.

    Raises:
        InvalidInput: it is no file of a batch, or the model is of another provider.
        LLMError: the provider failed or refused.
        OSError: the file cannot be read.
    """
    asked = 0
    for entry in await ASYNC.call_sync(read_open_batches, out):
        client = find_client(model, entry.provider)
        if client is None:
            raise InvalidInput(
                f"a batch of {os.fspath(out)} is one of {entry.provider}, and the model is of another provider"
            )
        ids = [entry.id] if entry.id is not None else []
        if not ids and client.api.shows_keys:
            ids = [state.id for state in await client.list(entry.at - LONGEST_SKEW) if state.key == entry.key]
        for id in ids:
            await client.cancel(id)
        asked += len(ids)
    return asked


cancel_batch: Final = sync_function(acancel_batch)
"""`acancel_batch`, from sync code."""
