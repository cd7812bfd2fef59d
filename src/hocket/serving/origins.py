"""Pages of other origins that may ask, and the headers by which a browser lets them read the replies (CORS).

Source: the Fetch standard, https://fetch.spec.whatwg.org/#http-cors-protocol.
"""

from collections.abc import Collection
from urllib.parse import urlsplit

from hocket._asgi import Header, find_name
from hocket.errors import InvalidInput
from hocket.messages.content import FieldsView

__all__ = ["Origins", "origin_of"]

_PORTS = {"http": 80, "https": 443}
_ANY = "*"


class Origins:
    """The origins that may ask.

    Args:
        origins: as browsers say them, such as ``"https://app.example"``; ``"*"``: any.
        exposed: the names of headers that a page may read, with commas between.
        with_cookies: whether the browser may send its cookies along.

    Attributes:
        names: the hosts of the origins.

    Raises:
        InvalidInput: one is no origin.
    """

    def __init__(self, origins: Collection[str], exposed: bytes, *, with_cookies: bool) -> None:
        if (
            isinstance(origins, str)
            or not isinstance(origins, Collection)  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            or not all(one == _ANY or _is_origin(one) for one in origins)
        ):
            raise InvalidInput(
                f'cors is {origins!r}; it has origins as browsers say them, such as "https://app.example": in small '
                "letters, without a path, and without a port where it is that of the scheme"
            )
        self._listed = frozenset(origins)
        self._exposed = exposed
        self._with_cookies = with_cookies
        self.names: frozenset[str] = frozenset(map(find_name, origins))

    @property
    def takes_any(self) -> bool:
        """Whether pages of all origins may ask."""
        return _ANY in self._listed

    def has(self, origin: str) -> bool:
        """Whether pages of an origin may ask; "": no page asks."""
        return bool(origin) and (origin in self._listed or self.takes_any)

    def write_headers(self, scope: FieldsView, origin: str) -> list[Header]:
        """Return the headers of a reply to a page that may ask; of the question before a request (``OPTIONS``) as well."""
        headers: list[Header] = [
            (b"access-control-allow-origin", origin.encode("latin-1")),
            (b"access-control-expose-headers", self._exposed),
            (b"vary", b"origin"),
        ]
        if self._with_cookies:
            headers.append((b"access-control-allow-credentials", b"true"))
        asked = dict(scope["headers"]).get(b"access-control-request-headers")
        if scope["method"] == "OPTIONS":
            headers += [(b"access-control-allow-methods", b"GET, POST"), (b"access-control-max-age", b"600")]
            headers += [(b"access-control-allow-headers", asked)] if asked else []
        return headers


def origin_of(scope: FieldsView) -> str:
    """Return the origin of the page that asks; "": no page does."""
    return next((value.decode("latin-1") for name, value in scope["headers"] if name == b"origin"), "")


def _is_origin(value: object) -> bool:
    """Whether it is an origin as a browser says it."""
    try:
        parts = urlsplit(value if isinstance(value, str) else "")
        port = parts.port
    except ValueError:
        return False
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    place = host if port is None else f"{host}:{port}"
    return (
        parts.hostname is not None and port != _PORTS.get(parts.scheme, port) and value == f"{parts.scheme}://{place}"
    )
