"""A cheap model first: models are asked one after another, until an answer is accepted. It is one call, with one deadline.

Each step is made by the pipeline of its own model, with that model's retries, budget and ledger, so that whatever is asked
is on the bill. A step that fails is not accepted. The last model's answer is not checked, and so it alone is streamed as it
comes; the others' are read whole first, since an answer that was shown cannot be taken back: neither to a reader nor to a
handler of tokens.
"""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from functools import partial
from inspect import isawaitable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple, TypeAlias, TypedDict, cast

from pydantic import Field, field_validator

from hocket._pipeline.cache_key import list_code
from hocket._pipeline.call import Call, Delivery, Next
from hocket._pipeline.concurrency_limit import with_concurrency_limit
from hocket._pipeline.runs import RelayedEvent
from hocket._runtime.clock import Turns
from hocket.errors import LLMError
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.registry import init_chat_model
from hocket.messages import AIMessage, UsageMetadata
from hocket.retries import RetryPolicy
from hocket.routing.attempt import open_call, sign
from hocket.routing.deployment import name_member
from hocket.routing.group import ModelGroup, compose_member

__all__ = ["CascadeStep", "ChatCascade"]

Accept = Callable[[AIMessage], bool | Awaitable[bool]]


if TYPE_CHECKING:
    CascadeModels: TypeAlias = Sequence[BaseChatModel | str]
    """What a cascade is given; its field holds a tuple of models."""
else:
    CascadeModels = tuple[BaseChatModel, ...]


class CascadeStep(TypedDict):
    """The result of a model of a cascade.

    Attributes:
        model: its name.
        accepted: whether its answer is the cascade's.
        usage_metadata: the tokens of its answer; None: it has failed, or said nothing of them.
    """

    model: str
    accepted: bool
    usage_metadata: UsageMetadata | None


class _Member(NamedTuple):
    name: str
    model: BaseChatModel
    ask: Next


class ChatCascade(ModelGroup):
    """Models of which the next is asked where the answer of the one before is not accepted.

        model = ChatCascade(models=["openai:gpt-5.2-mini", "openai:gpt-5.2"], accept=is_sure)

    ``response_metadata["cascade"]`` of the answer is a list of a `CascadeStep` for each model that was asked. Its usage is
    that of the model that gave it; ledger, budgets and `spending` have all.

    Args:
        models: chat models, or names of some, two at least; the cheapest first.
        accept: whether an answer is good enough, as a function of the message, which may be async. The last model's is not
            checked. An error that it raises ends the call.

    The models' own limits, budgets, ledgers, retries and limits on time hold for their steps, and with them the budgets of
    the cascade, and its ledger where a model has none. Their caches do not: that of the cascade does. It knows ``accept`` by
    its name and its own code, not by what that calls; a lambda or an inner function, whose name others may have, is another
    one in each process.

    Raises:
        InvalidInput: there are fewer than two models.
    """

    models: CascadeModels = Field(exclude=True, repr=False)
    accept: Accept = Field(exclude=True, repr=False)
    name: str | None = "cascade"

    _unkeyed: ClassVar[frozenset[str]] = frozenset({"name"})

    @field_validator("models", mode="before")
    @classmethod
    def _make_models(cls, value: object) -> object:
        if isinstance(value, str) or not isinstance(value, Sequence) or len(cast("Sequence[object]", value)) < 2:
            raise ValueError("models is a list of chat models, or names of some, two at least")
        return tuple(init_chat_model(one) if isinstance(one, str) else one for one in cast("Sequence[object]", value))

    @property
    def _llm_type(self) -> str:
        return "cascade"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        accept = getattr(self.accept, "__qualname__", type(self.accept).__qualname__)
        return {"models": [model._get_llm_string() for model in self._members], "accept": accept}

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        function = getattr(self.accept, "func", self.accept)  # of a partial
        code = getattr(function, "__code__", None) or getattr(type(function).__call__, "__code__", None)
        return super()._get_llm_string(stop, **kwargs, accept=[self.accept, code and list_code(code)])

    @property
    def _members(self) -> Sequence[BaseChatModel]:
        return cast("tuple[BaseChatModel, ...]", self.models)

    @property
    def member_names(self) -> Sequence[str]:
        """The names of the models."""
        return [name_member(model) for model in self._members]

    def _compose_attempts(self) -> Next:
        members = [_Member(name_member(model), *compose_member(self, model)) for model in self._members]
        ask: Next = partial(self._ask_in_turn, members)
        return ask if self.max_in_flight is None else with_concurrency_limit(self._places, ask)

    async def _ask_in_turn(self, members: Sequence[_Member], call: Call) -> Any:
        *checked, last = members
        steps: list[CascadeStep] = []
        for member in checked:
            held = _HeldChunks(call)
            part = _open_step(call, member.model).share(held)
            held.follow(part.delivery)
            try:
                result = await member.ask(part)
            except LLMError:
                if call.limits.is_over:
                    raise
                steps.append({"model": member.name, "accepted": False, "usage_metadata": None})
                continue
            reply: AIMessage = result.generations[0].message
            verdict = self.accept(reply)
            is_accepted = bool(await verdict if isawaitable(verdict) else verdict)
            steps.append({"model": member.name, "accepted": is_accepted, "usage_metadata": reply.usage_metadata})
            if is_accepted:
                await held.hand_out()
                return await sign(call, result, {"cascade": steps})
        result = await last.ask(_open_step(call, last.model, is_last=True))
        usage = result.generations[0].message.usage_metadata
        steps.append({"model": last.name, "accepted": True, "usage_metadata": usage})
        return await sign(call, result, {"cascade": steps})


def _open_step(call: Call, model: BaseChatModel, *, is_last: bool = False) -> Call:
    policy = call.limits.retry or (None if model.retry is None else RetryPolicy.of(model.retry))
    return open_call(call, model, {}, call.delivery if is_last else None, policy)


class _HeldChunks:
    """Keeps the chunks of an answer until it is accepted. Events are told at once."""

    closed = False

    def __init__(self, call: Call) -> None:
        self._call = call
        self._turns = Turns() if call.mode.is_async else None
        self._chunks: list[tuple[int, Any]] = []  # each with its attempt

    def follow(self, delivery: Delivery) -> None:
        """Take the chunks. Nobody has got them, so that another attempt may begin the answer again."""
        self._delivery = delivery
        delivery.attach(self, hands_out=False)

    def put(self, item: Any) -> Awaitable[None] | None:
        if item.__class__ is RelayedEvent:
            return self._call.runs.emit(item.name, *item.args, **item.details)
        self._chunks.append((self._delivery.attempt, item))
        return None if self._turns is None else self._turns.share()

    async def hand_out(self) -> None:
        """Hand on the chunks of the attempt that was the last."""
        for attempt, chunk in self._chunks:
            waiting = self._call.delivery.deliver(chunk) if attempt == self._delivery.attempt else None
            if waiting is not None:
                await waiting
