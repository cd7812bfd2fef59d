"""Keys that a person keeps in a file for the ``hocket`` command, which reads it when it starts.

They are beside the environment and not in it: programs that the command starts, an MCP server for one, inherit the
environment, and have no use for them. Where a key may be sent is decided for both alike (`hocket.remote.endpoint`). A
program that imports hocket has none of them.
"""

from collections.abc import Mapping, Sequence

__all__ = ["find_provider_key", "set_kept_keys"]

_kept: dict[str, str] = {}


def set_kept_keys(keys: Mapping[str, str]) -> None:
    """Have these be the kept keys of this process, by the names of the environment variables that they stand in for."""
    _kept.clear()
    _kept.update(keys)


def find_provider_key(variables: Sequence[str], environ: Mapping[str, str]) -> str | None:
    """Return the first key that one of the variables holds, those of the environment before the kept ones."""
    return next((keys[name] for keys in (environ, _kept) for name in variables if keys.get(name)), None)
