"""``hocket keys``: keys of providers, kept in a file of their owner's, where the environment has none."""

from hocket.cli.keys.command import HELP, configure, run
from hocket.cli.keys.file import use_kept_keys

__all__ = ["HELP", "configure", "run", "use_kept_keys"]
