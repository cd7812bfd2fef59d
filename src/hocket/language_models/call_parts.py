"""What becomes of the arguments of a verb, before the pipeline begins: checked, and made the parts of a call.

Among them is what tracers are told of the model at the start of a run, by LangSmith's names.
"""

import functools
from collections.abc import Mapping, Sequence
from typing import Any, cast

from hocket._runtime.mode import Mode
from hocket.callbacks import AsyncCallbackManager, CallbackManager, Callbacks
from hocket.errors import InvalidInput

__all__ = [
    "NOT_SENT",
    "STRUCTURED_KEYS",
    "LangSmithParams",
    "Params",
    "check_stop",
    "configure_manager",
    "describe_unserializable",
    "ls_params",
]

Params = dict[str, Any]
"""Arguments of a call, by name."""

STRUCTURED_KEYS = ("structured_output_format", "ls_structured_output_format")
"""Arguments of a call that only tracers are told."""

NOT_SENT = frozenset({"stream", "timeout", "retry", "unsupported", *STRUCTURED_KEYS})
"""Arguments of a call that neither hook nor cache key sees."""


def check_stop(stop: object) -> None:
    """Refuse a text instead of a list of stop words: it would be read letter by letter.

    Raises:
        InvalidInput: ``stop`` is a text.
    """
    if stop.__class__ is str:
        raise InvalidInput(f"stop is the text {stop!r}; it must be a list of texts: [{stop!r}]")


def configure_manager(
    mode: Mode,
    fields: Mapping[str, Any],
    callbacks: Callbacks,
    tags: list[str] | None,
    metadata: Mapping[str, Any] | None,
    tracing_facts: Params,
) -> AsyncCallbackManager | CallbackManager:
    """Return the manager of a call.

    Args:
        mode: of the call.
        fields: of the model.
        callbacks, tags, metadata: given with the call.
        tracing_facts: what tracers want to know of the model; they come over the metadata.
    """
    cls = AsyncCallbackManager if mode.is_async else CallbackManager
    all_metadata = {**metadata, **tracing_facts} if metadata else tracing_facts
    return cls.configure(
        callbacks,
        fields["callbacks"],
        fields["verbose"],
        tags,
        fields["tags"],
        all_metadata,
        fields["metadata"],
    )


LangSmithParams = dict[str, Any]
"""What tracers are told of a model: its provider, name and options, under LangSmith's keys."""

_TRACED = {
    "model_name": "ls_model_name",
    "model": "ls_model_name",
    "temperature": "ls_temperature",
    "max_tokens": "ls_max_tokens",
}


def ls_params(model: Any, kind: str, stop: Sequence[str] | None, params: Mapping[str, Any]) -> LangSmithParams:
    """Return provider, model name, kind, temperature and limits. A model without a name goes by its kind (`_llm_type`).

    Args:
        model: its class and attributes are asked.
        kind: "chat" or "llm".
        stop, params: of the call, over the model's.
    """
    cls = cast(Any, type(model))
    provider, attributes = _sources(cls)
    facts: LangSmithParams = {"ls_provider": provider, "ls_model_type": kind}
    for key, name in attributes:
        value = getattr(model, name)
        if value is not None:
            facts[key] = value
    if params:
        facts.update((key, params[name]) for name, key in _TRACED.items() if name in params)
        facts = {key: value for key, value in facts.items() if value is not None}
    if "ls_model_name" not in facts:
        facts["ls_model_name"] = model._llm_type
    if stop:
        facts["ls_stop"] = stop
    return facts


@functools.lru_cache(maxsize=256)
def _sources(cls: Any) -> tuple[str, list[tuple[str, str]]]:
    """Return the provider that a class's name speaks of, and the attributes that say what tracers ask."""
    name = cls.__name__
    provider = name.removeprefix("Chat").removesuffix("Chat").removesuffix("LLM").lower() or name.lower()
    fields: Mapping[str, object] = getattr(cls, "__pydantic_fields__", {})
    asked = {**_TRACED, "stop": "ls_stop"}
    return provider, [(key, one) for one, key in asked.items() if one in fields or hasattr(cls, one)]


@functools.lru_cache(maxsize=256)
def describe_unserializable(cls: Any) -> dict[str, Any]:
    """Return what handlers are told of a model whose class cannot be dumped, as in LangChain. Not to be changed."""
    return {"lc": 1, "type": "not_implemented", "id": cls.lc_id(), "repr": None}
