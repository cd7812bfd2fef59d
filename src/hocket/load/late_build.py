"""Models whose validator is built when it is first needed, so that an import builds none, and then by one thread.

pydantic has a lock of its own from 2.14 on. Without one, threads that need a class for the first time at the same moment
take from one another what they have just built, and validate with the base class's validator. (Before 2.11.5 they do so
while it is built, which no lock prevents.)
"""

import threading
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel, ConfigDict

__all__ = ["LateModel"]

_building = threading.RLock()


class LateModel(BaseModel):
    """A pydantic model that is built when it is first needed, also if many threads need it at once."""

    model_config: ClassVar[ConfigDict] = ConfigDict(defer_build=True)

    if not TYPE_CHECKING:  # the parameters are pydantic's

        @classmethod
        def model_rebuild(cls, *, _parent_namespace_depth: int = 2, **options: Any) -> bool | None:
            """Do as pydantic's, in one thread at a time."""
            with _building:
                return super().model_rebuild(_parent_namespace_depth=_parent_namespace_depth + 1, **options)
