"""Keys that a person keeps in a file for the ``hocket`` command, which reads it when a key is looked for.

They are beside the environment and not in it: programs that the command starts, an MCP server for one, inherit the
environment, and have no use for them. Where a key may be sent is decided for both alike (`hocket.remote.endpoint`). A
program that imports hocket has none of them.
"""

from collections.abc import Callable, Mapping, Sequence

__all__ = ["find_provider_key", "set_kept_keys"]

_read_kept: Callable[[], Mapping[str, str]] = dict


def set_kept_keys(read: Callable[[], Mapping[str, str]]) -> None:
    """Have this function return the kept keys of this process, by the variables they stand in for and by origins."""
    global _read_kept
    _read_kept = read


def find_provider_key(variables: Sequence[str], environ: Mapping[str, str], origin: str) -> str | None:
    """Return the key for a server: of the environment, else kept for exactly this origin, else kept for the provider.

    Args:
        variables: that may hold it; none: those of no provider may be sent there.
        environ: the environment.
        origin: of the server, ``https://host:443``.

    Raises:
        Exception: what reads the kept keys raises.
    """
    found = _find_first(environ, variables)
    return found or _find_first(_read_kept(), (origin, *variables))


def _find_first(keys: Mapping[str, str], names: Sequence[str]) -> str | None:
    return next((keys[name] for name in names if keys.get(name)), None)
