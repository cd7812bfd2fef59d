"""Access tokens for Azure, by azure-identity: workload identity, managed identity, what ``az login`` left."""

import importlib.util
from collections.abc import Awaitable, Callable
from functools import partial

from hocket.clouds.key_cache import FoundKey, get_key
from hocket.errors import AuthenticationError

__all__ = ["COGNITIVE_SERVICES", "azure_token", "is_azure_identity_here"]

COGNITIVE_SERVICES = "https://cognitiveservices.azure.com/.default"
"""The scope of Azure's models."""


def azure_token(scope: str = COGNITIVE_SERVICES) -> Callable[[], Awaitable[str]]:
    """Return a function that gives an access token, for the ``api_key`` of any model.

    Args:
        scope: what the token is for.

    Raises:
        AuthenticationError: from the function: there are no credentials, or Azure refuses them.
    """

    return partial(_get_token, scope)  # it can be pickled, with its model


def is_azure_identity_here() -> bool:
    """Whether azure-identity is installed."""
    return importlib.util.find_spec("azure") is not None and importlib.util.find_spec("azure.identity") is not None


async def _get_token(scope: str) -> str:
    return await get_key(("azure", scope), partial(_fetch, scope))


def _fetch(scope: str) -> FoundKey[str]:
    """Return a new token. It blocks."""
    try:
        from azure.identity import DefaultAzureCredential
    except ImportError as error:
        raise AuthenticationError(
            "no token for Azure: set AZURE_OPENAI_AD_TOKEN, give api_key=..., or install hocket[entra] for managed "
            "identities and `az login`"
        ) from error
    try:
        with DefaultAzureCredential() as credential:
            token = credential.get_token(scope)
    except Exception as error:  # its errors, and what odd answers make of it
        raise AuthenticationError(f"Azure gives no token ({type(error).__name__}: {error})") from error
    return FoundKey(token.token, float(token.expires_on))
