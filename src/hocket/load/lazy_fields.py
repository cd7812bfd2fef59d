"""Fields that are made when somebody looks.

A hook makes a message and a candidate or two for every chunk of every stream, and most of them are looked at in one
place: at their text. So what is made from little holds that little, and the rest, the empty containers among it, is made
at the first look at anything else. Everything that takes an instance as a whole (pydantic's comparison, repr, dump, copy
and pickle; ``vars``) reads its ``__dict__``, which is a property here and complete by then: nobody can tell.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from hocket.load.serializable import get_fields, set_extra, set_fields, set_fields_set, set_private

__all__ = ["ALL_FIELDS", "AllFields", "LazyFields"]

AllFields = tuple[dict[str, Any], set[str], dict[str, Any] | None]
"""All fields of an instance, in their order; the names of those that were given; and its extras."""

ALL_FIELDS = "_all_fields"
"""The key under which two threads that look first at once find what one of them has made."""


class _Shown:
    """A field, on its class: for code that does not go through ``__getattr__``, such as ``isinstance`` with a protocol.

    Not on the class itself, where pydantic would take it for the default of the field in a subclass.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self.name)
        return instance.__getattr__(self.name)


class LazyFields:
    """For a pydantic model, in front of its other bases: its instances may hold only some of their fields at first.

    Of such an instance nothing but its fields is set (`set_fields`). A subclass has `_make_fields`. It says
    `ClassVar` at `_last_field` and `_first_fields`: pydantic before 2.14 makes private attributes of them otherwise.
    """

    __slots__ = ()

    _last_field: ClassVar[str]
    """A field that an instance holds if, and only if, it holds them all."""

    _first_fields: ClassVar[frozenset[str]]
    """What an instance may hold until then."""

    def _make_fields(self, held: dict[str, Any]) -> AllFields:
        """Return the whole of an instance that holds only ``held``."""
        raise NotImplementedError

    if not TYPE_CHECKING:

        @classmethod
        def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
            super().__pydantic_init_subclass__(**kwargs)
            for name in cls.__pydantic_fields__:
                if not any(name in vars(base) for base in cls.__mro__):
                    setattr(cls, name, _Shown(name))

        def _fill_fields(self) -> dict[str, Any]:
            """Return all fields, made by now."""
            held = get_fields(self)
            if self._last_field in held or not held:  # no fields: an instance that is being copied, or unpickled
                return held
            found = held.copy()  # in one step: another thread may put there what it has made
            others = None if self._first_fields.issuperset(found) else self._others(found)
            if others and not others.keys().isdisjoint(type(self).__pydantic_fields__):
                return held  # it was whole, and somebody deleted a field
            made, given, extra = held.setdefault(ALL_FIELDS, self._make_fields(held))
            if others:
                made.update(others)
            set_fields_set(self, given)
            set_extra(self, extra)
            set_private(self, None)
            set_fields(self, made)
            return made

        def _others(self, held: dict[str, Any]) -> dict[str, Any]:
            """Return what is held beside that: attributes that are no fields, or the fields of a whole instance."""
            return {
                name: value for name, value in held.items() if name not in self._first_fields and name != ALL_FIELDS
            }

        def __getattr__(self, name: str) -> Any:
            held = get_fields(self)
            if self._last_field not in held and held:
                held = self._fill_fields()
                if name not in held and self._last_field in held:  # one of pydantic's own
                    return getattr(self, name)
            if name in held:  # made just now, by this thread or another
                return held[name]
            return super().__getattr__(name)

        def __delattr__(self, name: str) -> None:
            self._fill_fields()
            super().__delattr__(name)

        # A class with a `_fill_fields` of its own has a ``__dict__`` of its own, too.
        __dict__ = property(_fill_fields, set_fields, doc="All fields, made by now.")
