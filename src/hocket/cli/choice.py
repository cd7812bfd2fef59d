"""Which model is asked, where, and what it is called on the screen."""

import contextlib
import functools
import os
from argparse import ArgumentTypeError
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

from pydantic import ValidationError

from hocket._secrets import redact_url
from hocket.cli.arguments import parse_base_url
from hocket.cli.model_options import GivenOptions
from hocket.cli.models import fetch_models
from hocket.cli.output import note
from hocket.errors import HocketError, InvalidInput, MissingDependency, UnknownModel
from hocket.language_models import BaseChatModel
from hocket.language_models.registry import init_chat_model, list_providers, load_provider, resolve_model_name
from hocket.messages import AIMessage
from hocket.runnables import Runnable

__all__ = ["OpenModel", "choose_model", "open_first_model", "reopen_model", "strip_secrets"]


class OpenModel(NamedTuple):
    """A model, and who that is.

    Attributes:
        label: its name with the address of its server, so that a person sees where the words go.
        model: itself.
        answers: what answers: the model, or what has it answer as the command line says.
        name: with its provider, so that it means the same another day.
        address: of its server, without user, password and parameters; None: it has none.
    """

    label: str
    model: BaseChatModel
    answers: Runnable[Any, AIMessage]
    name: str
    address: str | None


def open_first_model(name: str | None, base_url: str | None, options: GivenOptions) -> OpenModel:
    """Return the model that the command line names.

    Args:
        name: ``provider:model``; None: the one that the server has, else that of ``HOCKET_MODEL``, else the one that the
            server of ``HOCKET_BASE_URL`` has, else the embedded one.
        base_url: the server's address; None: that of ``HOCKET_BASE_URL``, unless the name says a provider.
        options: fields of the model.

    Raises:
        HocketError: there is no such model, it cannot be used, or the server does not serve just one.
    """
    if base_url is None:
        name = name or os.environ.get("HOCKET_MODEL")
        base_url = _find_default_server(name)
    if base_url is None:
        return _open(name or "local", options)
    if name is not None:
        return _open(name, options.at(base_url))
    names = fetch_models("openai", base_url)
    if len(names) != 1:
        count = f"{base_url} serves {len(names)} models"
        raise UnknownModel(
            f"{count}; choose with --model: {', '.join(names)}" if names else f"{count}: it is not ready"
        )
    return _open(names[0], options.at(base_url), provider="openai")


def choose_model(
    name: str, base_url: str | None, options: GivenOptions, before: tuple[str | None, str | None] = (None, None)
) -> OpenModel:
    """Return the model that is named in a talk that goes on: one of the command line's server, unless it says a provider.

    Args:
        name: of the model.
        base_url: the server that the command line names, or named before.
        options: fields of the model.
        before: name and address of the model that answered before: another one of that provider is asked there.

    Raises:
        HocketError: there is no such model, or it cannot be used.
    """
    base_url = base_url or _find_default_server(name)
    if base_url is not None and not _has_provider(name):
        return _open(name, options.at(base_url), provider="openai")
    whole_name = resolve_model_name(name, served=False)
    known, address = before
    if base_url is None and known is not None and _read_provider(known) == _read_provider(whole_name):
        return reopen_model(whole_name, address, options)
    return _open(name, options)


def reopen_model(name: str, address: str | None, options: GivenOptions) -> OpenModel:
    """Return the model that answered before, at the server where it did: the environment may name another by now.

    Args:
        name: with its provider.
        address: of its server; None: it had none.
        options: fields of the model.

    Raises:
        InvalidInput: it cannot be asked there.
        HocketError: there is no such model, or it cannot be used.
    """
    if address is None:
        return _open(name, options)
    now: OpenModel | None = None
    with contextlib.suppress(HocketError):  # it has no key, or no address, but for the one of before
        now = _open(name, options)
    if now is not None and now.address == address:
        return now
    opened: OpenModel | None
    try:
        opened = _open(name, options.at(address))
    except (TypeError, ValidationError):  # a provider that is always where it is
        opened = now
    where = f"the talk was held at {address}"
    if opened is None or opened.address != address:
        raise InvalidInput(f"{where}, and {name} cannot be asked there any more; --model says who is to be asked")
    if now is not None:
        note(f"{where}, and goes on there, not at {now.address or 'no server'}; --base-url names another server")
    return opened


def _read_provider(name: str) -> str:
    return name.partition(":")[0]


def _find_default_server(name: str | None) -> str | None:
    """Return the server that ``HOCKET_BASE_URL`` names, None if the model is one of a provider's, which has its own.

    Raises:
        InvalidInput: it is no address.
    """
    address = os.environ.get("HOCKET_BASE_URL")
    if not address or (name is not None and _has_provider(name)):
        return None
    try:
        return parse_base_url(address)
    except ArgumentTypeError as error:
        raise InvalidInput(f"HOCKET_BASE_URL: {error}") from None


def _has_provider(name: str) -> bool:
    try:
        load_provider(name.partition(":")[0])
    except UnknownModel:
        return False
    return True


def _open(name: str, options: GivenOptions, provider: str | None = None) -> OpenModel:
    whole_name = f"{provider}:{name}" if provider else resolve_model_name(name, served="base_url" in options.values)
    try:
        model = options.apply(functools.partial(init_chat_model, whole_name))
    except ValidationError as error:
        if any(part["type"] == "missing" and part["loc"] == ("model",) for part in error.errors(include_url=False)):
            way_out = f"; `hocket models {name}` lists them" if _has_list(name, options) else ""
            raise InvalidInput(f"{name!r} is a provider: name its model, {name}:MODEL{way_out}") from error
        raise
    setup_needed = getattr(model, "setup_needed", None)
    if setup_needed is not None and name in list_providers() and (what := setup_needed()):
        raise MissingDependency(what)  # now, not at the first question
    address = getattr(model, "base_url", None)
    label = f"{name} at {redact_url(address)}" if address else name
    return OpenModel(label, model, model, whole_name, strip_secrets(address) if address else None)


def _has_list(provider: str, options: GivenOptions) -> bool:
    """Whether a provider can be asked for its models; True also where it takes more than it is given to find out."""
    try:
        model = options.apply(functools.partial(init_chat_model, f"{provider}:?"))
    except (HocketError, ValidationError):
        return True
    return hasattr(model, "alist_models")


def strip_secrets(address: str) -> str:
    """Return the address without what may be a secret in it, to be kept."""
    parts = urlsplit(address)
    return urlunsplit((parts.scheme, parts.netloc.rpartition("@")[2], parts.path.rstrip("/"), "", ""))
