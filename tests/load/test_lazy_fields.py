"""Fields that are made when somebody looks: whoever looks, and however, sees what there would have been from the start."""

import inspect
import threading
from typing import Any, ClassVar, Protocol, runtime_checkable

import pytest
from pydantic import BaseModel, ValidationError

from hocket.load.lazy_fields import AllFields, LazyFields
from hocket.load.serializable import get_fields, set_fields


class Note(LazyFields, BaseModel):
    """Holds its text; its marks are made at the first look at anything else."""

    _last_field: ClassVar = "marks"
    _first_fields: ClassVar = frozenset({"text"})

    text: str
    marks: list[str] = []

    def _make_fields(self, held: dict[str, Any]) -> AllFields:
        return {"text": held["text"], "marks": []}, {"text"}, None


class Named(Note):
    """Has one field more."""

    name: str


def late(text: str = "a") -> Note:
    note = Note.__new__(Note)
    set_fields(note, {"text": text})
    return note


def test_a_look_at_what_it_holds_makes_nothing() -> None:
    """Which is what most looks are."""
    note = late()
    assert note.text == "a"
    assert get_fields(note) == {"text": "a"}


@pytest.mark.parametrize(
    "look",
    [
        lambda note: note.marks == [],
        lambda note: note.model_fields_set == {"text"},
        lambda note: note.__pydantic_extra__ is None,
        lambda note: note.__pydantic_private__ is None,
        lambda note: vars(note) == {"text": "a", "marks": []},
        lambda note: note == Note(text="a"),
        lambda note: repr(note) == "Note(text='a', marks=[])",
        lambda note: not hasattr(note, "colour"),
    ],
)
def test_any_other_look_makes_it_whole(look: Any) -> None:
    """And it stays so: what is looked at twice is the same object."""
    note = late()
    assert look(note)
    assert list(get_fields(note)) == ["text", "marks"]
    assert note.marks is note.marks


def test_it_changes_like_any_other() -> None:
    """A field may be set before anything was looked at, and one may be deleted."""
    note = late()
    note.text = "b"
    assert (note.text, note.marks, note.model_fields_set) == ("b", [], {"text"})
    note = late()
    del note.text
    assert not hasattr(note, "text")
    assert note.marks == []


def test_an_instance_that_is_not_filled_yet_is_left_alone() -> None:
    """As pickle and copy have it in their hands."""
    empty = Note.__new__(Note)
    assert vars(empty) == {}
    assert not hasattr(empty, "marks")


def test_attributes_that_are_no_fields_stay() -> None:
    """Those that somebody hung on it before the first look."""
    note = late()
    note._seen = True  # type: ignore[attr-defined]
    object.__setattr__(note, "weight", 3)
    assert note.marks == []
    assert (note._seen, note.weight) == (True, 3)  # type: ignore[attr-defined]


def test_a_field_that_is_gone_stays_gone() -> None:
    """Deleting the one that is made last makes nothing anew."""
    note = Named(text="a", marks=["b"], name="c")
    del note.marks
    assert vars(note) == {"text": "a", "name": "c"}
    assert not hasattr(note, "marks")
    assert note.model_fields_set == {"text", "marks", "name"}


def test_whoever_comes_second_sees_what_the_first_has_made() -> None:
    """Another thread may make it whole between the look that found nothing and what that look leads to."""
    note = late()
    assert vars(note)  # by the other thread
    assert note.__getattr__("marks") is note.marks  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


def test_two_threads_that_look_first_at_once_see_one_object(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the one puts into the list is not lost to the other."""
    meeting, make = threading.Barrier(2), Note._make_fields

    def make_together(self: Note, held: dict[str, Any]) -> AllFields:
        made = make(self, held)
        meeting.wait(10)
        return made

    monkeypatch.setattr(Note, "_make_fields", make_together)
    note, seen = late(), list[Any]()
    looks = [threading.Thread(target=lambda: seen.append(note.marks)) for _ in range(2)]
    for look in looks:
        look.start()
    for look in looks:
        look.join()
    assert len(seen) == 2
    assert seen[0] is seen[1] is note.marks


@runtime_checkable
class Marked(Protocol):
    """Whatever has marks."""

    marks: list[str]


def test_its_fields_are_found_without_a_look_at_them() -> None:
    """As ``isinstance`` with a protocol looks for them, from Python 3.12 on; but no class has a field as its attribute."""
    note = late()
    inspect.getattr_static(note, "marks")
    assert get_fields(note) == {"text": "a"}
    assert isinstance(note, Marked)
    assert not hasattr(Note, "marks")


def test_a_subclass_may_say_a_field_anew() -> None:
    """With another default, or without; nothing is shadowed, and other fields are its own."""

    class Signed(Note):
        text: str = "none"
        marks: list[str]
        by: str = "me"

    signed = Signed(marks=["m"])
    assert (signed.text, signed.marks, signed.by) == ("none", ["m"], "me")
    inspect.getattr_static(signed, "by")
    with pytest.raises(ValidationError):
        Signed.model_validate({})
