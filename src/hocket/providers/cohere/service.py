"""Cohere's API, as a service: where it is, and what it offers."""

from typing import ClassVar

from hocket.remote.endpoint import Endpoint
from hocket.remote.service import RemoteService

__all__ = ["PROVIDER", "CohereService"]

PROVIDER = "cohere"


class CohereService(RemoteService):
    """Cohere's API: its address, its key, and its models.

    Args:
        base_url: the host, without the version of the API. Default: what ``CO_API_URL`` says, else Cohere's own.
        api_key: default: what ``CO_API_KEY`` or ``COHERE_API_KEY`` says.
    """

    _endpoint: ClassVar = Endpoint(
        name=PROVIDER,
        base_url="https://api.cohere.com",
        hosts=("api.cohere.ai",),
        url_variable="CO_API_URL",
        key_variables=("CO_API_KEY", "COHERE_API_KEY"),
    )

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server offers to this key, in its order.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        return await self._fetch_names("v1/models?page_size=1000", "models", "name")
