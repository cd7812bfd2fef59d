"""How long a call may take: its limits on time, as data. `_pipeline.observe` and `_pipeline.attempts` hold them."""

from collections.abc import Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Annotated, ClassVar, Self, TypeAlias, cast

from pydantic import BeforeValidator, ConfigDict, Field, ValidationError

from hocket.errors import InvalidInput
from hocket.load.serializable import Serializable, construct

__all__ = ["HTTP_TIMEOUT", "Timeout", "TimeoutLike", "connect_limit"]

_WHAT_IT_IS = "it is a Timeout, or a number of seconds above 0, or None"

Seconds = Annotated[float, Field(gt=0, strict=True, allow_inf_nan=False)]


class Timeout(Serializable):
    """Limits on the time of a call, in seconds, for every provider alike. None: no limit.

    Where a call, or a binding, gives a `Timeout` of its own, a limit that it leaves out is the model's. In a batch each
    item has the limits for itself, from when its own turn has come.

    Args:
        connect: until there is a connection, name look-up and TLS handshake included (`ConnectTimeout`).
        first_token: until a stream brings its first chunk, connecting included, for each attempt (`FirstTokenTimeout`).
        idle: between two chunks of a stream (`IdleTimeout`).
        total: for all of it: waiting for the rate limiter, all attempts, and the pauses between them (`TotalTimeout`).

    What only keeps a connection alive, such as a ping, is no chunk. The time that the consumer of a stream takes counts
    for none of them, that of handlers only for ``total``, from the start of a run on. Handlers of its end are
    outside of it and have 5 s each, so that an end is always reported. Equal calls that share a request keep each to its own
    ``total``; the other limits are those of the first.

    A sync hook cannot be interrupted. Under a sync verb ``total`` is looked at between its chunks and before another
    attempt, and the others are not held; under an async verb all are held, but its thread goes on to the next chunk.

    Examples:
        >>> from hocket import FakeListChatModel, Timeout
        >>> model = FakeListChatModel(responses=["Hello."], timeout=Timeout(first_token=60, idle=60, total=300))
        >>> model.invoke("Hi", timeout=30).text
        'Hello.'
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(frozen=True, extra="forbid")

    connect: Seconds | None = None
    first_token: Seconds | None = None
    idle: Seconds | None = None
    total: Seconds | None = None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """It travels as data."""
        return True

    def over(self, other: "Timeout | None") -> Self:
        """Return these limits, and those of ``other`` where nothing was said here."""
        if other is None or self.model_fields_set == type(self).model_fields.keys():
            return self
        own = {name: getattr(self, name) for name in self.model_fields_set}
        others = {name: getattr(other, name) for name in other.model_fields_set}
        return type(self)(**{**others, **own})

    @classmethod
    def of(cls, value: "Timeout | float") -> "Timeout":
        """Return ``value``; a number is a ``total``.

        Raises:
            InvalidInput: it is neither, or not above 0.
        """
        if isinstance(value, Timeout):
            return value
        try:
            return cls(total=value)
        except ValidationError:
            raise InvalidInput(f"timeout is {value!r}; {_WHAT_IT_IS}") from None


def _coerce_timeout(value: object) -> object:
    if isinstance(value, int | float) and not isinstance(value, bool):
        return Timeout(total=value)
    if isinstance(value, Timeout | Mapping):
        return cast(object, value)
    raise ValueError(f"timeout is {value!r}; {_WHAT_IT_IS}")


if TYPE_CHECKING:
    TimeoutLike: TypeAlias = Timeout | float
    """A `Timeout`; a number is its ``total``."""
else:
    TimeoutLike = Annotated[
        Timeout, BeforeValidator(_coerce_timeout)
    ]  # a field holds a `Timeout`, whatever it was given

# Not validated, for which pydantic would have to build a validator: the first one costs a twentieth of hocket's import.
HTTP_TIMEOUT = construct(Timeout, connect=10.0, first_token=300.0, idle=120.0, total=1200.0)
"""The limits of models behind HTTP, unless told otherwise. A model that reasons may be silent for minutes at first."""

connect_limit: ContextVar[float | None] = ContextVar("hocket_connect_limit", default=None)
"""The ``connect`` of the call under way, on its way past the hook to the code that opens connections."""
