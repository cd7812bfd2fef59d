"""Signature version 4 of AWS, for requests whose body is whole.

The rules are those of "AWS Signature Version 4 for API requests" in the IAM user guide; botocore's signer is the oracle of
the tests. Signed are ``content-type``, the host and AWS's own headers: what a proxy may change on the way is not.
"""

import hashlib
import hmac
import time
from collections.abc import Mapping
from functools import lru_cache
from urllib.parse import quote, urlsplit

from hocket._secrets import Secret
from hocket.clouds.aws import AWSCredentials
from hocket.http.request import HTTPRequest

__all__ = ["sign_request"]

_SIGNED = ("content-type",)
_ALGORITHM = "AWS4-HMAC-SHA256"


def sign_request(
    request: HTTPRequest, credentials: AWSCredentials, *, region: str, service: str, at: float
) -> Mapping[str, str]:
    """Return the headers that authenticate a request; what is secret in them is a `Secret`.

    Args:
        request: as it will be sent; headers that are not signed may be added later.
        credentials: who asks.
        region: such as "eu-west-1".
        service: the name by which the service signs, such as "bedrock".
        at: the time, in seconds since 1970.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime(at))
    url = urlsplit(request.url)
    added: dict[str, str] = {"x-amz-date": stamp}
    if credentials.session_token:
        added["x-amz-security-token"] = Secret(credentials.session_token)
    signed = {"host": url.netloc.rpartition("@")[2], **added}
    signed |= {name: " ".join(request.headers[name].split()) for name in _SIGNED if name in request.headers}
    names = sorted(signed)
    canonical = "\n".join(
        (
            request.method,
            quote(url.path or "/", safe="/~"),  # it is encoded already: once more, as all services but S3 have it
            "&".join(sorted(url.query.split("&"))),
            *(f"{name}:{signed[name]}" for name in names),
            "",
            ";".join(names),
            hashlib.sha256(request.content).hexdigest(),
        )
    )
    scope = f"{stamp[:8]}/{region}/{service}/aws4_request"
    text = f"{_ALGORITHM}\n{stamp}\n{scope}\n{hashlib.sha256(canonical.encode()).hexdigest()}"
    key = _derive_key(Secret(credentials.secret_key), stamp[:8], region, service)
    signature = hmac.digest(key, text.encode(), "sha256").hex()
    who = f"Credential={credentials.access_key}/{scope}"
    authorization = f"{_ALGORITHM} {who}, SignedHeaders={';'.join(names)}, Signature={signature}"
    return {**added, "authorization": Secret(authorization)}


@lru_cache(maxsize=16)
def _derive_key(secret: str, *parts: str) -> bytes:
    """Return the key of a day, a region and a service: four of the five digests of a request."""
    key = f"AWS4{secret}".encode()
    for part in (*parts, "aws4_request"):
        key = hmac.digest(key, part.encode(), "sha256")
    return key
