"""What a verb for several prompts is told of each of their runs: one value for all, or a list of one each."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, cast
from uuid import UUID

from hocket.callbacks import BaseCallbackManager
from hocket.errors import InvalidInput

__all__ = ["PerPrompt", "run_ids_of"]


class PerPrompt(NamedTuple):
    """What a config says of each prompt's run."""

    callbacks: Sequence[Any]
    tags: Sequence[list[str] | None]
    metadata: Sequence[dict[str, Any] | None]
    run_names: Sequence[str | None]

    @classmethod
    def spread(cls, config: Mapping[str, Any], count: int) -> "PerPrompt":
        """Return the values of ``config`` for ``count`` prompts: all the same, or those of a list."""
        is_list = _is_list_for_each(config["callbacks"])
        return cls(
            _repeat("callbacks", config["callbacks"], count, is_list),
            *(_repeat(name, config[name], count, is_list and config[name] is not None) for name in _SPREAD),
        )


_SPREAD = ("tags", "metadata", "run_name")


def _is_list_for_each(callbacks: object) -> bool:
    """Whether callbacks are given for each prompt: a list that starts with a list, a manager or None (LangChain's rule)."""
    if not isinstance(callbacks, list) or not callbacks:
        return False
    first = cast("list[object]", callbacks)[0]
    return first is None or isinstance(first, list | BaseCallbackManager)


def _repeat(name: str, value: object, count: int, each: bool) -> list[Any]:
    """Return one value a prompt."""
    if not each:
        return [value] * count
    kind = type(value).__name__
    values = cast("Sequence[object]", value) if isinstance(value, list) else None
    if values is None or len(values) != count:
        kind = kind if values is None else f"a list of {len(values)}"
        raise InvalidInput(
            f"{name} must be a list of the same length as prompts, since callbacks is one for each prompt: "
            f"it is {kind}, for {count} prompts"
        )
    return [*values]


def run_ids_of(run_id: object, count: int) -> list[UUID | None]:
    """Return the id of each prompt's run: that of the first, or a list of one each; None: a new one.

    Raises:
        InvalidInput: a list of another length than ``count``.
    """
    if isinstance(run_id, list):
        ids = cast("list[UUID | None]", run_id)
        if len(ids) != count:
            raise InvalidInput(
                f"Number of manually provided run_id's does not match batch length: {len(ids)} != {count}"
            )
        return ids
    return [cast("UUID | None", run_id), *[None] * (count - 1)][:count]
