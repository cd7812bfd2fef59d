"""A server of Ollama's: where it is, which models it has, and what to do where it or a model is missing.

Its address is in ``OLLAMA_HOST``; scheme, host and port may each be left out. The rules are those of Ollama's own
programs. The variable also tells the server where to listen, so that it may say ``0.0.0.0``: all addresses of the
machine, of which a client takes the one that is this machine's own.
"""

import re
from collections.abc import Mapping, Sequence
from typing import ClassVar

from hocket.errors import LLMError
from hocket.http.request import HTTPReply
from hocket.messages.content import FieldsView
from hocket.remote.endpoint import Endpoint, is_local
from hocket.remote.options import FIELDS_INSTEAD
from hocket.remote.service import RemoteService

__all__ = ["PROVIDER", "OllamaService", "read_host"]

_PORT = 11434
_PORTS = {"http": 80, "https": 443}
_EVERYWHERE = frozenset({"", "0.0.0.0", "[::]"})


def read_host(host: str) -> str:
    """Return the URL that an address means."""
    scheme, has_scheme, rest = host.strip().strip("\"'").rpartition("://")
    place, slash, path = rest.partition("/")
    if not has_scheme:
        scheme = "https" if place == "ollama.com" else "http"
    name, colon, port = place.rpartition(":")
    if not colon or not port.isdigit() or (name.count(":") and not name.endswith("]")):
        name, port = place, ""
    if name.count(":") and not name.startswith("["):
        name = f"[{name}]"
    name = "127.0.0.1" if name in _EVERYWHERE else name
    default = _PORTS.get(scheme, _PORT) if has_scheme or scheme == "https" else _PORT
    return f"{scheme}://{name}:{port or default}{slash}{path}".rstrip("/")


PROVIDER = "ollama"

_MISSING = re.compile(r"model ['\"]([^'\"]+)['\"] not found")


class OllamaService(RemoteService):
    """A server of Ollama's.

    Args:
        base_url: default: what ``OLLAMA_HOST`` says (scheme and port may be left out), else ``http://127.0.0.1:11434``.
        api_key: for Ollama's cloud; default: ``OLLAMA_API_KEY``. A server on this machine needs none.

    `RemoteService` tells the rest.
    """

    _endpoint: ClassVar = Endpoint(
        name=PROVIDER,
        base_url="http://127.0.0.1:11434",
        hosts=("ollama.com",),
        url_variable="OLLAMA_HOST",
        read_url=read_host,
        key_variables=("OLLAMA_API_KEY",),
        needs_key=False,
        start_command="ollama serve",
    )

    _renamed_fields: ClassVar[Mapping[str, str]] = {
        **FIELDS_INSTEAD,
        "format": "response_format={'type': 'json_object'}, or with_structured_output(schema)",
        "reasoning": "think=True, think=False or think='low', or reasoning_effort=... as with every model",
        "sync_client_kwargs": FIELDS_INSTEAD["client_kwargs"],
        "validate_model_on_init": "nothing: `await model.alist_models()` names the models that the server has",
    }

    async def alist_models(self) -> list[str]:
        """Return the names of the models that the server has, in its order; each has its size as its ``note``.

        Raises:
            LLMError: the server failed or refused, could not be reached, or gave no such list.
        """
        return await self._fetch_names("api/tags", "models", "model", _describe)

    def _is_in_cloud(self, model: str) -> bool:
        """Whether a model runs in Ollama's cloud, where it has all of its window."""
        is_asked = self._endpoint.has_host(self.base_url) and not is_local(self.base_url)
        return is_asked or model.endswith(("-cloud", ":cloud"))

    def _read_failure(self, reply: HTTPReply, secrets: Sequence[str]) -> LLMError:
        error = super()._read_failure(reply, secrets)
        if reply.status == 404 and (found := _MISSING.search(error.message)):
            error.message += f"; `ollama pull {found[1]}` fetches it"
            error.args = (error.message,)
        return error


def _describe(model: FieldsView) -> str:
    """Return the size of a model on disk, as ``ollama list`` shows it; nothing, where that is not known."""
    size = model.get("size")
    if not isinstance(size, int) or size < 1_000_000:  # one in the cloud is a few hundred bytes here
        return ""
    return f"{size / 1e9:.1f} GB" if size >= 1_000_000_000 else f"{size / 1e6:.0f} MB"
