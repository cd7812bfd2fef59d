"""Opening a connection, in time or not at all."""

from contextlib import suppress
from typing import TYPE_CHECKING

import anyio
from anyio.lowlevel import current_token

from hocket.errors import ConnectionFailed, ConnectTimeout
from hocket.http.public_addresses import resolve_public
from hocket.http.wire import Origin, Wire

if TYPE_CHECKING:
    import ssl

__all__ = ["connect"]


async def connect(
    origin: Origin, tls: "ssl.SSLContext | None", limit: float | None, is_public_only: bool = False
) -> Wire:
    """Open a connection.

    Args:
        origin: the server.
        tls: the context for https.
        limit: seconds for all of it, name look-up and TLS handshake included; None: no limit.
        is_public_only: whether a host is refused that has an address which is not public.

    Raises:
        ConnectTimeout: it took longer.
        ConnectionFailed: refused, no such host, no valid certificate, not public.
    """
    try:
        with anyio.move_on_after(limit):
            wire = await (_open_public_wire(origin) if is_public_only else _open_wire(origin.host, origin.port))
            return wire if tls is None else await _start_tls(wire, tls, origin.host)
    except ConnectionFailed:  # not public
        raise
    except OSError as error:  # ssl.SSLError is one
        raise _make_connect_error(origin, error) from error
    raise ConnectTimeout(
        f"no connection to {origin} within {limit:g} s; Timeout(connect=...) sets the limit", retryable=True
    )


async def _open_public_wire(origin: Origin) -> Wire:
    """Open a connection to the first address of a host that takes it: to what was looked at, and not to its name."""
    *others, last = await resolve_public(origin.host, origin.port)
    for address in others:
        with suppress(OSError):
            return await _open_wire(address, origin.port)
    return await _open_wire(last, origin.port)


async def _open_wire(host: str, port: int) -> Wire:
    native: object = current_token().native_token
    if hasattr(native, "create_task"):
        from hocket.http import asyncio_wire

        return await asyncio_wire.open_wire(host, port)
    from hocket.http import trio_wire

    return await trio_wire.open_wire(host, port)


async def _start_tls(wire: Wire, context: "ssl.SSLContext", host: str) -> Wire:
    from hocket.http.tls_wire import TLSWire

    try:
        secured = TLSWire(wire, context, host)
        await secured.handshake()
    except BaseException:
        wire.abort()
        raise
    return secured


def _make_connect_error(origin: Origin, error: OSError) -> ConnectionFailed:
    reason = getattr(error, "verify_message", None)
    if reason is not None:  # an ssl.SSLCertVerificationError; another try ends the same way
        failure = ConnectionFailed(
            f"{origin} has no valid certificate: {reason}; `verify` names a bundle of authorities to trust"
        )
    else:
        failure = ConnectionFailed(f"no connection to {origin}: {error}", retryable=True)
    failure.was_sent = False
    return failure
