"""Addresses that anybody on the web has, and those that only this machine or a private network has.

A fetch of an untrusted address must not reach private networks. A name is looked up once, and the connection is made to
what was looked at: a name that leads elsewhere a moment later leads nowhere.
"""

import ipaddress
import socket

import anyio

from hocket.errors import ConnectionFailed

__all__ = ["leads_inside", "resolve_public"]

_INSIDE = (".localhost", ".local", ".internal", ".lan", ".home.arpa")
_NAT64 = ipaddress.IPv6Network("64:ff9b::/96")


def leads_inside(host: str) -> bool:
    """Whether a host is named by an address that is not public, in any form that systems take, or by a name inside.

    Names are not looked up.

    Raises:
        ValueError: it is no name of a host.
    """
    host = host.encode("idna").decode().rstrip(".").lower()
    address = _read_address(host)
    if address is not None:
        return not _is_public(address)
    return "." not in host or host.endswith(_INSIDE)


async def resolve_public(host: str, port: int) -> list[str]:
    """Return the addresses of a host, all of which are public.

    Raises:
        ConnectionFailed: one is not.
        OSError: there are none: a ``socket.gaierror``.
    """
    found = await anyio.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    addresses = list(dict.fromkeys(str(one[4][0]) for one in found))
    for one in addresses:
        if not _is_public(ipaddress.ip_address(one.partition("%")[0])):
            raise ConnectionFailed(f"{host} leads to {one}, which is no public address")
    return addresses


def _is_public(address: ipaddress.IPv4Address | ipaddress.IPv6Address) -> bool:
    if isinstance(address, ipaddress.IPv6Address):
        inside = address.ipv4_mapped or address.sixtofour
        if inside is None and address in _NAT64:
            inside = ipaddress.IPv4Address(int(address) & 0xFFFF_FFFF)
        if inside is not None:
            return _is_public(inside)
    return address.is_global and not address.is_multicast


def _read_address(host: str) -> ipaddress.IPv4Address | ipaddress.IPv6Address | None:
    """Return the address that a host is given as, in any form that systems take: 127.1 and 0x7f000001 are 127.0.0.1."""
    if ":" in host:
        return ipaddress.IPv6Address(host)
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host))
    except OSError:
        return None
