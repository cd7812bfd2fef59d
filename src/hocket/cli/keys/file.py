"""The file of kept keys: a JSON object of environment variables' names and their values, for its owner's eyes alone."""

import contextlib
import json
import os
import stat
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from hocket._kept_keys import set_kept_keys
from hocket.errors import InvalidInput

__all__ = ["find_key_file", "read_keys", "use_kept_keys", "write_keys"]

_OWNER_ONLY = 0o600


def find_key_file() -> Path:
    """Return where keys are kept: in the user's folder of settings, by ``XDG_CONFIG_HOME``."""
    settings = os.environ.get("XDG_CONFIG_HOME") or "~/.config"
    return Path(settings).expanduser() / "hocket" / "keys.json"


def use_kept_keys() -> None:
    """Have providers find the kept keys where the environment has none. The file is read when one is looked for."""
    set_kept_keys(read_keys)


def read_keys() -> dict[str, str]:
    """Return the kept keys by their variables' names; none if there is no file.

    Raises:
        InvalidInput: it cannot be read, is not what `write_keys` writes, or others can read it.
    """
    path = find_key_file()
    try:
        with path.open("rb") as file:
            mode = os.fstat(file.fileno()).st_mode
            text = file.read()
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise InvalidInput(f"the keys in {path} cannot be read: {error.strerror}") from None
    if os.name == "posix" and stat.S_IMODE(mode) & 0o077:
        raise InvalidInput(f"others can read the keys in {path}; `chmod 600 {path}` shuts them out")
    try:
        keys: object = json.loads(text)
    except ValueError:
        keys = None
    pairs = cast("dict[object, object]", keys).items() if isinstance(keys, dict) else [(None, None)]
    kept = {name: key for name, key in pairs if isinstance(name, str) and isinstance(key, str)}
    if len(kept) != len(pairs):
        raise InvalidInput(f"{path} is no JSON object of names and keys; mend it, or delete it")
    return kept


def write_keys(keys: Mapping[str, str]) -> None:
    """Keep these keys, and no others. Whoever reads the file meanwhile finds the old ones or the new.

    Raises:
        InvalidInput: the file cannot be written.
    """
    path = find_key_file()
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        with contextlib.suppress(FileNotFoundError):  # of a process of that number that was killed
            beside.unlink()
        with os.fdopen(os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, _OWNER_ONLY), "w") as file:
            json.dump(dict(sorted(keys.items())), file, indent=2)
            file.write("\n")
            file.flush()
            os.fsync(file.fileno())
        beside.replace(path)
    except OSError as error:
        with contextlib.suppress(OSError):
            beside.unlink()
        raise InvalidInput(f"the keys cannot be kept in {path}: {error.strerror}") from None
