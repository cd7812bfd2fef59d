"""What handlers are told of a run beside LangChain's facts."""

import functools
from collections.abc import Mapping
from urllib.parse import urlsplit

__all__ = ["AGENT_NAME", "describe_server"]

AGENT_NAME = "hocket_agent_name"
"""In the metadata of a run: it is that of an agent, of this name. The runs inside it do not get it."""


def describe_server(url: object) -> Mapping[str, object]:
    """Return host and port of a server's URL, as ``server_address`` and ``server_port``, and nothing else of it.

    The rest may hold a secret. Nothing at all, where there is no URL, or one that cannot be read.
    """
    return _read_address(url) if isinstance(url, str) else {}


@functools.lru_cache(maxsize=256)
def _read_address(url: str) -> Mapping[str, object]:
    try:
        parts = urlsplit(url)
        address, port = parts.hostname, parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        return {}
    return {"server_address": address, "server_port": port} if address else {}
