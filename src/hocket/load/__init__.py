"""Safe serialisation: registered types only, secrets as references, and user data that stays user data.

:func:`dumpd` and :func:`dumps` write, :func:`load` and :func:`loads` read; :class:`Serializable` is the base of what
can be rebuilt. Names and wire form are langchain-core's, except that ids name hocket's classes, and that nodes of type
``value`` carry what JSON has no word for.
"""

from hocket.load.dump import dumpd, dumps
from hocket.load.loading import AllowedObjects as AllowedObjects, InitValidator, load, loads
from hocket.load.nodes import (
    BaseSerialized as BaseSerialized,
    SerializedConstructor as SerializedConstructor,
    SerializedNotImplemented as SerializedNotImplemented,
    SerializedSecret as SerializedSecret,
)
from hocket.load.serializable import Serializable, to_json_not_implemented as to_json_not_implemented

__all__ = ["InitValidator", "Serializable", "dumpd", "dumps", "load", "loads"]
