"""Who asks a cloud: credentials and tokens, found as the cloud's own command finds them, and kept until they end.

- `AWSCredentials`: keys for AWS, by which hocket signs requests itself.
- `KeptKey`: a key of any other service that gives keys which end.
- `google_token`, `azure_token`: functions that give access tokens, for the ``api_key`` of any model.
"""

from typing import TYPE_CHECKING

from hocket._runtime.lazy import Loader, loader

if TYPE_CHECKING:
    from hocket.clouds.aws import AWSCredentials
    from hocket.clouds.azure import azure_token
    from hocket.clouds.google import google_token
    from hocket.clouds.key_cache import KeptKey

__all__ = ["AWSCredentials", "KeptKey", "azure_token", "google_token"]

__getattr__: Loader = loader(
    __name__, {"aws": "AWSCredentials", "azure": "azure_token", "google": "google_token", "key_cache": "KeptKey"}
)
