"""A model by name."""

import importlib
from typing import Any

from hocket.errors import UnknownModel
from hocket.language_models.chat_models import BaseChatModel

__all__ = ["init_chat_model"]

_PROVIDERS = {"local": "hocket.providers.local:ChatLocal"}


def init_chat_model(model: str, **options: Any) -> BaseChatModel:
    """Return the chat model of this name.

    Args:
        model: ``provider`` or ``provider:model``: "local" is the embedded model, "local:PATH" a GGUF file of one's own,
            "fake:TEXT" a model that always answers TEXT.
        options: fields of the model.

    Raises:
        UnknownModel: no provider of this name exists; the message lists those that do.
        MissingDependency: what the provider needs is not installed; the message names the command that installs it.
    """
    provider, _, name = model.partition(":")
    if provider == "fake":
        from hocket.language_models.fakes import FakeListChatModel

        return FakeListChatModel(responses=[name or "fake response"], **options)
    if provider not in _PROVIDERS:
        known = ", ".join(sorted([*_PROVIDERS, "fake"]))
        raise UnknownModel(f"no provider is called {provider!r}; there are: {known}")
    module, _, attribute = _PROVIDERS[provider].partition(":")
    cls = getattr(importlib.import_module(module), attribute)
    return cls(**({"model": name} if name else {}), **options)  # type: ignore[no-any-return]
