"""The profile of a model, by its name.

A name is that of a table's row, or that with what marks a snapshot: a date, ``-latest``, a version in a cloud's manner.
Nothing looser: ``gpt-4.5`` begins with ``gpt-4`` and is another model, and a wrong profile does harm where none does not.
Nor are four digits such a mark: what Mistral calls ``mistral-large-2407`` is another model than ``mistral-large-2512``.
"""

import re
import threading
import warnings
from functools import cache, lru_cache

from pydantic import TypeAdapter, ValidationError

from hocket.errors import HocketWarning, InvalidInput
from hocket.messages.base import copy_containers
from hocket.profiles.profile import ModelProfile

__all__ = ["checked_profile", "find_profile", "set_profile"]

# -2024-08-06, -20250929, @20250929, -v1:0, -latest, and :free and its like with routers
_SNAPSHOT = re.compile(r"(?:[-@]\d{4}-\d{2}-\d{2}|[-@]\d{8}|-v\d+(?::\d+)?|[-@]latest|:[a-z]+)$")
_FINE_TUNED = re.compile(r"ft:([^:]+)(?::.*)?$")

_own: dict[tuple[str | None, str], ModelProfile] = {}
_lock = threading.Lock()


def find_profile(model: str, provider: str | None = None) -> ModelProfile | None:
    """Return what is known of a model: what the program said itself (`set_profile`), else what the tables say.

    Args:
        model: its name, in any case; a snapshot of a model is known by the model's name, a fine-tuned model by its base,
            and ``maker/model`` and ``maker.model`` by either.
        provider: whose model it is: openai, anthropic, google, mistral, deepseek, xai, meta, qwen. With any other, which
            serves models of many makers, and with None the name alone counts.

    Returns:
        a profile of the caller's own; None: nothing is known. The sizes are those of the maker; a server of one's own may
        be set to less.
    """
    with _lock:
        found = _search_tables(model.strip().lower(), provider.lower() if provider else None)
    return None if found is None else copy_containers(found)


def set_profile(model: str, profile: ModelProfile | None, provider: str | None = None) -> None:
    """Say what is to be known of a model in this process, in place of what the tables say; None: take that back.

    Models that exist already keep the profile that they have.

    Args:
        model: its name, or the name that its snapshots have in common.
        profile: all of it: a key that is absent is not known.
        provider: for models of this one alone; None: of any.

    Raises:
        InvalidInput: ``profile`` is no dict, or a value is not of its type.
    """
    key = (provider.lower() if provider else None, model.strip().lower())
    with _lock:
        if profile is None:
            _own.pop(key, None)
        else:
            _own[key] = copy_containers(checked_profile(profile))
        _search_tables.cache_clear()


def checked_profile(profile: ModelProfile) -> ModelProfile:
    """Return ``profile``; a key that is not of `ModelProfile` is kept and warned about.

    Raises:
        InvalidInput: it is no dict, or a value is not of its type.
    """
    try:
        _adapter().validate_python(profile, strict=True)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(map(str, first["loc"])) or type(profile).__name__
        raise InvalidInput(
            f"a profile is a dict such as {{'max_input_tokens': 8192}}; {where}: {first['msg']}"
        ) from None
    if unknown := sorted(map(str, profile.keys() - ModelProfile.__annotations__.keys())):
        warnings.warn(f"a model profile has no {', '.join(unknown)}: nothing reads it", HocketWarning, stacklevel=3)
    return profile


@cache
def _adapter() -> TypeAdapter[ModelProfile]:
    return TypeAdapter(ModelProfile)


@lru_cache(maxsize=1024)
def _search_tables(model: str, provider: str | None) -> ModelProfile | None:
    from hocket.profiles.tables import TABLES  # some hundred rows, which only this needs

    own_table = TABLES.get(provider or "")
    tables = [own_table] if own_table is not None else list(TABLES.values())
    for name in _names(model):
        for key in ((provider, name), (None, name)):
            if key in _own:
                return _own[key]
        for table in tables:
            if name in table:
                return table[name]
    return None


def _names(model: str) -> list[str]:
    """Return the names that a model may be known by, the longest first."""
    fine_tuned = _FINE_TUNED.match(model)
    names = [model, fine_tuned[1]] if fine_tuned else [model]
    names += [name.replace("gpt-35-", "gpt-3.5-", 1) for name in names if "gpt-35-" in name]  # Azure's, without dots
    for name in [*names]:
        rest = name
        while (at := re.search(r"[/.]", rest)) and (at[0] == "/" or rest[: at.start()].isalpha()):
            rest = rest[at.end() :]  # openai/gpt-4o, us.anthropic.claude-sonnet-4-5, accounts/fireworks/models/...
            names.append(rest)
    for name in names:  # grows meanwhile
        shorter = _SNAPSHOT.sub("", name)
        if shorter != name and shorter:
            names.append(shorter)
    return sorted(dict.fromkeys(names), key=len, reverse=True)
