"""The address of a server in Ollama's words, as ``OLLAMA_HOST`` has it: scheme, host and port may each be left out.

The rules are those of Ollama's own programs. The variable also tells the server where to listen, so that it may say
``0.0.0.0``: all addresses of the machine, of which a client takes the one that is this machine's own.
"""

__all__ = ["read_host"]

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
