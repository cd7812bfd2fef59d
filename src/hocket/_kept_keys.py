"""Keys that a person keeps in a file for the ``hocket`` command, which reads it when it starts.

They are beside the environment and not in it: programs that the command starts, an MCP server for one, inherit the
environment, and have no use for them. Where a key may be sent is decided for both alike (`hocket.remote.endpoint`). A
program that imports hocket has none of them.
"""

from collections.abc import Mapping, Sequence

__all__ = ["find_provider_key", "set_kept_keys"]

_kept: dict[str, str] = {}


def set_kept_keys(keys: Mapping[str, str]) -> None:
    """Have these be the kept keys of this process, by the environment variables they stand in for and by origins."""
    _kept.clear()
    _kept.update(keys)


def find_provider_key(variables: Sequence[str], environ: Mapping[str, str], origin: str) -> str | None:
    """Return the key for a server: of the environment, else kept for exactly this origin, else kept for the provider.

    Args:
        variables: that may hold it; none: those of no provider may be sent there.
        environ: the environment.
        origin: of the server, ``https://host:443``.
    """
    places = ((environ, variables), (_kept, (origin, *variables)))
    return next((keys[name] for keys, names in places for name in names if keys.get(name)), None)
