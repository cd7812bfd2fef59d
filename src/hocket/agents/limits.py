"""How much one run of an agent may use."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, fields
from typing import Literal

from hocket.errors import InvalidInput
from hocket.errors.hints import near_name_hint

__all__ = ["UNREADABLE_CHARS", "AgentLimits", "LimitPolicy", "StopReason"]

StopReason = Literal[
    "done", "direct", "stopped", "paused", "model_calls", "tool_calls", "tokens", "seconds", "loop", "budget"
]
"""Why a run has ended: the model is done; a tool with ``return_direct`` was called; a tool raised `StopRun`; a call waits
for a decision; or a limit was reached."""

LimitPolicy = Literal["answer", "stop", "raise"]
"""What happens at a limit: the model answers once more, without tools; the run ends; or `LimitReached` is raised."""

UNREADABLE_CHARS = 4_000
"""Characters that a model is shown again of a reply that could not be read: about 1,000 tokens, longer than most typed
answers. All of a reply that goes on and on would be in each prompt that follows."""

_WHOLE = ("model_calls", "tool_calls", "tokens", "result_chars", "unreadable_chars", "repeats", "max_concurrency")


@dataclass(frozen=True, kw_only=True)
class AgentLimits:
    """How much one run of an agent may use. Each limit is checked before the call that would go beyond it; None: no limit.

    Args:
        model_calls: calls of the model, those before a pause included.
        tool_calls: calls of tools; those beyond are not run, and the model is told.
        tokens: that the run uses: what was reported so far, an estimate of what is about to be sent, and the answer's
            ``max_tokens``, if the model has one set, come to no more.
        seconds: of the whole run, the wait for another run of the conversation included.
        tool_seconds: of one call of a tool that has no ``timeout`` of its own.
        per_tool_seconds: the same by the tool's name; goes before the tool's own.
        result_chars: characters of a result; a longer one is cut.
        unreadable_chars: characters of a reply that could not be read, as the model is shown it again; a longer one is cut.
        repeats: times that the model may make the same calls, with the same results, one after another: then it is told;
            two times later the run ends. As many empty replies in a row end it, too: the model was told after each.
        max_concurrency: calls of one message that run at once.

    Raises:
        InvalidInput: a limit is no number, or not above 0.
    """

    model_calls: int | None = 25
    tool_calls: int | None = None
    tokens: int | None = None
    seconds: float | None = None
    tool_seconds: float | None = 60
    per_tool_seconds: Mapping[str, float] = field(default_factory=dict[str, float])
    result_chars: int | None = 50_000
    unreadable_chars: int | None = UNREADABLE_CHARS
    repeats: int | None = 3
    max_concurrency: int = 16

    def __post_init__(self) -> None:
        if not isinstance(self.per_tool_seconds, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"per_tool_seconds is {self.per_tool_seconds!r}; it is a mapping from names of tools")
        for tool, seconds in self.per_tool_seconds.items():
            _check(f"per_tool_seconds[{tool!r}]", seconds, is_whole=False)
        for one in fields(self):
            value: object = getattr(self, one.name)
            if one.name != "per_tool_seconds" and (value is not None or one.name == "max_concurrency"):
                _check(one.name, value, is_whole=one.name in _WHOLE)

    def check_tools(self, names: Collection[str]) -> None:
        """Refuse a limit for a tool that is not there.

        Raises:
            InvalidInput: ``per_tool_seconds`` has a name that is not one of ``names``.
        """
        for name in self.per_tool_seconds:
            if name not in names:
                hint = near_name_hint(str(name), names)
                raise InvalidInput(f"per_tool_seconds names {name!r}, which is no tool; {hint}")


def _check(name: str, value: object, *, is_whole: bool) -> None:
    kinds = (int,) if is_whole else (int, float)
    if not isinstance(value, kinds) or isinstance(value, bool) or not value > 0 or value == math.inf:
        what = "a whole number" if is_whole else "a number of seconds"
        raise InvalidInput(f"{name} is {value!r}; it is {what} above 0, or None for no limit")
