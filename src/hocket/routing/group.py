"""What models made of other models have in common: they can what all of those can, and answer below their own runs."""

from abc import abstractmethod
from collections.abc import AsyncIterator, Sequence
from typing import TYPE_CHECKING, Any, cast

from pydantic import field_validator

from hocket._pipeline.call import Next
from hocket._pipeline.observe import with_total_deadline
from hocket._runtime.closing import AsyncClosing
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.option_policy import HookOptions
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.profiles import ModelProfile

if TYPE_CHECKING:
    from hocket.budgets import Budget

__all__ = ["ModelGroup", "compose_member"]


class ModelGroup(AsyncClosing, BaseChatModel):
    """A chat model made of others. A subclass says of which, and defines ``_compose_attempts``."""

    @field_validator("rate_limiter")
    @classmethod
    def _refuse_limiter(cls, value: object) -> object:
        if value is not None:
            raise ValueError(f"a {cls.__name__} has no account: give the rate_limiter to its models")
        return value

    @property
    @abstractmethod
    def _members(self) -> Sequence[BaseChatModel]:
        """The models."""

    @property
    @abstractmethod
    def member_names(self) -> Sequence[str]:
        """The names of the models."""

    def _resolve_model_profile(self) -> ModelProfile | None:
        profiles = [dict[str, Any](member.profile or {}) for member in self._members]
        least: dict[str, Any] = {}
        for key in set[str]().union(*profiles):
            known = [profile[key] for profile in profiles if isinstance(profile.get(key), int | float)]
            if len(known) == sum(bool(profile) for profile in profiles):
                least[key] = min(known)
        return cast(ModelProfile, least) or None

    @property
    def _tool_choices(self) -> frozenset[ToolChoiceKind]:  # type: ignore[override]
        return frozenset[ToolChoiceKind].intersection(*(member._tool_choices for member in self._members))

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        first, *others = (member._structured_methods for member in self._members)
        return [method for method in first if all(method in other for other in others)]

    def _apply_option_policy(
        self, stop: list[str] | None, params: dict[str, Any], policy: object = None, messages: Any = ()
    ) -> HookOptions:
        """Leave it to the model that is asked: another one may take what this one does not."""
        return stop, params if policy is None else {**params, "unsupported": policy}, ()

    async def aclose(self) -> None:
        """Close the connections of all models on the running loop."""
        for member in self._members:
            if isinstance(member, AsyncClosing):
                await cast(Any, member).aclose()

    # -- hooks: the verbs do not come here, but code that calls them by LangChain's names does

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return await self._agenerate_with_cache(messages, stop, run_manager, **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self.astream(messages, stop=stop, **kwargs):
            yield ChatGenerationChunk(message=chunk)

    @abstractmethod
    def _compose_attempts(self) -> Next: ...


def compose_member(group: ModelGroup, model: BaseChatModel, **fields: Any) -> tuple[BaseChatModel, Next]:
    """Return a group's copy of a model, and what has it make attempts: within its own time, on the bill of both.

    Args:
        group: whose budgets hold, too, and whose ledger, where the model has none.
        model: the model.
        fields: of the copy.
    """
    behind: dict[str, Any] = {"cache": False, "budget": _join(model.budget, group.budget), **fields}
    if model.ledger is None:
        behind["ledger"] = group.ledger
    copy = model.model_copy(update=behind)
    return copy, with_total_deadline(copy._compose_attempts())  # pyright: ignore[reportPrivateUsage]  # a hook


def _join(*given: "Budget | Sequence[Budget] | None") -> "list[Budget] | None":
    """Return the budgets of a model and of its group, each of which is one, several or none."""
    several = [each if isinstance(each, Sequence) else [each] for each in given if each is not None]
    return [budget for each in several for budget in each] or None
