"""Which model is asked, where, and what it is called on the screen."""

import functools
import os
from typing import NamedTuple

from hocket._secrets import redact_url
from hocket.cli.model_options import GivenOptions
from hocket.cli.models import fetch_models
from hocket.errors import InvalidInput, MissingDependency, UnknownModel
from hocket.language_models import BaseChatModel
from hocket.language_models.registry import init_chat_model, list_providers, load_provider

__all__ = ["OpenModel", "choose_model", "open_first_model"]


class OpenModel(NamedTuple):
    """A model, and its name with the address of its server, so that a person sees where the words go."""

    label: str
    model: BaseChatModel


def open_first_model(name: str | None, base_url: str | None, options: GivenOptions) -> OpenModel:
    """Return the model that the command line names.

    Args:
        name: ``provider:model``; None: the one that the server has, else that of ``HOCKET_MODEL``, else the embedded one.
        base_url: the server's address.
        options: fields of the model.

    Raises:
        HocketError: there is no such model, it cannot be used, or the server does not serve just one.
    """
    if base_url is None:
        return _open(name or os.environ.get("HOCKET_MODEL") or "local", options)
    if name is not None:
        return _open(name, options.at(base_url))
    names = fetch_models("openai", base_url)
    if len(names) != 1:
        count = f"{base_url} serves {len(names)} models"
        raise UnknownModel(
            f"{count}; choose with --model: {', '.join(names)}" if names else f"{count}: it is not ready"
        )
    return _open(names[0], options.at(base_url), provider="openai")


def choose_model(name: str, base_url: str | None, options: GivenOptions) -> OpenModel:
    """Return the model that ``/model`` names: one of the command line's server, unless the name says a provider.

    Raises:
        HocketError: there is no such model, or it cannot be used.
    """
    if base_url is None or _has_provider(name):
        return _open(name, options)
    return _open(name, options.at(base_url), provider="openai")


def _has_provider(name: str) -> bool:
    try:
        load_provider(name.partition(":")[0])
    except UnknownModel:
        return False
    return True


def _open(name: str, options: GivenOptions, provider: str | None = None) -> OpenModel:
    from pydantic import ValidationError

    try:
        model = options.apply(functools.partial(init_chat_model, name, model_provider=provider))
    except ValidationError as error:
        if any(part["type"] == "missing" and part["loc"] == ("model",) for part in error.errors(include_url=False)):
            way_out = f"name its model, {name}:MODEL; `hocket models {name}` lists them"
            raise InvalidInput(f"{name!r} is a provider: {way_out}") from error
        raise
    setup_needed = getattr(model, "setup_needed", None)
    if setup_needed is not None and name in list_providers() and (what := setup_needed()):
        raise MissingDependency(what)  # now, not at the first question
    address = getattr(model, "base_url", None)
    return OpenModel(f"{name} at {redact_url(address)}" if address else name, model)
