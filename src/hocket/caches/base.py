"""What every cache of answers can do.

A cache maps a key to the candidates that a model gave. The key is two short hashes: one of the prompt, one of everything
else that changes the answer (see `hocket._pipeline.cache_key`).
A cache may fail: the model is then asked, as if it held nothing.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

from hocket._runtime.definitions import Twins
from hocket._runtime.mode import ASYNC
from hocket.outputs import Generation

__all__ = ["RETURN_VAL_TYPE", "BaseCache", "Claim"]

RETURN_VAL_TYPE = Sequence[Generation]
"""What a cache holds for a prompt: the answers of one call."""


class Claim:
    """The right to ask the model for an answer, for which all others wait. This one is for a cache that knows no others.

    It ends when the answer is stored, when it is released, or when it was not renewed for as long as its lease.
    Subclasses define the sync methods; a store that is async by nature, the async ones too.
    """

    def renew(self) -> bool:
        """Renew the lease; whether the claim is still valid."""
        return True

    def release(self) -> None:
        """Give the claim up, so that another caller may ask. One that is not valid any more is left unchanged."""

    async def arenew(self) -> bool:
        """Renew the lease. By default `renew`, in a worker thread."""
        return await ASYNC.call_sync(self.renew)

    async def arelease(self) -> None:
        """Give the claim up. By default `release`, in a worker thread."""
        await ASYNC.call_sync(self.release)


class BaseCache(Twins, ABC):
    """Where answers are kept. Subclasses define the sync methods; a store that is async by nature, the async ones too.

    Attributes:
        lease: seconds for which a claim is valid unless it is renewed; None: there are no claims, and equal calls of
            several processes that miss are a request each.
        is_shared: whether other processes look into it, too.
    """

    lease: float | None = None
    is_shared: bool = False

    @abstractmethod
    def lookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the candidates stored under this key, as a list, or None."""

    @abstractmethod
    def update(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store candidates under this key. That ends a claim on it, also one of another process."""

    @abstractmethod
    def clear(self, **kwargs: object) -> None:
        """Forget everything."""

    def claim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        """Claim the answer under this key, or return None: another caller is asking for it.

        By default it is always granted.

        Args:
            prompt, llm_string: the key.
            lease: seconds for which the claim is valid unless it is renewed.
        """
        return Claim()

    async def alookup(self, prompt: str, llm_string: str) -> RETURN_VAL_TYPE | None:
        """Return the candidates stored under this key, or None. By default `lookup`, in a worker thread."""
        return await ASYNC.call_sync(self.lookup, prompt, llm_string)

    async def aupdate(self, prompt: str, llm_string: str, return_val: RETURN_VAL_TYPE) -> None:
        """Store candidates under this key. By default `update`, in a worker thread."""
        await ASYNC.call_sync(self.update, prompt, llm_string, return_val)

    async def aclear(self, **kwargs: object) -> None:
        """Forget everything. By default `clear`, in a worker thread."""
        await ASYNC.call_sync(self.clear, **kwargs)

    async def aclaim(self, prompt: str, llm_string: str, lease: float) -> Claim | None:
        """Claim the answer under this key. By default `claim`, in a worker thread."""
        return await ASYNC.call_sync(self.claim, prompt, llm_string, lease)
