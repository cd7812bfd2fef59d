"""Values as text: what a run is started with, what its steps return, what it is told.

Messages, documents, JSON's own types and Python's plain ones (dates, bytes, sets ...) are written as `hocket.load` does it.
Others (dataclasses, pydantic's models) need the annotation of the function that takes or returns them, and are written and
read by pydantic. Nothing is pickled: what cannot be read back is refused.
"""

import inspect
import json
from collections.abc import Callable
from typing import Any, Generic, TypeVar, cast, get_type_hints

from pydantic import TypeAdapter, ValidationError
from pydantic.errors import PydanticUserError
from pydantic_core import PydanticSerializationError

from hocket._pipeline.cache_key import hash_bytes
from hocket.errors import InvalidInput, LoadError
from hocket.errors.hints import excerpt
from hocket.load.dump import dump_storable
from hocket.load.loading import Loader
from hocket.load.serializable import StorableData
from hocket.messages import BaseMessage

__all__ = ["ANY_VALUE", "Codec", "check_line", "digest", "is_same", "load_json", "make_codecs"]

T = TypeVar("T")

_KINDS = (BaseMessage, StorableData)
_loader = Loader(allowed=_KINDS)
_FACTS = frozenset({"id", "response_metadata", "usage_metadata"})
_LOADED, _TYPED = "value", "typed"


class Codec(Generic[T]):
    """Writes and reads the values of one place.

    Args:
        kind: what its annotation says; None: nothing.
    """

    def __init__(self, kind: TypeAdapter[T] | None = None) -> None:
        self._kind = kind

    def dump(self, value: T, what: str) -> str:
        """Return a value as text; ``what`` it is, for the error.

        Raises:
            InvalidInput: it could not be read back.
        """
        try:
            written = {_LOADED: dump_storable(value, _KINDS)}
        except InvalidInput as error:
            if self._kind is None:
                raise InvalidInput(f"{what} cannot be stored: {error}") from None
            try:
                written = {_TYPED: self._kind.dump_python(value, mode="json", warnings="error")}
            except (PydanticSerializationError, ValueError) as problem:
                raise InvalidInput(f"{what} cannot be stored: it is not what its annotation says: {problem}") from None
        text = json.dumps(written, ensure_ascii=True, separators=(",", ":"))
        if self._kind is not None:
            self._check(text, what)
        return text

    def _check(self, text: str, what: str) -> None:
        try:
            self._read(text)
        except ValidationError as error:
            problem = error.errors(include_url=False, include_input=False)[0]
            place = "".join(f" at {part!r}" for part in problem["loc"])
            raise InvalidInput(
                f"{what} cannot be stored: it is not what its annotation says:{place} {problem['msg']}"
            ) from None

    def load(self, text: str) -> T:
        """Return the value that a text stands for.

        Raises:
            LoadError: it stands for none.
        """
        try:
            return self._read(text)
        except (ValueError, KeyError, TypeError, ValidationError) as error:
            kind = type(error).__name__  # whose text may have the value in it
            raise LoadError(f"what a durable run has stored cannot be read ({kind})") from None

    def _read(self, text: str) -> T:
        written = json.loads(text)
        value: object = _loader.load(written[_LOADED]) if _LOADED in written else written[_TYPED]
        return cast(T, value) if self._kind is None else self._kind.validate_python(value)


ANY_VALUE: Codec[Any] = Codec()
"""For values of which nothing is said."""


def load_json(text: str) -> Any:
    """Return what a record says.

    Raises:
        LoadError: it is no JSON.
    """
    try:
        return json.loads(text)
    except ValueError:
        raise LoadError("what a durable run has recorded cannot be read: it is no JSON") from None


def check_line(what: str, text: object, most: int = 100, without: str = "") -> str:
    """Return a text by which something is known, if it will do; ``without``: a character that may not be in it.

    Raises:
        InvalidInput: it is too long, not printable, or no text.
    """
    if isinstance(text, str) and 0 < len(text) <= most and text.isprintable() and not (without and without in text):
        return text
    more = f", and no {without}" if without else ""
    raise InvalidInput(f"{what} is {excerpt(text)}; it has 1 to {most} printable characters{more}")


def make_codecs(function: Callable[..., object]) -> tuple[Codec[Any], Codec[Any]]:
    """Return the codecs of a function's first argument, and of its result."""
    try:
        hints = get_type_hints(function, include_extras=True)
    except Exception:  # a name that is not there: nothing is said
        return ANY_VALUE, ANY_VALUE
    names = [name for name in inspect.signature(function).parameters if name in hints][:1]
    return _make_codec(hints, names[0] if names else ""), _make_codec(hints, "return")


def _make_codec(hints: dict[str, Any], name: str) -> Codec[Any]:
    if hints.get(name, Any) in (Any, object):  # pydantic would write whatever it is, and read something else
        return ANY_VALUE
    try:
        return Codec(TypeAdapter(hints[name]))
    except PydanticUserError:  # of a class that pydantic does not know
        return ANY_VALUE


def is_same(one: str, other: str) -> bool:
    """Whether two texts stand for equal values, in whichever order their fields are."""
    return one == other or _sort(json.loads(one)) == _sort(json.loads(other))


def _sort(written: object) -> str:
    return json.dumps(written, sort_keys=True)


def digest(value: object, what: str) -> str:
    """Return a short text that equal values have in common, and others have not; of messages what is said counts.

    Raises:
        InvalidInput: the value cannot be written down.
    """
    try:
        written = _leave_out_facts(dump_storable(value, _KINDS))
    except InvalidInput:
        try:
            written = json.loads(TypeAdapter[object](object).dump_json(value))
        except (PydanticSerializationError, ValueError) as error:
            raise InvalidInput(
                f"{what} cannot be written down, to be known again by it: {error}; name it by key="
            ) from None
    return hash_bytes(_sort(written).encode())[:16]


def _leave_out_facts(written: object) -> object:
    """Leave out of messages what is not said, which an answer from a journal has otherwise."""
    if isinstance(written, list):
        return [_leave_out_facts(item) for item in cast("list[object]", written)]
    if not isinstance(written, dict):
        return written
    fields = cast("dict[str, object]", written)
    kwargs = fields.get("kwargs")
    if (
        fields.get("type") == "constructor"
        and "messages" in cast("list[str]", fields["id"])
        and isinstance(kwargs, dict)
    ):
        said = cast("dict[str, object]", kwargs)
        fields = {**fields, "kwargs": {name: said[name] for name in said if name not in _FACTS}}
    return {key: _leave_out_facts(item) for key, item in fields.items()}
