"""Who fetches what a stranger has named is not sent inside."""

import socket

import pytest

from hocket.errors import ConnectionFailed
from hocket.http.clients import ClientSettings
from hocket.http.connect import connect
from hocket.http.exchange import send
from hocket.http.public_addresses import leads_inside
from hocket.http.request import HTTPRequest
from hocket.http.wire import Origin
from tests.http.conftest import Servers

pytestmark = pytest.mark.anyio


async def test_a_name_that_leads_inside_is_not_asked(serve: Servers, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was looked at is connected to: a name that leads elsewhere the next time leads nowhere."""
    server = serve.answering(Servers.reply(b"secret"))
    found = [(socket.AF_INET, socket.SOCK_STREAM, 6, "", ("127.0.0.1", server.port))]
    asked: list[object] = []

    def resolve(host: object, *rest: object, **options: object) -> object:
        asked.append(host)
        return found

    monkeypatch.setattr(socket, "getaddrinfo", resolve)
    with pytest.raises(ConnectionFailed, match=r"example.org leads to 127.0.0.1, which is no public address") as caught:
        await connect(Origin("http", "example.org", server.port), None, None, is_public_only=True)
    assert not caught.value.retryable
    assert not server.accepted and len(asked) == 1


@pytest.mark.parametrize(
    ("host", "is_inside"),
    [
        ("example.org", False),
        ("8.8.8.8", False),
        ("2606:4700::1111", False),
        ("localhost", True),
        ("printer.local.", True),
        ("127.1", True),
        ("0x7f000001", True),
        ("169.254.169.254", True),
        ("100.64.0.1", True),
        ("224.0.1.1", True),
        ("::1", True),
        ("::ffff:10.0.0.1", True),
        ("64:ff9b::a00:1", True),
        ("2002:a00:1::", True),
        ("fd00::1", True),
    ],
)
def test_which_hosts_lead_inside(host: str, is_inside: bool) -> None:
    assert leads_inside(host) is is_inside


async def test_a_proxy_is_not_asked_for_a_private_address(serve: Servers) -> None:
    """Whether a proxy applies to a host or not: which is for the environment to say."""
    proxy = serve.answering(Servers.reply(b"secret"))
    settings = ClientSettings(proxy=proxy.url, is_public_only=True)
    with pytest.raises(ConnectionFailed, match="no public address"):
        await send(HTTPRequest("GET", "http://127.0.0.1:9/", {}), settings)
    assert not proxy.accepted
