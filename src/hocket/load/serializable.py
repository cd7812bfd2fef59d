"""The base class of whatever can be dumped and rebuilt, and the register of classes that makes rebuilding safe.

Loading imports nothing that the data could choose. A class enters the register when Python creates it, under an id that
is a name and not an address, so that hostile data can name nothing but classes which the running program has defined
itself, or hocket's own. References are weak: a class made in a function or redefined in a notebook goes when its last
user goes.

A secret leaves an object only as a reference to the variable that holds it. The reference has a type of its own
(:class:`SecretReference`), because a user's dict may look exactly like one and must not be taken for it.

``construct`` builds an instance from fields that are known to be valid: those of instances that were validated, or made
here. ``model_construct`` is slower than validating, and copying through ``model_copy`` four times slower than this;
property tests hold the outcome to validation's.
"""

import importlib
from collections.abc import Callable, Iterable, Mapping
from types import FunctionType, MappingProxyType
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar
from weakref import WeakValueDictionary

from pydantic import BaseModel, Secret, SecretBytes, SecretStr, ValidationError
from pydantic.fields import FieldInfo

from hocket.load.field_errors import explain_fields
from hocket.load.late_build import LateModel
from hocket.load.late_signature import keep_readable, put_off_signature
from hocket.load.nodes import SerializedConstructor, SerializedNotImplemented

__all__ = [
    "SECRET_TYPES",
    "SecretReference",
    "Serializable",
    "StorableData",
    "allocate",
    "construct",
    "find_class",
    "get_fields",
    "list_local_fields",
    "set_extra",
    "set_fields",
    "set_fields_set",
    "set_private",
    "set_state",
    "to_json_not_implemented",
]

T = TypeVar("T", bound=BaseModel)

# Setting pydantic's slots through their descriptors is a third cheaper than through object.__setattr__.
# What is built for every chunk of every stream uses them as they are; everything else goes through `fill`.
set_fields_set: Callable[[object, set[str]], None] = BaseModel.__dict__["__pydantic_fields_set__"].__set__
"""Sets which fields of an instance were given."""

set_extra: Callable[[object, dict[str, Any] | None], None] = BaseModel.__dict__["__pydantic_extra__"].__set__
"""Sets the dict of an instance's extra fields, of which pydantic makes nothing."""

set_private: Callable[[object, dict[str, Any] | None], None] = BaseModel.__dict__["__pydantic_private__"].__set__
"""Sets the dict of an instance's private attributes."""

allocate: Any = object.__new__
"""Return an instance of a class, all to be set: past pydantic's metaclass, which makes ``cls.__new__`` slow to find."""

get_fields: Callable[[object], dict[str, Any]] = BaseModel.__dict__["__dict__"].__get__
"""Return the fields that an instance has now, past a ``__dict__`` of its class's own."""

set_fields: Callable[[object, dict[str, Any]], None] = BaseModel.__dict__["__dict__"].__set__
"""Put others in the place of all fields of an instance, in one step: no thread sees half of them."""


def set_state(
    instance: BaseModel,
    fields: dict[str, Any],
    given: set[str],
    extra: dict[str, Any] | None = None,
    private: dict[str, Any] | None = None,
) -> None:
    """Give ``instance``, fresh from ``__new__``, its fields; ``given`` are those that count as set."""
    set_fields(instance, fields)
    set_fields_set(instance, given)
    set_extra(instance, extra)
    set_private(instance, private)


def construct(cls: type[T], **fields: Any) -> T:
    """Return an instance of ``cls``, a class without extras or private attributes, from all of its fields."""
    made = cls.__new__(cls)
    set_fields(made, fields)
    set_fields_set(made, set(fields))
    set_extra(made, None)
    set_private(made, None)
    return made


SECRET_TYPES = (SecretStr, SecretBytes, Secret)
"""Values of these types are written as references, wherever they are found."""

_MASK = "**********"
_EMPTY: dict[Any, object] = {dict: {}, list: [], set: set(), frozenset: frozenset(), tuple: ()}

_OWN_PACKAGES = frozenset(
    {
        "messages",
        "documents",
        "outputs",
        "prompt_values",
        "prompts",
        "output_parsers",
        "classic.output_parsers",
        "runnables",
        "language_models",
        "embeddings",
        "providers.local",
        "providers.openai",
    }
)

