"""An address that the user gave, fetched: without a key, and that address alone.

No redirect is followed, so that no page can have this machine ask another one, such as those of its own network. Where it
leads is told; give that address to follow it.
"""

from hocket._secrets import redact_url
from hocket.errors import InvalidInput, ProviderUnavailable, RequestTimeout

__all__ = ["fetch_address"]

PATIENCE = 60.0  # seconds for all of it


def fetch_address(address: str, max_bytes: int) -> bytes:
    """Return what is at an address.

    Raises:
        InvalidInput: it is none, there is nothing, it leads elsewhere, or there is more.
        LLMError: the server cannot be reached, fails, or takes more than a minute.
    """
    import anyio

    from hocket._runtime.portal import run_in_portal
    from hocket.http import HTTPRequest
    from hocket.http.clients import ClientSettings
    from hocket.http.exchange import open_stream

    shown = redact_url(address)

    async def fetch() -> bytes:
        stream = await open_stream(HTTPRequest("GET", address, {"accept": "*/*"}), ClientSettings())
        try:
            if 300 <= stream.status < 400:
                place = redact_url(stream.headers.get("location", "nowhere"))
                raise InvalidInput(f"{shown} leads to {place}; give that address if you mean it")
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

    async def fetch_in_time() -> bytes:
        with anyio.move_on_after(PATIENCE):
            return await fetch()
        raise RequestTimeout(f"{shown} was not there within {PATIENCE:g} s; try again later")

    return run_in_portal(fetch_in_time)
