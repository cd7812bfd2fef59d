"""Fields that are made when somebody looks.

A hook makes a message and a candidate or two for every chunk of every stream, and most of them are looked at in one
place: at their text. So what is made from little holds that little, and the rest, the empty containers among it, is made
at the first look at anything else. Everything that takes an instance as a whole (pydantic's comparison, repr, dump, copy
and pickle; ``vars``) reads its ``__dict__``, which is a property here and complete by then: nobody can tell.
"""

from typing import TYPE_CHECKING, Any, ClassVar

from hocket.load.construct import fields_of, set_extra, set_fields, set_given, set_private

__all__ = ["WHOLE", "Late", "Whole"]

Whole = tuple[dict[str, Any], set[str], dict[str, Any] | None]
"""All fields of an instance, in their order; the names of those that were given; and its extras."""

WHOLE = "_whole"  # the key under which two threads that look first at once find what one of them has made


class _Shown:
    """A field, on its class: for whoever looks past ``__getattr__``, as ``isinstance`` with a protocol does.

    Not on the class itself, where pydantic would take it for the default of the field in a subclass.
    """

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError(self.name)
        return instance.__getattr__(self.name)


class Late:
    """For a pydantic model, in front of its other bases: its instances may hold only some of their fields at first.

    Of such an instance nothing but its fields is set (`set_fields`). A subclass has `_make`.
    """

    __slots__ = ()

    _made_last: ClassVar[str]
    """A field that an instance holds if, and only if, it holds them all."""

    _held_first: ClassVar[frozenset[str]]
    """What an instance may hold until then."""

    def _make(self, held: dict[str, Any]) -> Whole:
        """Return the whole of an instance that holds only ``held``."""
        raise NotImplementedError

    if not TYPE_CHECKING:

        @classmethod
        def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
            super().__pydantic_init_subclass__(**kwargs)
            for name in cls.__pydantic_fields__:
                if not any(name in vars(base) for base in cls.__mro__):
                    setattr(cls, name, _Shown(name))

        def _made(self) -> dict[str, Any]:
            """Return all fields, made by now."""
            held = fields_of(self)
            if self._made_last in held or not held:  # no fields: an instance that is being copied, or unpickled
                return held
            others = None
            if not self._held_first.issuperset(held):
                others = self._others(held.copy())
                if not others.keys().isdisjoint(type(self).__pydantic_fields__):
                    return held  # it was whole, and somebody deleted a field
            made, given, extra = held.setdefault(WHOLE, self._make(held))
            if others:
                made.update(others)
            set_given(self, given)
            set_extra(self, extra)
            set_private(self, None)
            set_fields(self, made)
            return made

        def _others(self, held: dict[str, Any]) -> dict[str, Any]:
            """Return what is held beside that: attributes that are no fields, or the fields of a whole instance."""
            return {name: value for name, value in held.items() if name not in self._held_first and name != WHOLE}

        def __getattr__(self, name: str) -> Any:
            held = fields_of(self)
            if self._made_last not in held and held:
                held = self._made()
                if name not in held and self._made_last in held:  # one of pydantic's own
                    return getattr(self, name)
            if name in held:  # made just now, by this thread or another
                return held[name]
            return super().__getattr__(name)

        def __delattr__(self, name: str) -> None:
            self._made()
            super().__delattr__(name)

        # A class with a `_made` of its own has a ``__dict__`` of its own, too.
        __dict__ = property(_made, set_fields, doc="All fields, made by now.")
