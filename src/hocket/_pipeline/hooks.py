"""Which hooks a class of models defines, found once a class.

A hook that answers whole may take the run manager. One that streams gets none, since the pipeline tells of its chunks, and
a hook written for LangChain would tell of them again; it may take the manager by another name (``hocket_run``).
"""

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

from hocket._runtime.definitions import has_parameter
from hocket.errors import InvalidHook

__all__ = ["Hooks", "default_hook", "is_defined"]

F = TypeVar("F", bound=Callable[..., Any])

_defaults: set[object] = {None}

_STREAMS = frozenset({"_astream", "_stream"})


class Hooks(NamedTuple):
    """Which hooks of a class are asked, and which of them take the run manager.

    Of hooks that make the same thing (a whole answer, or a stream) those of the most derived class are asked. A class that
    defines the answer alone answers streams by it, too, whatever streams it inherits: they would go by what it changes.
    """

    agenerate: bool
    generate: bool
    astream: bool
    stream: bool
    agenerate_takes_run: bool
    generate_takes_run: bool
    astream_takes_run: bool
    stream_takes_run: bool
    is_behind_async: bool = False
    """Whether an async method of the class stands in front of them, so that sync verbs need an event loop."""

    @classmethod
    def of(cls, model: type, agenerate: str = "_agenerate", generate: str = "_generate") -> "Hooks":
        """Find the hooks that ``model`` is asked by.

        Args:
            agenerate, generate: of hooks that ``_agenerate`` and ``_generate`` are made of, the names.
        """
        names = ("_agenerate", "_generate", "_astream", "_stream")
        for name in names:
            if is_defined(model, name):
                _check_parameters(model, name)
        live = _find_live(model, frozenset({*names[:2], agenerate, generate}))
        return cls(
            *(not live.isdisjoint(one) for one in ({names[0], agenerate}, {names[1], generate}, names[2:3], names[3:])),
            *(has_parameter(model, name, "run_manager") for name in names[:2]),
            *(has_parameter(model, name, "hocket_run") for name in names[2:]),
        )

    @property
    def can_step(self) -> bool:
        """Whether a sync hook can answer, so that sync verbs need no event loop."""
        return (self.generate or self.stream) and not self.is_behind_async

    @property
    def can_step_stream(self) -> bool:
        """Whether a sync stream needs no event loop: there is a sync hook, and no async one would stream better."""
        return (self.stream or (self.generate and not self.astream)) and not self.is_behind_async


def default_hook(method: F) -> F:
    """Mark a hook of hocket's own base classes: it only says what the hook is, or leads to another one."""
    _defaults.add(method)
    return method


def is_defined(model: type, name: str) -> bool:
    """Whether a class has a hook of this name that is more than a default."""
    return getattr(model, name, None) not in _defaults


def _find_live(model: type, whole: frozenset[str]) -> frozenset[str]:
    """Return the hooks that are asked, of ``whole`` and of those that stream; a mixin's are those of the class with it."""
    none: frozenset[str] = frozenset()
    live = own = none
    for owner in reversed(model.__mro__):
        own |= {name for name in whole | _STREAMS if vars(owner).get(name) not in _defaults}
        if own and hasattr(owner, "_llm_type"):
            live = own | (none if own & whole else live - _STREAMS)
            own = none
    return live


def _check_parameters(model: type, name: str) -> None:
    """Refuse a hook that no call can reach: each is given ``stop``, and the options of the call."""
    parameters = inspect.signature(getattr(model, name)).parameters
    if "stop" not in parameters and not any(one.kind is one.VAR_KEYWORD for one in parameters.values()):
        raise InvalidHook(
            f"{model.__name__}.{name} takes no stop, which each call gives it: "
            f"define {name}(self, messages, stop=None, run_manager=None, **kwargs)"
        )
