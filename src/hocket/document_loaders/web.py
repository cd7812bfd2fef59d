"""A page on the web: it is fetched, and read as a file of its kind would be.

Its address may come from a stranger, and the server that answers belongs to one. So only public addresses are asked, at
each step of a redirect, and what comes is bounded in size and in time. No key, no cookie and no user is sent.
"""

import io
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from email.message import Message
from urllib.parse import urljoin, urlsplit

import anyio

from hocket._runtime.stream import Sink, Stream
from hocket.document_loaders.base import AHEAD, StreamLoader, read_in_threads
from hocket.document_loaders.choosing import Chooser
from hocket.document_loaders.files import MAX_BYTES, is_address
from hocket.document_loaders.formats import HEAD
from hocket.document_loaders.text_files import is_text_encoding
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput, LLMError
from hocket.http.clients import ClientSettings
from hocket.http.exchange import open_stream
from hocket.http.public_addresses import leads_inside
from hocket.http.request import HTTPRequest

__all__ = ["WebBaseLoader"]

_MAX_REDIRECTS = 5
_REDIRECTS = (301, 302, 303, 307, 308)
_SUFFIXES = {
    "text/html": ".html",
    "application/xhtml+xml": ".html",
    "text/markdown": ".md",
    "text/csv": ".csv",
    "application/json": ".json",
    "application/x-ndjson": ".jsonl",
    "application/xml": ".xml",
    "text/xml": ".xml",
    "application/rss+xml": ".xml",
    "application/atom+xml": ".xml",
    "message/rfc822": ".eml",
    "application/vnd.openxmlformats-officedocument.presentationml.presentation": ".pptx",
    "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet": ".xlsx",
}
"""Kinds that neither content nor, on the web, an address tells."""


class WebBaseLoader(StreamLoader):
    """Loads a page on the web, or a file there of any kind that `open_documents` reads; ``source`` is its address.

    At most five redirects are followed, and none from https to http. An address that only this machine or a private network
    has is refused; where a proxy is set, the proxy decides about names that this machine cannot look up.

    Args:
        web_path: the address, of http or https, without a user.
        encoding: of text that has no byte order mark, is not UTF-8, and of which the server does not say it.
        max_bytes: how large it may be; None: any size.
        timeout: how long it may take to come, in seconds.
        allow_private: whether this machine and private networks are asked, too: for addresses that you write yourself.

    Raises:
        InvalidInput: an argument nothing could be fetched with.
        DocumentError: by the verbs: it cannot be fetched, or not be read.
    """

    def __init__(
        self,
        web_path: str,
        *,
        encoding: str | None = None,
        max_bytes: int | None = MAX_BYTES,
        timeout: float = 30,
        allow_private: bool = False,
    ) -> None:
        if not isinstance(web_path, str) or not is_address(web_path):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"an address begins with https:// or http://, and {str(web_path)[:80]!r} does not")
        if "@" in urlsplit(web_path).netloc:
            raise InvalidInput("the address names a user, and documents would contain it; give one without")
        if not timeout > 0:
            raise InvalidInput(f"timeout is {timeout!r}; it is a number of seconds above 0")
        self.web_path: str = web_path
        self.timeout: float = timeout
        self.allow_private: bool = allow_private
        self.chooser: Chooser = Chooser(encoding=encoding, max_bytes=max_bytes)

    def alazy_load(self) -> Stream[Document]:
        """Return a stream of what is there, which is fetched at the first pull."""
        return Stream(self._produce, bound=AHEAD)

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.web_path!r})"

    async def _produce(self, sink: Sink[Document]) -> None:
        fetched: tuple[str, Mapping[str, str], bytes] | None = None
        try:
            with anyio.move_on_after(self.timeout):
                fetched = await self._fetch()
        except (LLMError, InvalidInput) as error:
            raise self._refuse(
                f"it cannot be fetched ({error}); check the address, or fetch it by other means"
            ) from error
        if fetched is None:
            raise self._refuse(f"it has not come within {self.timeout:g} s; try again, or raise timeout=")
        name, headers, content = fetched
        if not content:
            raise self._refuse("it is empty; check the address")
        kind = Message()
        kind["content-type"] = headers.get("content-type", "")
        suffix = _SUFFIXES.get(kind.get_content_type())
        charset = kind.get_content_charset() or ""
        chooser = replace(self.chooser, encoding=charset) if is_text_encoding(charset) else self.chooser
        loader = chooser.choose_by_head(content[:HEAD], self.web_path, f"page{suffix}" if suffix else name)
        await read_in_threads(lambda: loader.read(io.BufferedReader(io.BytesIO(content))), sink)

    async def _fetch(self) -> tuple[str, Mapping[str, str], bytes]:
        """Return the path of what is there at last, its headers, and its content."""
        address = self.web_path
        for _ in range(_MAX_REDIRECTS + 1):
            self._check_address(address)
            request = HTTPRequest("GET", address, {"accept": "text/html,application/xhtml+xml,*/*;q=0.8"})
            settings = ClientSettings(is_public_only=not self.allow_private)
            stream = await open_stream(request, settings, max_bytes=self.chooser.max_bytes)
            try:
                if stream.status in _REDIRECTS and (there := stream.headers.get("location")):
                    address = self._follow(address, there)
                    continue
                if stream.status != 200:
                    raise self._refuse(f"the server answers {stream.status}; check the address")
                pieces = [piece async for piece in stream]
                return urlsplit(address).path, stream.headers, b"".join(pieces)
            finally:
                await stream.aclose()
        raise self._refuse(f"it is redirected more than {_MAX_REDIRECTS} times; check the address")

    def _follow(self, address: str, there: str) -> str:
        target = ""
        with suppress(ValueError):
            target = urljoin(address, there)
            target = "" if "@" in urlsplit(target).netloc else target
        if not is_address(target) or (address[:6].lower() == "https:" and target[:6].lower() != "https:"):
            raise self._refuse("it is redirected to what is not fetched: no web page, or one without TLS; check it")
        return target

    def _check_address(self, address: str) -> None:
        try:
            is_private = leads_inside(urlsplit(address).hostname or "")
        except ValueError:
            raise self._refuse("it names no host; check the address") from None
        if is_private and not self.allow_private:
            where = "" if address == self.web_path else " by a redirect"
            raise self._refuse(
                f"it leads{where} to this machine or a private network, and only public addresses are asked: what is there "
                "may be for you alone, and the address a stranger's; WebBaseLoader(..., allow_private=True) asks there"
            )

    def _refuse(self, problem: str) -> DocumentError:
        return DocumentError(self.web_path, problem)
