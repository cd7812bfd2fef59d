"""Which hooks a class of models defines, found once a class.

A hook that answers whole may take the run manager. One that streams gets none, since the pipeline tells of its chunks, and
a hook written for LangChain would tell of them again; it may take the manager by another name (``hocket_run``).
"""

import functools
import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from hocket.errors import InvalidHook

__all__ = ["Hooks", "default_hook", "is_defined", "takes_run_manager"]

F = TypeVar("F", bound=Callable[..., Any])

_defaults: set[object] = {None}


class Hooks(NamedTuple):
    """Which hooks a class defines, and which of them take the run manager."""

    agenerate: bool
    generate: bool
    astream: bool
    stream: bool
    agenerate_takes_run: bool
    generate_takes_run: bool
    astream_takes_run: bool
    stream_takes_run: bool

    @classmethod
    def of(cls, model: type) -> "Hooks":
        """Find the hooks that ``model`` defines."""
        names = ("_agenerate", "_generate", "_astream", "_stream")
        for name in names:
            if is_defined(model, name):
                _check_parameters(model, name)
        return cls(
            *(is_defined(model, name) for name in names),
            *(_takes(model, name, "run_manager") for name in names[:2]),
            *(_takes(model, name, "hocket_run") for name in names[2:]),
        )

    @property
    def can_step(self) -> bool:
        """Whether a sync hook can answer, so that sync verbs need no event loop."""
        return self.generate or self.stream

    @property
    def can_step_stream(self) -> bool:
        """Whether a sync stream needs no event loop: there is a sync hook, and no async one would stream better."""
        return self.stream or (self.generate and not self.astream)

    @property
    def can_stream(self) -> bool:
        """Whether any hook streams."""
        return self.astream or self.stream


def default_hook(method: F) -> F:
    """Mark a hook of hocket's own base classes: it only says what the hook is, or leads to another one."""
    _defaults.add(method)
    return method


def is_defined(model: type, name: str) -> bool:
    """Whether a class has a hook of this name that is more than a default."""
    return getattr(model, name, None) not in _defaults


@functools.cache
def takes_run_manager(model: type, name: str) -> bool:
    """Whether the method ``name`` of a class has a parameter for the run manager."""
    return _takes(model, name, "run_manager")


def _check_parameters(model: type, name: str) -> None:
    """Refuse a hook that no call can reach: each is given ``stop``, and the options of the call."""
    parameters = inspect.signature(getattr(model, name)).parameters
    if "stop" not in parameters and not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        raise InvalidHook(
            f"{model.__name__}.{name} takes no stop, which each call gives it: "
            f"define {name}(self, messages, stop=None, run_manager=None, **kwargs)"
        )


def _takes(model: type, name: str, parameter: str) -> bool:
    method = getattr(model, name, None)
    return method is not None and parameter in inspect.signature(method).parameters
