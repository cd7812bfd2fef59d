"""The servers of pages."""

from tests.http.conftest import no_proxy_from_outside, serve

__all__ = ["no_proxy_from_outside", "serve"]
