"""A scorer of calls: which tools were called, with what."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, cast, get_args

from hocket._schemas import is_equal
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt, shorten
from hocket.evaluation.answer import Answer, write_input
from hocket.evaluation.cases import Case
from hocket.evaluation.scorer import NamedScorer, Score

__all__ = ["CallMode", "called"]

CallMode = Literal["exact", "order", "subset"]
"""Exactly these calls; these in their order, maybe with others between; these in any order, maybe with others."""

_Call = tuple[str, Any]  # a name, and arguments; None: any


def called(mode: CallMode = "exact", *, args: bool = True, key: str = "calls", name: str = "called") -> NamedScorer:
    """Return a scorer: whether the target has called the tools that the case's metadata want.

    ``metadata["calls"]`` is a list of names, or of ``{"name": …, "args": …}``; one without ``args`` fits any arguments. An
    empty list wants no call at all, in the mode "exact".

    Args:
        mode: "exact": only these calls. "order": these in their order, maybe with others between. "subset": these
            in any order, maybe with others.
        args: whether arguments count.
        key: of the metadata, that has the wanted calls. A case without it is not scored.
        name: of the metric.

    Raises:
        InvalidInput: there is no such mode.
    """
    if mode not in get_args(CallMode):
        raise InvalidInput(f"mode is {mode!r}; it is one of {', '.join(map(repr, get_args(CallMode)))}")

    def score(answer: Answer, case: Case) -> Score | None:
        if case.metadata.get(key) is None:
            return None
        wanted = [_read_call(one, case, key, args) for one in _as_list(case, key)]
        made = [(str(one["name"]), one["args"]) for one in answer.calls]
        missing = _find_missing(wanted, made, in_order=mode != "subset")
        if missing is not None:
            return Score(
                False, f"no call of {_show(missing)}; made were {shorten(', '.join(map(_show, made)), 300) or 'none'}"
            )
        more = len(made) - len(wanted)
        return Score(False, f"{more} more calls than wanted") if mode == "exact" and more else Score(True)

    return NamedScorer(name, score, f"{mode} args={args} key={key}")


def _as_list(case: Case, key: str) -> Sequence[object]:
    calls: object = case.metadata[key]
    if not isinstance(calls, list | tuple):
        raise InvalidInput(f"the case {case.id!r} has {key} = {excerpt(calls)}; it is a list of calls")
    return cast("Sequence[object]", calls)


def _read_call(one: object, case: Case, key: str, with_args: bool) -> _Call:
    call = cast("Mapping[str, object]", one if isinstance(one, Mapping) else {"name": one})
    name = call.get("name")
    if not isinstance(name, str):
        raise InvalidInput(
            f'the case {case.id!r} has {excerpt(dict(call))} among its {key}; a call is a name, or {{"name": …, "args": …}}'
        )
    return name, write_input(call.get("args")) if with_args else None


def _find_missing(wanted: Sequence[_Call], made: Sequence[_Call], *, in_order: bool) -> _Call | None:
    """Return a wanted call that was not made; None: all were. The first that fits is taken."""
    if in_order:
        left = iter(made)
        return next((one for one in wanted if not any(_fits(one, other) for other in left)), None)
    rest = [*made]
    # What fits any arguments must not take the one that fits.
    for one in sorted(wanted, key=lambda call: call[1] is None):
        place = next((place for place, other in enumerate(rest) if _fits(one, other)), None)
        if place is None:
            return one
        del rest[place]
    return None


def _fits(wanted: _Call, made: _Call) -> bool:
    return wanted[0] == made[0] and (wanted[1] is None or is_equal(wanted[1], made[1]))


def _show(call: _Call) -> str:
    return call[0] if call[1] is None else f"{call[0]} {excerpt(call[1])}"
