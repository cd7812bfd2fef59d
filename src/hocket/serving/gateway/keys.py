"""The keys that a client may have, compared in a time that says nothing about them."""

import hashlib
import hmac
from collections.abc import Collection, Iterable

from pydantic import SecretStr

from hocket._asgi import Header
from hocket._secrets import unwrap_secret
from hocket.errors import InvalidInput
from hocket.serving.refusals import Refusal

__all__ = ["ClientKeys"]

_SHORTEST = 8  # characters: what is shorter is guessed


class ClientKeys:
    """The keys of a gateway, of which hashes are kept: none can be found in an object, nor in the frame of a traceback.

    Raises:
        InvalidInput: there is none, or one is shorter than 8 characters, or has a space or what no header can carry.
    """

    def __init__(self, keys: str | SecretStr | Iterable[str | SecretStr]) -> None:
        given = [keys] if isinstance(keys, str | SecretStr) else [*keys]
        for at, key in enumerate(map(unwrap_secret, given)):
            if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
                raise InvalidInput(
                    f"keys[{at}] will not do: a key has {_SHORTEST} printable ASCII characters or more, no space"
                )
        if not given:
            raise InvalidInput("keys is empty: nobody could get in; None lets everybody in")
        self._hashes: Collection[bytes] = {_hash(unwrap_secret(key).encode()) for key in given}

    def check(self, headers: Iterable[Header]) -> None:
        """Let in who has a key.

        Raises:
            Refusal: 401.
        """
        given = [value for name, value in headers if name == b"authorization"]
        scheme, _, key = given[0].partition(b" ") if len(given) == 1 else (b"", b"", b"")
        hashed = _hash(key.strip(b" "))
        # All are compared, and in full: how long it takes does not tell how much of which was right.
        found = [hmac.compare_digest(hashed, known) for known in self._hashes]
        if scheme.lower() != b"bearer" or not any(found):
            raise Refusal(
                status=401,
                message="the API key is missing or wrong; send it as  Authorization: Bearer KEY"
                if not key
                else "this API key is not known here",
                code="invalid_api_key",
                headers=[(b"www-authenticate", b"Bearer")],
            )


def _hash(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
