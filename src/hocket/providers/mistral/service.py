"""Mistral's API, as a service: where it is, and what it offers."""

from typing import ClassVar

from hocket.providers.mistral.decode import PROVIDER
from hocket.remote.endpoint import Endpoint
from hocket.remote.service import RemoteService

__all__ = ["MistralService"]


class MistralService(RemoteService):
    """Mistral's API: its address (or ``MISTRAL_BASE_URL``), its key (``MISTRAL_API_KEY``) and its models."""

    _endpoint: ClassVar = Endpoint(
        name=PROVIDER,
        base_url="https://api.mistral.ai/v1",
        url_variable="MISTRAL_BASE_URL",
        key_variables=("MISTRAL_API_KEY",),
    )

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server offers to this key, in its order.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        return await self._fetch_names("models", "data", "id")
