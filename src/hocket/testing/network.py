"""No test talks to the world by accident.

The guards sit on the few functions of ``socket`` through which the Python world reaches the network (asyncio, trio,
httpx, redis and psycopg's Python parts among it), and let only what stays on this machine pass. C libraries that open
sockets by themselves, and uvloop, are not seen.
"""

import functools
import ipaddress
import re
import socket
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, cast
from urllib.parse import urlsplit

from pydantic_core import from_json

from hocket.errors import ModelRequestsBlocked
from hocket.http.address import parse_url
from hocket.http.clients import ClientSettings, OpenReply, Transport
from hocket.http.interception import add_layer, remove_layer
from hocket.http.pool import Pool
from hocket.http.request import HTTPRequest
from hocket.testing.outcomes import end_test

__all__ = ["network_reopened", "no_network"]

# Name look-ups: the host is their first argument.
LOOKUPS = ("getaddrinfo", "gethostbyname", "gethostbyname_ex")

_MODEL = re.compile(r"/(?:models|deployments)/([^/:]+)")  # where Google and Azure name it

# Methods of a socket: the address is their first argument, or the last of `sendto`.
SENDERS = ("connect", "connect_ex", "sendto")

_WAY_OUT = (
    "this test may not reach beyond this machine. Talk to a server on 127.0.0.1, or use a fake model; pytest's "
    "`@pytest.mark.allow_network` lifts the ban for one test under `hocket.testing.plugin`."
)

_lock = threading.Lock()
_in_use = 0
_reopened = 0
_guarded: list[tuple[Any, str, Any]] = []


@contextmanager
def no_network() -> Generator[None]:
    """Refuse every connection and name look-up beyond this machine, in the whole process, until the end of the block.

    Loopback addresses (127.0.0.0/8, ::1), ``localhost`` and unix sockets pass. Blocks may be nested and may overlap in
    several threads: the network opens again when the last one ends.

    Raises:
        RuntimeError: from the call that was refused; it names the address.
        ModelRequestsBlocked: from the call of a model, if it was one. It is no ``Exception``.
    """
    _close()
    try:
        yield
    finally:
        _reopen()


@contextmanager
def network_reopened() -> Generator[None]:
    """Let everything through in spite of `no_network`, until the end of the block: something is being recorded."""
    _change_reopened(+1)
    try:
        yield
    finally:
        _change_reopened(-1)


def _change_reopened(by: int) -> None:
    global _reopened
    with _lock:
        _reopened += by


def _close() -> None:
    global _in_use
    with _lock:
        _in_use += 1
        if _in_use == 1:
            for name in LOOKUPS:
                _guard(socket, name, _check_host)
            for name in SENDERS:
                _guard(socket.socket, name, _check_peer)
            add_layer(_models, at_wire=True)


def _reopen() -> None:
    global _in_use
    with _lock:
        _in_use -= 1
        if _in_use == 0:
            remove_layer(_models)
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
        if _in_use and not _reopened:  # somebody may have imported the guard by name while it was up
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
    raise RuntimeError(f"{what[0].upper()}{what[1:]} was refused: {_WAY_OUT}")


class _ModelGuard:
    """The layer over hocket's own requests."""

    @property
    def answers_all(self) -> bool:
        """It answers nothing."""
        return False

    def wrap(self, transport: Transport, settings: ClientSettings, client: object) -> Transport:
        """Return what refuses requests beyond this machine."""
        return _RefusingTransport(transport)


_models = _ModelGuard()


class _RefusingTransport:
    """Sends what stays on this machine. Of what does not it says which model was to be asked, and what to do."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    async def open(self, request: HTTPRequest) -> OpenReply:
        """Send a request.

        Raises:
            ModelRequestsBlocked: its server is not this machine.
        """
        if _reopened:
            return await self._transport.open(request)
        host = parse_url(request.url).origin.host
        if isinstance(self._transport, Pool) and not _is_local(host):
            raise _block(request, host)
        try:
            return await self._transport.open(request)
        except BaseException as error:  # a proxy, or an injected client, which may also answer by itself
            if not _comes_from_guard(error):
                raise
        raise _block(request, host)


def _comes_from_guard(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        return any(map(_comes_from_guard, cast("BaseExceptionGroup[BaseException]", error).exceptions))
    return isinstance(error, RuntimeError) and str(error).endswith(_WAY_OUT)


def _block(request: HTTPRequest, host: str) -> ModelRequestsBlocked:
    model = _find_model(request)
    return end_test(
        ModelRequestsBlocked,
        f"{f'the model {model!r}' if model else 'a request'} at {host} was refused: this test may not reach beyond this "
        "machine. Give the code a fake (`hocket.testing.ScriptedChatModel`), or record the answers once "
        "(`@pytest.mark.cassette` under `hocket.testing.plugin`, then `pytest --hocket-record=once`), or mark the test "
        "`allow_network`",
    )


def _find_model(request: HTTPRequest) -> str | None:
    """Return the model that a request asks; None: it does not say."""
    try:
        body: object = from_json(request.content or b"null")
    except ValueError:
        body = None
    named: object = cast("dict[str, object]", body).get("model") if isinstance(body, dict) else None
    if isinstance(named, str):
        return named
    in_path = _MODEL.search(urlsplit(request.url).path)
    return in_path[1] if in_path is not None else None
