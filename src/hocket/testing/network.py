"""No test talks to the world by accident.

The guards sit on the few functions of ``socket`` through which the Python world reaches the network (asyncio, trio,
httpx, redis and psycopg's Python parts among it), and let only what stays on this machine pass. C libraries that open
sockets by themselves, and uvloop, are not seen.
"""

import functools
import ipaddress
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any

__all__ = ["no_network"]

# Name look-ups: the host is their first argument.
LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")

# Methods of a socket: the address is their first argument, or the last of `sendto`.
SENDERS = ("connect", "connect_ex", "sendto")

_lock = threading.Lock()
_in_use = 0
_guarded: list[tuple[Any, str, Any]] = []


@contextmanager
def no_network() -> Generator[None]:
    """Refuse every connection and name look-up beyond this machine, in the whole process, until the end of the block.

    Loopback addresses (127.0.0.0/8, ::1), ``localhost`` and unix sockets pass. Blocks may be nested and may overlap in
    several threads: the network opens again when the last one ends.

    Raises:
        RuntimeError: from the call that was refused; it names the address.
    """
    _close()
    try:
        yield
    finally:
        _reopen()


def _close() -> None:
    global _in_use
    with _lock:
        _in_use += 1
        if _in_use == 1:
            for name in LOOKUPS:
                _guard(socket, name, _check_host)
            for name in SENDERS:
                _guard(socket.socket, name, _check_peer)


def _reopen() -> None:
    global _in_use
    with _lock:
        _in_use -= 1
        if _in_use == 0:
            while _guarded:
                owner, name, before = _guarded.pop()
                if before is None:
                    delattr(owner, name)
                else:
                    setattr(owner, name, before)


def _guard(owner: Any, name: str, check: Callable[..., None]) -> None:
    original = getattr(owner, name)

    @functools.wraps(original)
    def call_guarded(*args: Any, **kwargs: Any) -> Any:
        if _in_use:  # somebody may have imported the guard by name while it was up
            check(*args, **kwargs)
        return original(*args, **kwargs)

    # `socket.socket` inherits its methods from C: to restore one is to remove the guard.
    own: Any = owner.__dict__
    _guarded.append((owner, name, own.get(name)))
    setattr(owner, name, call_guarded)


def _check_host(host: object = None, *_: object, **__: object) -> None:
    # An address is looked up without asking anybody; to connect to it is another matter.
    if not _is_local(host) and _parse_address(host) is None:
        _refuse(f"a look-up of the host {host!r}")


def _check_peer(sock: socket.socket, *args: Any) -> None:
    # Other families do not leave the machine; what is no address at all is for `socket` itself to refuse.
    if sock.family in (socket.AF_INET, socket.AF_INET6) and args:
        address: Any = args[-1]
        host: object = address[0] if address else None
        if not _is_local(host):
            _refuse(f"a connection to {address!r}")


def _is_local(host: object) -> bool:
    """Tell whether ``host`` is this machine; no host at all stands for it too."""
    name = _decode_host(host).rstrip(".").lower()
    if name in ("", "localhost"):
        return True
    address = _parse_address(host)
    if isinstance(address, ipaddress.IPv6Address) and address.ipv4_mapped is not None:
        address = address.ipv4_mapped
    return address is not None and (address.is_loopback or address.is_unspecified)


def _parse_address(host: object) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    try:
        return ipaddress.ip_address(_decode_host(host))
    except ValueError:
        return None


def _decode_host(host: object) -> str:
    if host is None:
        return ""
    return host.decode("ascii", "replace") if isinstance(host, bytes | bytearray) else str(host)


def _refuse(what: str) -> None:
    raise RuntimeError(
        f"{what[0].upper()}{what[1:]} was refused: this test may not reach beyond this machine. Talk to a server on "
        "127.0.0.1, or use a fake model; pytest's `@pytest.mark.allow_network` lifts the ban for one test under "
        "`hocket.testing.plugin`."
    )
