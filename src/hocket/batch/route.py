"""How rows are asked: live, or through the provider's batches; checked before anything is read or sent."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple

from hocket.batch.fingerprint import find_models
from hocket.errors import InvalidInput, Unsupported

if TYPE_CHECKING:
    from hocket.remote.batch_client import BatchClient
    from hocket.remote.chat_model import RemoteChatModel

__all__ = ["Route", "Via", "find_client"]

Via = Literal["live", "provider"]
"""Where rows are asked."""


class Route(NamedTuple):
    """How rows are asked.

    Attributes:
        via: where.
        retry_via: where those are asked again that a batch left unanswered.
        wait: seconds to wait for batches; None: until their end.
    """

    via: Via
    retry_via: Via
    wait: float | None

    @classmethod
    def check(cls, model: object, via: Via, retry_via: Via | None, wait: float | None) -> "Route":
        """Return the route that the arguments of a run mean.

        Raises:
            InvalidInput: they are of no use, or contradict each other.
            Unsupported: no model of the chain has a batch endpoint.
        """
        for name, value in (("via", via), ("retry_via", retry_via)):
            if value not in ("live", "provider") and not (name == "retry_via" and value is None):
                raise InvalidInput(f'{name} is {value!r}; it must be "live" or "provider"')
        if via == "live":
            for name, given in (("retry_via", retry_via), ("wait", wait)):
                if given is not None:
                    raise InvalidInput(f'{name} is {given!r}, and is for rows in batches; give via="provider", too')
            return cls(via, via, None)
        if wait is not None and not wait >= 0:
            raise InvalidInput(f"wait is {wait} seconds; it must be 0 or more, or None: until the batches have ended")
        models = find_models(model)
        _refuse_groups(models)
        if models and not _find_batch_models(model):
            names = ", ".join(sorted({type(one).__name__ for one in models}))
            raise Unsupported(
                f'via="provider" needs a model with a batch endpoint, and {names} has none that hocket knows; leave via '
                "out: rows are then asked live"
            )
        return cls(via, retry_via or via, wait)


def _refuse_groups(models: Sequence[object]) -> None:
    """Refuse models that are made of others: a batch is one provider's."""
    for group in models:
        names: Sequence[str] = getattr(group, "member_names", ())  # of `hocket.routing`, which is not loaded for this
        if names:
            raise Unsupported(
                f'via="provider" needs one provider, and {type(group).__name__} is made of {", ".join(names)}; '
                "give one of these"
            )


def find_client(model: object, provider: str) -> "BatchClient | None":
    """Return what asks the batch endpoint of a provider, with the key of a model of the chain; None: it has none there."""
    from hocket.remote.batch_client import BatchClient

    for one in _find_batch_models(model):
        if one._provider == provider:  # pyright: ignore[reportPrivateUsage]  # a hook
            api = one._batch_api(one._preview("-", None, {}, stream=False))  # pyright: ignore[reportPrivateUsage]
            if api is not None:
                return BatchClient(one, api)
    return None


def _find_batch_models(model: object) -> "list[RemoteChatModel]":
    """Return the models of a chain that may have a batch endpoint: a compatible server may yet say that it has none."""
    from hocket.remote.chat_model import RemoteChatModel

    hook = RemoteChatModel._batch_api  # pyright: ignore[reportPrivateUsage]  # a hook
    models: list[object] = [*find_models(model)]
    remote = [one for one in models if isinstance(one, RemoteChatModel)]
    return [one for one in remote if type(one)._batch_api is not hook]  # pyright: ignore[reportPrivateUsage]
