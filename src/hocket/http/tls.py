"""TLS contexts: which authorities an https connection trusts.

To read the authorities takes 20 to 100 ms, so it is done once for each setting, in a worker thread, when the first https
address is asked for. A context may be shared by threads and loops.
"""

import os
import threading
from typing import TYPE_CHECKING

from hocket._runtime.fork import after_fork
from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput

if TYPE_CHECKING:
    import ssl

__all__ = ["get_tls_context"]

Key = tuple[bool | str, str | None, str | None]

_lock = threading.Lock()
_contexts: dict[Key, "ssl.SSLContext"] = {}


async def get_tls_context(verify: bool | str) -> "ssl.SSLContext":
    """Return the context for a setting.

    Args:
        verify: True: trust the authorities of the environment's ``SSL_CERT_FILE`` or ``SSL_CERT_DIR``, else certifi's;
            a text: the path of a file or directory of authorities; False: trust anybody.

    Raises:
        InvalidInput: there is nothing at that path, or it holds no certificates.
    """
    key = (verify, os.environ.get("SSL_CERT_FILE"), os.environ.get("SSL_CERT_DIR"))
    context = _contexts.get(key)
    return context if context is not None else await ASYNC.call_sync(_get_or_create, key)


def _get_or_create(key: Key) -> "ssl.SSLContext":
    with _lock:  # one is enough, however many ask for the first
        if key not in _contexts:
            _contexts[key] = _create_context(*key)
        return _contexts[key]


def _create_context(verify: bool | str, file: str | None, directory: str | None) -> "ssl.SSLContext":
    import ssl

    if verify is False:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    else:
        if isinstance(verify, str):
            file, directory = (None, verify) if os.path.isdir(verify) else (verify, None)
        elif not file and not directory:
            import certifi

            file = certifi.where()
        try:
            context = ssl.create_default_context(cafile=file or None, capath=None if file else directory)
        except OSError as error:  # ssl.SSLError is one
            raise InvalidInput(f"no authorities to trust could be read from {file or directory}: {error}") from error
    context.set_alpn_protocols(["http/1.1"])
    return context


@after_fork
def _start_anew() -> None:
    global _lock
    _lock = threading.Lock()  # another thread may have held it
