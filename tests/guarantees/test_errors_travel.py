"""Every error of hocket's crosses processes, and is copied, as it is: pools of workers, queues and bulk runs send them."""

import copy
import inspect
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from hocket import errors
from hocket.messages import AIMessage

VALUES: dict[str, Any] = {
    "error": "what happened",
    "details": {"a": [1]},
    "partial": AIMessage("half"),
    "problems": ["one"],
    "retry_after": 1.5,
    "retryable": True,
    "send_to_llm": False,
    "status": 429,
}
"""What the arguments of errors are given; the others get a text."""

KINDS = [
    kind
    for name in errors.__all__
    if inspect.isclass(kind := getattr(errors, name)) and issubclass(kind, BaseException)
]
WAYS: dict[str, Callable[[Any], Any]] = {
    **{
        f"pickle {number}": lambda error, number=number: pickle.loads(pickle.dumps(error, number))
        for number in range(6)
    },
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
}


def make(kind: type[BaseException]) -> BaseException:
    """An error with a value for each of its arguments."""
    if "__init__" not in {
        name for base in kind.__mro__ if base.__module__.startswith("hocket.") for name in vars(base)
    }:
        return kind("what happened")
    parameters = inspect.signature(kind).parameters.values()
    named = [one for one in parameters if one.kind not in (one.POSITIONAL_ONLY, one.VAR_POSITIONAL, one.VAR_KEYWORD)]
    values = {one.name: VALUES.get(one.name, f"the {one.name}") for one in named}
    if len(named) == len(parameters):
        return kind(**values)
    return kind("what happened", **values)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_an_error_travels_with_all_that_it_says(kind: type[BaseException]) -> None:
    """Class, arguments, text, fields and notes are those of the error that was sent, in each protocol of pickle."""
    error = make(kind)
    error.add_note("while it was read")
    for way, send in WAYS.items():
        other = send(error)
        assert type(other) is kind, way
        assert (other.args, str(other), vars(other)) == (error.args, str(error), vars(error)), way
        assert other.args, way
