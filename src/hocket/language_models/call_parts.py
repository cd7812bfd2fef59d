"""What becomes of the arguments of a verb, before the pipeline begins: checked, and made the parts of a call."""

from collections.abc import Mapping
from typing import Any

from hocket._runtime.runtime import Runtime
from hocket.callbacks import AsyncCallbackManager, CallbackManager, Callbacks
from hocket.errors import InvalidInput

__all__ = [
    "NOT_SENT",
    "STRUCTURED_KEYS",
    "Params",
    "check_stop",
    "configure_manager",
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
    runtime: Runtime,
    fields: Mapping[str, Any],
    callbacks: Callbacks,
    tags: list[str] | None,
    metadata: Mapping[str, Any] | None,
    tracing_facts: Params,
) -> AsyncCallbackManager | CallbackManager:
    """Return the manager of a call.

    Args:
        runtime: of the call.
        fields: of the model.
        callbacks, tags, metadata: given with the call.
        tracing_facts: what tracers want to know of the model; they come over the metadata.
    """
    cls = AsyncCallbackManager if runtime.is_async else CallbackManager
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
