"""The options of a model, as the command line gives them: each a field of the model's class, checked by it.

What stands behind ``-o name=`` is text, and the field may want a number, a truth value or a list: so a text that is JSON
is offered as what it says first, and as a text if the field refuses that (``-o user=007``).
"""

import argparse
import json
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple, TypeVar, cast

from hocket.errors import InvalidInput

if TYPE_CHECKING:
    from pydantic import ValidationError

__all__ = ["FLAGS", "GivenOptions", "parse_option", "read_model_options"]

FLAGS = ("max_tokens", "temperature", "seed")
"""Options of a model that have one of their own."""

_ELSEWHERE = {"model": "--model", "base_url": "--base-url", "system": "--system"}

Model = TypeVar("Model")


class GivenOptions(NamedTuple):
    """Fields of a model.

    Attributes:
        values: by name.
        texts: those of them that were texts, as they were typed.
    """

    values: Mapping[str, object] = {}
    texts: Mapping[str, str] = {}

    def at(self, base_url: str) -> "GivenOptions":
        """Return them with the address of a server."""
        return self._replace(values={**self.values, "base_url": base_url})

    def apply(self, make: Callable[..., Model]) -> Model:
        """Return what ``make`` makes of them.

        Raises:
            ValidationError: it takes no such option, or no such value.
        """
        from pydantic import ValidationError

        try:
            return make(**self.values)
        except ValidationError as error:
            refused = self._find_texts(error)
            if not refused:
                raise
        return make(**{**self.values, **refused})

    def _find_texts(self, error: "ValidationError") -> dict[str, str]:
        """Return the texts of refused options that were offered as something else."""
        names = {str(part["loc"][0]) for part in error.errors(include_url=False) if part["loc"]}
        return {name: text for name, text in self.texts.items() if name in names and self.values[name] != text}


def parse_option(text: str) -> tuple[str, str]:
    """Return name and value of ``name=value``; the name in Python's letters.

    Raises:
        ArgumentTypeError: it is none, or another option says this.
    """
    from hocket._secrets import is_sensitive

    name, equals, value = text.partition("=")
    name = name.strip().replace("-", "_")
    if not equals or not name.isidentifier():
        raise argparse.ArgumentTypeError(f"{text!r} is no option of a model; it looks like top_p=0.9")
    if name in _ELSEWHERE:
        raise argparse.ArgumentTypeError(f"the {name} is not one of a model's options; say it with {_ELSEWHERE[name]}")
    if is_sensitive(name):  # its value is not repeated
        raise argparse.ArgumentTypeError(
            f"{name} does not go on the command line, where everybody on the machine can read it; `hocket keys "
            "set` keeps a key, of a provider or of a server's address"
        )
    return name, value


def read_model_options(arguments: argparse.Namespace) -> GivenOptions:
    """Return the fields of the model that the command line sets.

    Raises:
        InvalidInput: one is set twice.
    """
    values: dict[str, object] = {name: value for name in FLAGS if (value := getattr(arguments, name)) is not None}
    texts: dict[str, str] = {}
    for name, text in arguments.option:
        if name in values:
            flag = "-o" if name in texts else f"--{name.replace('_', '-')}"
            raise InvalidInput(f"the option {name} is set twice, by {flag} and by -o; give it once")
        values[name], texts[name] = _read_value(text), text
    return GivenOptions(values, texts)


def _read_value(text: str) -> object:
    try:
        return cast(object, json.loads(text))
    except (ValueError, RecursionError):
        return text
