"""The name of a model in a list of them."""

from typing import Self

__all__ = ["ModelName"]


class ModelName(str):
    """A model's name: a ``str`` that may have a note for people who choose among models.

    Attributes:
        note: such as its size on disk; "": there is none.
    """

    __slots__ = ("note",)

    note: str

    def __new__(cls, name: str, note: str = "") -> Self:
        self = super().__new__(cls, name)
        self.note = note
        return self
