"""What a call may set or choose under ``config["configurable"]``, as data."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

__all__ = [
    "AnyConfigurableField",
    "ConfigurableField",
    "ConfigurableFieldMultiOption",
    "ConfigurableFieldSingleOption",
    "ConfigurableFieldSpec",
]


class ConfigurableField(NamedTuple):
    """A field whose value a call may give.

    Attributes:
        id: the key under ``config["configurable"]``.
        name, description, annotation: for readers.
        is_shared: whether the key stays as it is where others get a prefix (``prefix_keys``).
    """

    id: str
    name: str | None = None
    description: str | None = None
    annotation: object = None
    is_shared: bool = False


class ConfigurableFieldSingleOption(NamedTuple):
    """A field whose value a call may choose, by name.

    Attributes:
        id, name, description, is_shared: as of a `ConfigurableField`.
        options: the values, by name.
        default: the name of one.
    """

    id: str
    options: Mapping[str, object]
    default: str
    name: str | None = None
    description: str | None = None
    is_shared: bool = False


class ConfigurableFieldMultiOption(NamedTuple):
    """A field whose value is a list of which a call may choose the items, by name.

    Attributes:
        id, name, description, is_shared, options: as of a `ConfigurableFieldSingleOption`.
        default: names.
    """

    id: str
    options: Mapping[str, object]
    default: Sequence[str]
    name: str | None = None
    description: str | None = None
    is_shared: bool = False


class ConfigurableFieldSpec(NamedTuple):
    """What may stand under ``config["configurable"]``, for readers."""

    id: str
    annotation: object = None
    name: str | None = None
    description: str | None = None
    default: object = None
    is_shared: bool = False
    dependencies: list[str] | None = None


AnyConfigurableField = ConfigurableField | ConfigurableFieldSingleOption | ConfigurableFieldMultiOption
"""What makes a field of a runnable one that a config may set: freely, to one option of several, or to some."""