_classes: WeakValueDictionary[tuple[str, ...], type["Serializable"]] = WeakValueDictionary()
_former_ids: WeakValueDictionary[tuple[str, ...], type["Serializable"]] = WeakValueDictionary()


def find_class(lc_id: Iterable[str]) -> type["Serializable"] | None:
    """The registered class with this id, or else the one that names it in ``lc_aliases``; None if there is none.

    Of hocket's own packages, a fixed few, the one that the id names is imported if it has not been yet.
    """
    key = tuple(lc_id)
    found = _classes.get(key) or _former_ids.get(key)
    room = ".".join(key[1:-1])
    for package in (f"classic.{room}", room):
        if found is None and key[:1] == ("hocket",) and package in _OWN_PACKAGES:
            getattr(importlib.import_module(f"hocket.{package}"), key[-1], None)  # some define their classes when asked
            found = _classes.get(key) or _former_ids.get(key)
    return found


class SecretReference(dict[str, object]):
    """The node that stands for a secret: it names the environment variable that holds the value, never the value."""

    def __init__(self, variable: str) -> None:
        super().__init__(lc=1, type="secret", id=[variable])


class Serializable(LateModel):
    """A pydantic model that can be dumped and rebuilt, if its class says so in :meth:`is_lc_serializable`.

    A subclass is registered under its :meth:`lc_id` when it is created; of two with the same id the later one counts.
    A subclass that overrides ``__pydantic_init_subclass__`` has to call ``super()``.
    """

    lc_aliases: ClassVar[list[list[str]]] = []
    """Ids that data written by earlier versions carries for this very class; subclasses do not inherit them."""

    _local_fields: ClassVar[frozenset[str]] = frozenset()
    """Fields that the program sets for its own machine, such as a proxy: no dump has them, and none may bring them."""

    _renamed_fields: ClassVar[Mapping[str, str]] = MappingProxyType({})
    """Names of fields in other libraries → what to write instead (``"max_retries": "retry=RetryPolicy(...)"``)."""

    if not TYPE_CHECKING:  # type checkers know the fields of each class

        def __init__(self, /, **data: Any) -> None:
            """Make one of the values of its fields."""
            try:
                self.__pydantic_validator__.validate_python(data, self_instance=self)
                return
            except ValidationError as error:
                failure = explain_fields(error, type(self), self._renamed_fields)
            raise failure  # outside the handler: pydantic's own is to be no context of it

        __init__.__pydantic_base_init__ = True  # as good as pydantic's: its validators need not call it

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        put_off_signature(cls)
        if cls.__pydantic_generic_metadata__["origin"] is not None:
            return  # Box[int] is a view of Box, which is registered already
        _classes[tuple(cls.lc_id())] = cls
        for former_id in vars(cls).get("lc_aliases", ()):
            _former_ids[tuple(former_id)] = cls

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        super().__pydantic_on_complete__()
        keep_readable(cls)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Whether objects of this class are written so that they can be rebuilt. False unless a class opts in."""
        return False

    @classmethod
    def get_lc_namespace(cls) -> list[str]:
        """The id without the class's name.

        The module path; for hocket's own classes its public part, so that a class may move between files:
        ``hocket.messages.roles`` gives ``["hocket", "messages"]``, ``hocket.classic.chains.llm`` ``["hocket", "chains"]``.
        """
        parts = cls.__module__.split(".")
        if parts[0] != "hocket":
            return parts
        return [part for part in parts[:-1] if part != "classic" and not part.startswith("_")] or parts

    @classmethod
    def lc_id(cls) -> list[str]:
        """The id under which the class is registered: its namespace, then its name (without generic parameters)."""
        origin = cls.__pydantic_generic_metadata__["origin"] or cls
        return [*cls.get_lc_namespace(), origin.__name__]

    @property
    def lc_secrets(self) -> dict[str, str]:
        """Field (by name or alias, or a dotted path into a dict) → the environment variable that holds its value.

        Declarations add up along the class hierarchy. A field that holds a ``SecretStr`` needs none: its variable is
        then its name in capitals.
        """
        return {}

    @property
    def lc_attributes(self) -> dict[str, Any]:
        """Further constructor arguments to write, beyond the fields. They add up along the class hierarchy."""
        return {}

    def to_json(self) -> SerializedConstructor | SerializedNotImplemented:
        """One node of the wire form; nested values are still as they are (:func:`~hocket.load.dumpd` goes on).

        Its ``kwargs`` are the fields that are required or differ from their default and are neither ``exclude=True`` nor
        in ``_local_fields``, the extras, and ``lc_attributes``. An object whose class is not serialisable gives a
        ``not_implemented`` node.
        """
        if not self.is_lc_serializable():
            return self.to_json_not_implemented()
        kwargs = _constructor_kwargs(self)
        variables = {name: name.upper() for name, value in kwargs.items() if isinstance(value, SECRET_TYPES)}
        for path, variable in (variables | _declared_secrets(self)).items():
            _replace(kwargs, path, SecretReference(variable))
        return {"lc": 1, "type": "constructor", "id": self.lc_id(), "kwargs": kwargs}

    def to_json_not_implemented(self) -> SerializedNotImplemented:
        """The node that stands for this object when it cannot be rebuilt."""
        return to_json_not_implemented(self)

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        fields = type(self).model_fields
        shown = {
            name: value
            for name, value in super().__repr_args__()
            if name not in fields
            or fields[name].default_factory
            or not _is_default(fields[name], value)  # as LangChain
        }
        for path in _declared_secrets(self):
            _replace(shown, path, _MASK)
        return shown.items()


def list_local_fields(cls: type[Serializable]) -> frozenset[str]:
    """Return the names of the fields that no dump has, and that data may not set."""
    return cls._local_fields  # pyright: ignore[reportPrivateUsage]  # for classes to set


def to_json_not_implemented(obj: object) -> SerializedNotImplemented:
    """The node for an object that cannot be rebuilt. It names the type only: a repr may hold a secret."""
    if isinstance(obj, Serializable):
        lc_id = obj.lc_id()
    else:
        named = obj if isinstance(obj, type | FunctionType) else type(obj)
        lc_id = [*str(named.__module__).split("."), named.__name__]
    return {"lc": 1, "type": "not_implemented", "id": lc_id, "repr": None}


def _constructor_kwargs(obj: Serializable) -> dict[str, Any]:
    values, local = vars(obj), obj._local_fields  # pyright: ignore[reportPrivateUsage]  # for classes to set
    fields = {
        name: values[name]
        for name, field in type(obj).model_fields.items()
        if name in values and name not in local and not field.exclude and not _is_default(field, values[name])
    }
    return fields | (obj.__pydantic_extra__ or {}) | _merge_inherited(obj, "lc_attributes")


def _is_default(field: FieldInfo, value: object) -> bool:
    if field.is_required():
        return False
    # A factory is not called to compare, since it may count, or read a clock or the environment.
    default = field.default if field.default_factory is None else _EMPTY.get(field.default_factory, ...)
    try:
        # The types are compared as well: 1, 1.0 and True are equal and not the same.
        return type(value) is type(default) and bool(value == default)
    except Exception:  # an array compares element by element, and has no truth
        return False


class StorableData(Serializable):
    """What a stored message may hold beside messages: objects that are data alone, so that building one does nothing."""


def _merge_inherited(obj: Serializable, name: str) -> dict[str, Any]:
    """Merge a property over the class hierarchy, nearest class last: leaving out ``super()`` cannot reveal a secret."""
    merged: dict[str, Any] = {}
    for cls in reversed(type(obj).__mro__):
        if name in vars(cls):
            merged |= vars(cls)[name].__get__(obj, type(obj))
    return merged


def _declared_secrets(obj: Serializable) -> dict[str, str]:
    secrets: dict[str, str] = _merge_inherited(obj, "lc_secrets")
    for name, field in type(obj).model_fields.items():
        for alias in (field.alias, field.validation_alias):
            if isinstance(alias, str) and alias in secrets:
                secrets.setdefault(name, secrets[alias])
    return secrets


def _replace(values: dict[Any, Any], path: str, substitute: object) -> None:
    """Put ``substitute`` where a dotted path leads, if something is there. Dicts on the way are copied, not changed."""
    if values.get(path) is not None:
        values[path] = substitute
        return
    head, _, rest = path.partition(".")
    if rest and isinstance(values.get(head), dict):
        values[head] = dict(values[head])
        _replace(values[head], rest, substitute)
