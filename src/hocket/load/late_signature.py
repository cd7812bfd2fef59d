"""The signature of a class whose validator is built late: what `inspect.signature`, and so Shift-Tab in Jupyter, shows.

pydantic sets it when it builds the validator, which hocket puts off until the first instance. Until then a class would
show the signature of one of its bases.
"""

from inspect import Signature

from pydantic import BaseModel

__all__ = ["LATE_SIGNATURE"]


class _LateSignature:
    """A class attribute that builds the validator when it is looked at; pydantic then puts the signature in its place."""

    def __get__(self, instance: object, owner: type[BaseModel]) -> Signature:
        if instance is None and owner.model_rebuild(raise_errors=False):
            return owner.__signature__
        raise AttributeError("__signature__")  # inspect goes on with `__init__`


LATE_SIGNATURE = _LateSignature()
"""Shared by all classes: it holds nothing."""
