"""The keys that a client may have, compared in a time that says nothing about them, and whose they are."""

import hashlib
import hmac
from collections.abc import Collection, Iterable, Mapping
from typing import TypeAlias, cast

from pydantic import SecretStr

from hocket._asgi import Header
from hocket._secrets import unwrap_secret
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.serving.refusals import Refusal

__all__ = ["ClientKeys", "Keys"]

_Keys: TypeAlias = str | SecretStr | Iterable[str | SecretStr]
Keys: TypeAlias = _Keys | Mapping[str, _Keys]
"""One key, several, or those of each tenant by its name."""

_SHORTEST = 8  # characters: what is shorter is guessed
_LONGEST_NAME = 100


class ClientKeys:
    """The keys of a gateway, of which hashes are kept: none can be found in an object, nor in the frame of a traceback.

    Args:
        keys: all of them.
        option: what errors call them.

    Raises:
        InvalidInput: there is none, or one is shorter than 8 characters, or has a space or what no header can carry; two
            tenants have the same; or the name of a tenant is not one line of at most 100 printable characters.
    """

    def __init__(self, keys: Keys, option: str = "keys") -> None:
        self._option = option
        tenants: Mapping[str | None, _Keys] = (
            cast("Mapping[str | None, _Keys]", keys) if isinstance(keys, Mapping) else {None: keys}
        )
        self._tenants: dict[bytes, str | None] = {}
        for tenant, given in tenants.items():
            self._add(tenant, [given] if isinstance(given, str | SecretStr) else [*given])
        if not self._tenants:
            raise InvalidInput("keys is empty: no client could get in; None lets everybody in")

    def _add(self, tenant: str | None, keys: list[str | SecretStr]) -> None:
        place = self._option
        if tenant is not None:
            if not isinstance(tenant, str) or not 0 < len(tenant) <= _LONGEST_NAME or not tenant.isprintable():  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
                raise InvalidInput(f"keys has a tenant {excerpt(tenant)}; a name is one line of 1 to 100 characters")
            place = f"keys[{tenant!r}]"
        if not keys:
            raise InvalidInput(f"{place} is empty: no client could get in; None lets everybody in")
        for at, key in enumerate(map(unwrap_secret, keys)):
            if len(key) < _SHORTEST or not key.isascii() or not key.isprintable() or " " in key:
                raise InvalidInput(
                    f"{place}[{at}] will not do: a key has {_SHORTEST} printable ASCII characters or more, no space"
                )
            hashed = _hash(key.encode())
            if self._tenants.setdefault(hashed, tenant) != tenant:
                raise InvalidInput(f"{place}[{at}] is the key of {self._tenants[hashed]!r}, too; a key is one tenant's")

    def shares(self, others: "ClientKeys") -> bool:
        """Whether one of these is one of others, too."""
        return not self._tenants.keys().isdisjoint(others._tenants)

    def check(self, headers: Collection[Header]) -> str | None:
        """Let in who has a key, as OpenAI's or as Anthropic's clients send it, and return whose it is; None: nobody said.

        Raises:
            Refusal: 401.
        """
        bearers = [_read_bearer(value) for name, value in headers if name == b"authorization"]
        plain = [value for name, value in headers if name == b"x-api-key"]
        given = {*bearers, *plain}
        key = given.pop() if len(given) == 1 and len(bearers) < 2 and len(plain) < 2 else b""
        hashed = _hash(key)
        # All are compared, and in full: how long it takes does not tell how much of which was right.
        found = [known for known in self._tenants if hmac.compare_digest(hashed, known)]
        if not found:
            message = "this API key is not known here"
            if not key:
                message = "the API key is missing or wrong; send it as  Authorization: Bearer KEY"
            raise Refusal(
                status=401, message=message, code="invalid_api_key", headers=[(b"www-authenticate", b"Bearer")]
            )
        return self._tenants[found[0]]


def _read_bearer(value: bytes) -> bytes:
    """Return the key of an ``Authorization: Bearer KEY``; b"": it has none."""
    scheme, _, key = value.partition(b" ")
    return key.strip(b" ") if scheme.lower() == b"bearer" else b""


def _hash(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
