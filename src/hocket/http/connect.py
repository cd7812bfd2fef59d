"""Opening a connection, in time or not at all."""

from typing import TYPE_CHECKING, Any

import anyio
from anyio.lowlevel import current_token

from hocket.errors import ConnectionFailed, ConnectTimeout
from hocket.http.wire import Origin, Wire

if TYPE_CHECKING:
    import ssl

__all__ = ["connect"]


async def connect(origin: Origin, tls: "ssl.SSLContext | None", limit: float | None) -> Wire:
    """Open a connection.

    Args:
        origin: whom to.
        tls: the context for https.
        limit: seconds for all of it, name look-up and TLS handshake included; None: no limit.

    Raises:
        ConnectTimeout: it took longer.
        ConnectionFailed: refused, no such host, no valid certificate.
    """
    open_wire: Any
    if hasattr(current_token().native_token, "create_task"):
        from hocket.http.asyncio_wire import open_wire
    else:
        from hocket.http.trio_wire import open_wire
    scope = anyio.move_on_after(limit)
    try:
        with scope:
            return await open_wire(origin.host, origin.port, tls)  # type: ignore[no-any-return]
    except OSError as error:  # ssl.SSLError is one
        raise _refused(origin, error) from error
    raise ConnectTimeout(
        f"no connection to {origin} within {limit:g} s; Timeout(connect=...) sets the limit", retryable=True
    )


def _refused(origin: Origin, error: OSError) -> ConnectionFailed:
    reason = getattr(error, "verify_message", None)
    if reason is not None:  # an ssl.SSLCertVerificationError; another try ends the same way
        return ConnectionFailed(
            f"{origin} has no valid certificate: {reason}; `verify` names a bundle of authorities to trust"
        )
    return ConnectionFailed(f"no connection to {origin}: {error}", retryable=True)
