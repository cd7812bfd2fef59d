"""The request to a model, complete before the pipeline begins. No stage changes it."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

__all__ = ["CallRequest"]


class CallRequest(NamedTuple):
    """What is asked.

    Attributes:
        model: whose hook answers (`hocket._pipeline.attempts.HookedModel`).
        prompts: one list of messages, or one or more texts. Each is a run.
        stop: texts at which the answer is cut.
        params: options of the call, for the hook.
        streaming: whether the hook should stream.
        run_ids: of the prompts' runs.
        metadata: of the call, beside the model's; None: none.
    """

    model: Any
    prompts: Sequence[Any]
    stop: list[str] | None
    params: dict[str, Any]
    streaming: bool
    run_ids: Sequence[UUID]
    metadata: Mapping[str, Any] | None = None

    @property
    def class_name(self) -> str:
        """The name of the model's class, for messages of errors."""
        return type(self.model).__name__

    @property
    def provider(self) -> str | None:
        """The provider's name, if the model has one."""
        return getattr(self.model, "_provider", None)

    @property
    def served_model(self) -> str | None:
        """The name of the model at its provider, if it has one."""
        return getattr(self.model, "_served_model", None)
