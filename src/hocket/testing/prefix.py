"""Whether the requests of a run begin alike, which is what a provider's prompt cache lives on."""

from collections.abc import Sequence
from itertools import pairwise
from typing import cast

from hocket.errors import InvalidInput
from hocket.language_models.scripted import ScriptedRequest
from hocket.message_toolkit.prefix import SentPrompt, find_break, measure_prefix
from hocket.messages import BaseMessage

__all__ = ["assert_prefix_stable", "prefix_share"]


def prefix_share(requests: Sequence[ScriptedRequest | Sequence[BaseMessage]]) -> float:
    """Return how much of each request begins the next one, as a share of the characters of all but the last.

    Tools, and options that change the prompt, are part of a request. 1.0 says that each request begins with all of the one
    before it; so it is for one request, and none.

    Args:
        requests: in their order: `ScriptedChatModel.requests`, or lists of messages.

    Raises:
        InvalidInput: one of them is neither.
    """
    measured = [measure_prefix(before, after) for before, after in pairwise(map(_read_request, requests))]
    whole = sum(length for _, length in measured)
    return sum(kept for kept, _ in measured) / whole if whole else 1.0


def assert_prefix_stable(requests: Sequence[ScriptedRequest | Sequence[BaseMessage]], *, at_least: float = 1.0) -> None:
    """Assert that requests begin alike.

    Args:
        requests: see `prefix_share`.
        at_least: the share that is enough.

    Raises:
        AssertionError: the share is less. The text says which request is the first that begins otherwise, and why.
        InvalidInput: see `prefix_share`; or ``at_least`` is not between 0 and 1.

    Examples:
        >>> from hocket import ScriptedChatModel
        >>> model = ScriptedChatModel(script=["Hello!", "Bye!"])
        >>> _ = model.batch([[("system", "It is 10:05."), ("human", "Hi")], [("system", "It is 10:06."), ("human", "Hi")]])
        >>> assert_prefix_stable(model.requests)
        Traceback (most recent call last):
            ...
        AssertionError: ...
    """
    if not 0 <= at_least <= 1:
        raise InvalidInput(f"at_least is {at_least!r}; it is a share, between 0 and 1")
    share = prefix_share(requests)
    if share >= at_least:
        return
    pairs = enumerate(pairwise(map(_read_request, requests)), start=2)
    found = (find_break(before, after, step=number) for number, (before, after) in pairs)
    first = next(one for one in found if one is not None)
    raise AssertionError(
        f"the requests keep {share:.3f} of what came before them, and {at_least:g} is the least: request {first.step} "
        f"begins otherwise ({first.cause}: {first.detail}), about {first.lost_tokens} tokens are read again"
    )


def _read_request(request: object) -> SentPrompt:
    if isinstance(request, ScriptedRequest):
        params = request.params
        return SentPrompt(
            messages=request.messages, tools=params.get("tools") or (), options=params, model=params.get("model")
        )
    if isinstance(request, Sequence) and all(isinstance(one, BaseMessage) for one in cast("Sequence[object]", request)):
        return SentPrompt(messages=cast("Sequence[BaseMessage]", request))
    raise InvalidInput(f"a request is one of ScriptedChatModel.requests, or a list of messages, not {request!r}")
