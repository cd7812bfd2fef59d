"""A variable without a value: hocket's error, and LangChain's."""

from hocket.errors import InvalidInput

__all__ = ["MissingVariable"]


class MissingVariable(InvalidInput, KeyError):
    """A prompt's variable has no value. It is a `KeyError`, too, as in LangChain, whose programs may catch that."""

    def __str__(self) -> str:
        return InvalidInput.__str__(self)  # and not the `repr` of the text, which is a `KeyError`'s
