"""An address that the user gave, fetched. What a server says leads nowhere else.

No key goes along. A redirect is followed on the same host alone, so that no page can have this machine ask another, such
as one of its own network: where it leads is told, and whoever wants that gives that address.
"""

from urllib.parse import SplitResult, urljoin, urlsplit

from hocket._secrets import redact_url
from hocket.errors import InvalidInput, ProviderUnavailable, RequestTimeout

__all__ = ["fetch_address", "is_address"]

PATIENCE = 60.0  # seconds for all of it
_HOPS = 5
_REDIRECTS = (301, 302, 303, 307, 308)


def is_address(name: str) -> bool:
    """Whether it is an address of the web, and no file."""
    return name.startswith(("http://", "https://"))


def fetch_address(address: str, max_bytes: int) -> bytes:
    """Return what is at an address.

    Raises:
        InvalidInput: it is none, there is nothing, it leads to another host, or there is more.
        ProviderUnavailable: the server cannot be reached, or fails.
        RequestTimeout: it took more than a minute.
    """
    from hocket._runtime.portal import run_in_portal

    async def fetch() -> bytes:
        import anyio

        with anyio.move_on_after(PATIENCE):
            return await _follow(address, max_bytes)
        raise RequestTimeout(f"{redact_url(address)} was not there within {PATIENCE:g} s; try again later")

    return run_in_portal(fetch)


async def _follow(address: str, max_bytes: int) -> bytes:
    from hocket.http import HTTPRequest
    from hocket.http.clients import ClientSettings
    from hocket.http.exchange import open_stream

    shown = redact_url(address)
    for _ in range(_HOPS + 1):
        stream = await open_stream(HTTPRequest("GET", address, {"accept": "*/*"}), ClientSettings())
        try:
            if stream.status in _REDIRECTS:
                address = _find_next(address, stream.headers.get("location", ""))
                continue
            if stream.status >= 500 or stream.status == 429:
                raise ProviderUnavailable(f"{shown}: the server says {stream.status}; try again later")
            if stream.status != 200:
                raise InvalidInput(f"{shown}: the server says {stream.status}; check the address")
            data = bytearray()
            async for piece in stream:
                data += piece
                if len(data) > max_bytes:
                    raise InvalidInput(f"{shown} has more than {max_bytes >> 20} MB; save the part that is wanted")
            return bytes(data)
        finally:
            await stream.aclose()
    raise InvalidInput(f"{shown} leads on more than {_HOPS} times; give the last address")


def _find_next(address: str, location: str) -> str:
    """Return where a redirect leads.

    Raises:
        InvalidInput: that is another host or port, or not encrypted any more.
    """
    try:
        url = urljoin(address, location)
        schemes = urlsplit(address).scheme, urlsplit(url).scheme
        is_safe = schemes in (("http", "http"), ("http", "https"), ("https", "https"))
        is_here = _find_place(urlsplit(address)) == _find_place(urlsplit(url))
    except ValueError:  # a port that is no number, half of an IPv6 address
        raise InvalidInput(f"{redact_url(address)} leads to what is no address; give another") from None
    if not location or not is_safe or not is_here:
        raise InvalidInput(f"{redact_url(address)} leads to {redact_url(url)}; give that address if you mean it")
    return url


def _find_place(url: SplitResult) -> tuple[str, int | None]:
    """Return host and port, None: the usual one."""
    port = None if url.port == {"http": 80, "https": 443}.get(url.scheme) else url.port
    return (url.hostname or "").removeprefix("www."), port
