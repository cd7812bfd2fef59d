"""Pages on the web: fetched from public addresses alone, as far as they may be, and read as files of their kind are."""

import gzip
from pathlib import Path

import pytest

from hocket.document_loaders import WebBaseLoader, open_documents
from hocket.errors import DocumentError, InvalidInput
from tests.document_loaders.files import make_docx, paragraph, write
from tests.http.conftest import Servers

pytestmark = pytest.mark.anyio

PAGE = b"<title>Boilers</title><p>Bleed them, \xe9."


def serve_page(serve: Servers, body: bytes, kind: str = "text/html", *headers: str) -> str:
    return serve.answering(serve.reply(body, f"content-type: {kind}", *headers)).url


@pytest.mark.parametrize(
    ("path", "kind", "body", "expected", "title"),
    [
        ("/", "text/html; charset=ISO-8859-1", PAGE, "Bleed them, é.", "Boilers"),
        ("/a.html?x=1", "text/plain", "<p>é".encode(), "é", "a"),
        ("/a", "application/pdf", make_docx(paragraph("One.")), "One.", "a"),
        ("/feed", "application/rss+xml", b"<rss><title>News</title></rss>", "title: News", "News"),
        ("/notes.md.gz", "application/gzip", gzip.compress(b"# Notes"), "# Notes", "Notes"),
        ("/notes", "nonsense", b"Plain.", "Plain.", "notes"),
    ],
)
async def test_a_page_is_read_as_what_it_is(
    serve: Servers, path: str, kind: str, body: bytes, expected: str, title: str
) -> None:
    """The server says what it is, or the address; its content has the last word."""
    address = serve_page(serve, body, kind) + path
    (document,) = await WebBaseLoader(address, allow_private=True).aload()
    assert (document.page_content, document.metadata) == (expected, {"source": address, "title": title})


def test_a_page_is_loaded_by_the_sync_verbs(serve: Servers) -> None:
    assert WebBaseLoader(serve_page(serve, PAGE, "text/html; charset=latin-1"), allow_private=True).load()


async def test_a_compressed_page_is_bounded_as_it_unpacks(serve: Servers) -> None:
    address = serve_page(serve, gzip.compress(b"<p>" + b" " * 1_000_000), "text/html", "content-encoding: gzip")
    with pytest.raises(DocumentError, match=r"longer than the limit of 10,000 bytes"):
        await WebBaseLoader(address, allow_private=True, max_bytes=10_000).aload()


def redirect(to: str) -> bytes:
    return Servers.reply(b"", f"location: {to}", status="302 Found")


async def test_redirects_are_followed_a_few_times(serve: Servers) -> None:
    """``source`` stays the address that was asked for."""
    page = serve.answering(Servers.reply(b"<p>Here", "content-type: text/html"))
    server = serve.answering(redirect("/b"), redirect(f"{page.url}/c"))
    (document,) = await WebBaseLoader(f"{server.url}/a", allow_private=True).aload()
    assert (document.page_content, document.metadata["source"]) == ("Here", f"{server.url}/a")
    assert [request.target for request in (*server.requests, *page.requests)] == ["/a", "/b", "/c"]
    assert not {"cookie", "authorization"} & page.requests[0].headers.keys()
    with pytest.raises(DocumentError, match="redirected more than 5 times"):
        await WebBaseLoader(serve.answering(redirect("/")).url, allow_private=True).aload()


@pytest.mark.parametrize("there", ["file:///etc/passwd", "ftp://example.org", "http://user@example.org", "http://[x"])
async def test_other_redirects_are_not_followed(serve: Servers, there: str) -> None:
    with pytest.raises(DocumentError, match="it is redirected to what is not fetched"):
        await WebBaseLoader(serve.answering(redirect(there)).url, allow_private=True).aload()


@pytest.mark.parametrize(
    ("reply", "problem"),
    [
        (Servers.reply(b"gone", status="404 Not Found"), "the server answers 404; check the address"),
        (Servers.reply(b"", status="302 Found"), "the server answers 302"),
        (Servers.reply(b""), "it is empty"),
        (Servers.reply(b"\x89PNG\r\n\x1a\n"), "it is a PNG image, which is not read"),
        (b"rubbish\r\n\r\n", "it cannot be fetched"),
        (b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\ncut", "it cannot be fetched"),
    ],
)
async def test_what_cannot_be_fetched_is_said(serve: Servers, reply: bytes, problem: str) -> None:
    address = serve.closing(reply).url
    with pytest.raises(DocumentError, match=problem) as caught:
        await WebBaseLoader(address, allow_private=True).aload()
    assert caught.value.path == address


async def test_a_page_that_does_not_come_is_given_up(serve: Servers) -> None:
    server = serve.waiting(b"HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nx")
    with pytest.raises(DocumentError, match=r"it has not come within 0.05 s; try again, or raise timeout="):
        await WebBaseLoader(server.url, allow_private=True, timeout=0.05).aload()
    await server.until(lambda server: not server.open)


async def test_private_addresses_are_not_asked(serve: Servers) -> None:
    """Not where they are named, nor where a name or a redirect leads there."""
    server = serve.answering(Servers.reply(b"secret"))
    with pytest.raises(DocumentError, match=r"it leads to this machine or a private network, .*allow_private=True"):
        await open_documents(server.url).aload()
    with pytest.raises(DocumentError, match=r"only public addresses are asked"):
        await WebBaseLoader(f"http://[::ffff:127.0.0.1]:{server.port}").aload()
    assert not server.accepted


def test_a_page_among_files_is_passed_over_as_they_are(tmp_path: Path) -> None:
    """By the rule of the loader; it is no file that is gone."""
    write(tmp_path / "a.txt", "One.")
    loader = open_documents("http://127.0.0.1:9/x", tmp_path, on_error="skip")
    assert loader.list_files() == ["http://127.0.0.1:9/x", str(tmp_path / "a.txt")]
    assert [document.page_content for document in loader.load()] == ["One."]
    assert [error.path for error in loader.skipped] == ["http://127.0.0.1:9/x"]
    assert not loader.has_lost("http://127.0.0.1:9/x")


@pytest.mark.parametrize("address", ["ftp://example.org", "example.org", "https://user:secret@example.org", 7])
def test_what_is_no_address_is_refused_at_once(address: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        WebBaseLoader(address)
    assert "secret" not in str(caught.value)
    with pytest.raises(InvalidInput, match="timeout is 0"):
        WebBaseLoader("https://example.org", timeout=0)
