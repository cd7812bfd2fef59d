"""How much fits into a model, out of its profile."""

from typing import Protocol

from hocket.errors import UnknownModel
from hocket.profiles import ModelProfile, find_profile
from hocket.tokens.counting import CountsTokens, count_tokens

__all__ = ["calculate_max_tokens", "get_model_context_size"]


class _Model(CountsTokens, Protocol):
    @property
    def profile(self) -> ModelProfile | None: ...


def get_model_context_size(model: str | _Model, default: int | None = None) -> int:
    """Return how many tokens a conversation with a model may have at most: its profile's ``max_input_tokens``.

    Args:
        model: its name, or a model.
        default: what to return if that is not known. (LangChain's Go port takes 2048.)

    Raises:
        UnknownModel: it is not known, and there is no ``default``.
    """
    profile = find_profile(model) if isinstance(model, str) else model.profile
    size = (profile or {}).get("max_input_tokens", default)
    if size is None:
        name = repr(model) if isinstance(model, str) else type(model).__name__
        raise UnknownModel(
            f"the context size of {name} is not known; pass default=..., "
            "or say it once: hocket.profiles.set_profile(name, {'max_input_tokens': ...})"
        )
    return size


def calculate_max_tokens(model: str | _Model, text: str, default: int | None = None) -> int:
    """Return how many tokens of a model's window are left beside ``text``: 0, if it does not fit.

    Counts as `count_tokens` does, which may load an encoding.

    Args:
        model, default: as with `get_model_context_size`.
        text: the prompt.

    Raises:
        UnknownModel: the size of the window is not known, and there is no ``default``.
    """
    return max(0, get_model_context_size(model, default) - count_tokens(model, text))
