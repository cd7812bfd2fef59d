"""How much fits into a model, out of its profile."""

from typing import Protocol, cast

from hocket.errors import UnknownModel
from hocket.profiles import ModelProfile, find_profile
from hocket.tokens.counting import CountsTokens, count_tokens

__all__ = ["SHARE", "calculate_max_tokens", "find_token_limit", "get_model_context_size"]

SHARE = 4
"""The part of a model's window, one in so many, that is kept for an answer whose length nobody limits."""


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


def find_token_limit(model: object, answer_tokens: int | None = None, asked_for: int | None = None) -> int | None:
    """Return how many tokens may be sent to a model; None: nobody says.

    Args:
        model: whose profile may say how much its window holds; room for the answer is left.
        answer_tokens: how long the answer may be; None: as the model says.
        asked_for: a limit of the caller's own.
    """
    profile = cast(ModelProfile, getattr(model, "profile", None) or {})
    window = profile.get("max_input_tokens")
    if window is None:
        return asked_for
    answer = answer_tokens or getattr(model, "max_tokens", None)
    if not isinstance(answer, int):
        answer = min(profile.get("max_output_tokens") or window, window // SHARE)
    room = max(window - answer, window // SHARE)
    return room if asked_for is None else min(room, asked_for)
