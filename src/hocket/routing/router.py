"""A chat model made of deployments: one run, one budget of attempts, one deadline, one bill.

The router is a stage between the retries and what an attempt reserves. It makes an attempt by the pipeline of a deployment's
own model, so that its budget, ledger, limits and adaptation of messages hold; what is around the attempts is the router's.
An attempt that fails at one deployment is followed at once by one at another. Only where none is left, the policy's pause
comes, or the end of the shortest rest.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import Field, PrivateAttr, field_validator

from hocket._pipeline.attempts import with_retries
from hocket._pipeline.call import Call, CallLimits, Next
from hocket._pipeline.chat_answer import rebuild_result
from hocket._pipeline.concurrency_limit import with_concurrency_limit
from hocket._runtime import clock
from hocket._runtime.closing import AsyncClosing
from hocket.errors import (
    AuthenticationError,
    ContextLengthExceeded,
    LLMError,
    PermissionDenied,
    QuotaExceeded,
    RateLimitError,
    ResourceNotFound,
)
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.option_policy import HookOptions
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage
from hocket.messages.base import copy_message
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.prices import price_of
from hocket.profiles import ModelProfile
from hocket.rate_limiters import RateLimiter
from hocket.retries import Failure, RetryPolicy, RetryPolicyLike, retry_budget
from hocket.routing.choice import Rule, choose
from hocket.routing.deployment import Deployment, DeploymentPlace, DeploymentState, name_deployment
from hocket.routing.gate import Gate, NoRoomError, is_patient
from hocket.timeouts import Timeout

if TYPE_CHECKING:
    from hocket.budgets import Budget

__all__ = ["ChatRouter"]

MOST_DOUBLED = 8
"""The most by which rests in a row lengthen the next one."""

OWN_FAULTS = (AuthenticationError, PermissionDenied, QuotaExceeded, ResourceNotFound)
"""Errors that are the deployment's own, and not the request's."""


class ChatRouter(AsyncClosing, BaseChatModel):
    """Several deployments of a model as one chat model.

        model = ChatRouter(deployments=["azure:gpt-5.2", Deployment("openai:gpt-5.2", weight=0.2)], store="redis://cache")

    Deployments are chosen by weight, or by another rule, and a conversation goes on where it was, which its messages say:
    its prompt is cached there. An attempt that fails in a way that another deployment need not is made there at once. A
    deployment that asks for time (``retry-after``) rests for so long, one that fails again and again for ``cooldown``
    seconds; then one request goes first. With a ``store`` all processes know of rests.

    Args:
        deployments: of a `Deployment`, a chat model, or the name of one, each.
        by: which of two deployments is the better one: "weight" (fewer attempts in flight for its weight), "latency" (its
            first tokens come early), "headroom" (more is left of its limits), "cost" (the cheapest of all).
        affinity: whether a conversation stays with its deployment; the first turn of one whose metadata have a
            ``session_id`` is placed by that.
        cooldown: seconds for which a deployment rests after failures; each rest in a row is twice as long, up to 8 times.
        allowed_fails: failures in a row that a deployment may have before it rests.
        store: ``redis://…``, ``postgresql://…`` or ``sqlite:///path``, where processes share what they know; None: this
            process is alone.
        if_store_fails: while the store is down, "local" has each process rely on itself; "raise" raises
            `StoreUnavailable`.
        retry: by default three attempts in all.

    The deployments' own limits, budgets, ledgers and limits on time hold for their attempts, and with them the budgets of
    the router, and its ledger where a deployment has none. Their ``retry`` and ``cache`` do not: those of the router do.

    Raises:
        InvalidInput: there are no deployments, two have one name, or one is a router.
    """

    deployments: tuple[Deployment, ...] = Field(exclude=True, repr=False)
    by: Rule = "weight"
    affinity: bool = True
    cooldown: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    allowed_fails: int = Field(default=3, ge=1)
    store: str | None = Field(default=None, exclude=True, repr=False)
    name: str | None = "router"
    if_store_fails: Literal["local", "raise"] = "local"
    retry: RetryPolicyLike | None = Field(default=RetryPolicy(), repr=False)

    _unkeyed: ClassVar[frozenset[str]] = frozenset(
        {"by", "affinity", "cooldown", "allowed_fails", "store", "if_store_fails", "name"}
    )

    _standing: tuple[DeploymentPlace, ...] | None = PrivateAttr(default=None)

    @field_validator("deployments", mode="before")
    @classmethod
    def _make_deployments(cls, value: object) -> object:
        if isinstance(value, str) or not isinstance(value, Sequence) or not value:
            raise ValueError("deployments is a list of Deployments, chat models or names of some, one at least")
        made = [
            one if isinstance(one, Deployment) else Deployment(cast(Any, one)) for one in cast(Sequence[object], value)
        ]
        if any(isinstance(one.model, ChatRouter) for one in made):
            raise ValueError("a router cannot be a deployment of another; give its deployments")
        return tuple(made)

    @field_validator("deployments")
    @classmethod
    def _check_names(cls, deployments: tuple[Deployment, ...]) -> tuple[Deployment, ...]:
        named = [one.name for one in deployments if one.name]
        if twice := sorted({name for name in named if named.count(name) > 1}):
            raise ValueError(f"two deployments are called {twice[0]!r}; their names must differ")
        return deployments

    @field_validator("rate_limiter")
    @classmethod
    def _refuse_limiter(cls, value: object) -> object:
        if value is not None:
            raise ValueError("a router has no account: give the rate_limiter to its deployments")
        return value

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "__pydantic_private__": {"_standing": None}}

    # -- what all deployments can is what the router can

    @property
    def _llm_type(self) -> str:
        return "router"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        asked = [cast(BaseChatModel, one.model)._get_llm_string() for one in self.deployments]
        return {"name": self.name, "deployments": asked}

    def _resolve_model_profile(self) -> ModelProfile | None:
        profiles = [cast(BaseChatModel, one.model).profile for one in self.deployments]
        least: dict[str, Any] = {}
        for key in set[str]().union(*(profile or {} for profile in profiles)):
            values = [cast("Mapping[str, Any]", profile).get(key) for profile in profiles if profile]
            known = [value for value in values if isinstance(value, int | float)]
            if known and len(known) == len(values):
                least[key] = min(known)
        return cast(ModelProfile, least) or None

    @property
    def _tool_choices(self) -> frozenset[ToolChoiceKind]:  # type: ignore[override]
        kinds = [cast(BaseChatModel, one.model)._tool_choices for one in self.deployments]
        return frozenset[ToolChoiceKind].intersection(*kinds)

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        first, *others = [cast(BaseChatModel, one.model)._structured_methods for one in self.deployments]
        return [method for method in first if all(method in other for other in others)]

    def _apply_option_policy(
        self, stop: list[str] | None, params: dict[str, Any], policy: object = None, messages: Any = ()
    ) -> HookOptions:
        """Leave it to the deployment that is asked: another one may take what this one does not."""
        return stop, params if policy is None else {**params, "unsupported": policy}, ()

    # -- how it stands

    async def astate(self) -> list[DeploymentState]:
        """Return how each deployment stands, by what this process and the store know."""
        for place in self._all:
            if paused := (await place.limiter.astate()).paused:
                place.rest(paused, "its limiter is paused")
        return [place.describe() for place in self._all]

    async def aclose(self) -> None:
        """Close the connections of all deployments on the running loop."""
        for place in self._all:
            if isinstance(place.model, AsyncClosing):
                await cast(Any, place.model).aclose()

    @property
    def _all(self) -> tuple[DeploymentPlace, ...]:
        if self._standing is None:
            self._standing = tuple(self._make_places())
        return self._standing

    def _make_places(self) -> list[DeploymentPlace]:
        places: list[DeploymentPlace] = []
        for deployment in self.deployments:
            name = stem = name_deployment(deployment)
            count = 1
            while any(place.name == name for place in places):
                name = f"{stem}#{(count := count + 1)}"
            model = cast(BaseChatModel, deployment.model)
            limiter = deployment.rate_limiter or model.rate_limiter
            if not isinstance(limiter, RateLimiter):
                limiter = RateLimiter.for_pauses(self.store, f"{self.name}:{name}", self.if_store_fails)
            place = DeploymentPlace(
                name, deployment.weight, _find_price(model) if self.by == "cost" else math.inf, model, limiter
            )
            behind: dict[str, Any] = {
                "rate_limiter": Gate(place),
                "retry": None,
                "cache": False,
                "budget": _join(model.budget, self.budget),
            }
            if model.ledger is None:
                behind["ledger"] = self.ledger
            place.model = model.model_copy(update=behind)
            place.ask = place.model._compose_attempts()
            places.append(place)
        return places

    # -- hooks and pipeline

    async def _agenerate(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        return await self._agenerate_with_cache(messages, stop, run_manager, **kwargs)

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        async for chunk in self.astream(messages, stop=stop, **kwargs):
            yield ChatGenerationChunk(message=chunk)

    def _compose_attempts(self) -> Next:
        ask: Next = self._ask_in_turn
        return with_retries(ask if self.max_in_flight is None else with_concurrency_limit(self._places, ask))

    async def _ask_in_turn(self, call: Call) -> Any:
        """Ask deployments, one after another, until one answers, or none is left that may do better."""
        policy = call.limits.retry
        tried: set[str] = set()
        failure: Exception | None = None
        with retry_budget(1 if policy is None else policy.max_attempts) as turn:
            while (place := self._choose(call, tried, failure)) is not None:
                tried.add(place.name)
                try:
                    return await self._ask(call, place)
                except NoRoomError:
                    continue
                except Exception as error:
                    turn.count()
                    failure = error
                    if turn.is_spent or call.delivery.has_handed_out or not _goes_elsewhere(error):
                        raise
                    if (self._choose(call, tried, failure)) is not None:
                        await _emit_retry(call, error, len(tried))
                    call.delivery.restart()
            if failure is not None:
                raise self._set_pause(failure)
        return await self._wait_for_room(call)

    def _choose(self, call: Call, tried: set[str], failure: Exception | None) -> DeploymentPlace | None:
        now = clock.current().now()
        able = [place for place in self._all if place.rests_until <= now and place.name not in tried]
        if isinstance(failure, ContextLengthExceeded):
            largest = max((place.window for place in self._all if place.name in tried), default=0)
            able = [place for place in able if place.window > largest]
        if not able:
            return None
        key = None
        if self.affinity:
            last = next((one for one in reversed(call.request.prompts[0]) if isinstance(one, AIMessage)), None)
            name = last and last.response_metadata.get("deployment")
            for place in able:
                if place.name == name:
                    return place
            session = (call.request.metadata or {}).get("session_id")
            key = None if session is None else str(session)
        return choose(able, self.by, key)

    async def _ask(self, call: Call, place: DeploymentPlace) -> Any:
        """Have a deployment answer."""
        request, model = call.request, place.model
        params = {**request.params, "stream": request.streaming}
        metadata = {**(request.metadata or {}), "deployment": place.name}
        asked, _ = model._make_request(
            call.mode, request.prompts, request.run_ids, request.stop, params, request.prompts[0], metadata
        )
        own = None if model.timeout is None else Timeout.of(model.timeout)
        timeout = own if call.limits.timeout is None else call.limits.timeout.over(own)
        inner = Call(
            call.answer, asked, call.mode, CallLimits(timeout, None, call.limits.ends_at), call.runs, call.delivery
        )
        began = clock.current().now()
        place.in_flight += 1
        try:
            result = await place.ask(inner)
        except LLMError as error:
            await self._note_failure(place, error)
            raise
        finally:
            place.in_flight -= 1
        first = call.delivery.first_chunk_at or clock.current().now()
        place.note_answer(first - began)
        return await _sign(call, result, place.name)

    async def _wait_for_room(self, call: Call) -> Any:
        """Ask a deployment that is busy with patience; where all rest, wait for the first."""
        now = clock.current().now()
        busy = [place for place in self._all if place.rests_until <= now]
        if busy:
            token = is_patient.set(True)
            try:
                return await self._ask(call, choose(busy, self.by))
            finally:
                is_patient.reset(token)
        rest = min(place.rests_until for place in self._all) - now
        if call.limits.ends_at is not None and now + rest >= call.limits.ends_at:
            error = RateLimitError(f"all deployments of {self.name} rest", retry_after=rest, retryable=True)
            error.was_sent = False
            raise error
        await call.mode.sleep(rest)
        return await self._ask_in_turn(call)

    async def _note_failure(self, place: DeploymentPlace, error: LLMError) -> None:
        """Have a deployment rest, if its failure says so."""
        if isinstance(error, NoRoomError):
            return
        reason = f"{type(error).__name__}: {error.message}"
        if error.retryable and error.retry_after is not None:
            if not isinstance(error, RateLimitError):  # of that one its limiter has been told
                await place.limiter.apause(error.retry_after, probe=True)
            place.rest(error.retry_after, reason)
            return
        is_own = isinstance(error, OWN_FAULTS)
        place.fails += error.retryable or is_own
        if not (is_own or (error.retryable and place.fails >= self.allowed_fails)):
            return
        now = clock.current().now()
        if all(one is place or one.rests_until > now for one in self._all):
            return  # the last able one
        seconds = self.cooldown * min(2**place.rests, MOST_DOUBLED)
        place.rests += 1
        place.fails = 0
        place.rest(seconds, reason)
        await place.limiter.apause(seconds, probe=True)

    def _set_pause(self, error: Exception) -> Exception:
        """Return the error of the last deployment, with the time after which the first one is back."""
        now = clock.current().now()
        rests = [place.rests_until - now for place in self._all]
        if isinstance(error, LLMError) and min(rests) > 0:
            error.retry_after = min(rests)
            error.retryable = True
        return error


def _goes_elsewhere(error: Exception) -> bool:
    """Whether another deployment may do better."""
    return isinstance(error, LLMError) and (error.retryable or isinstance(error, (*OWN_FAULTS, ContextLengthExceeded)))


def _join(*given: "Budget | Sequence[Budget] | None") -> "list[Budget] | None":
    """Return the budgets of a deployment and of its router, each of which is one, several or none."""
    several = [each if isinstance(each, Sequence) else [each] for each in given if each is not None]
    return [budget for each in several for budget in each] or None


def _find_price(model: BaseChatModel) -> float:
    price = price_of(model)
    return math.inf if price is None else float(price.input) + float(price.output)


async def _emit_retry(call: Call, error: Exception, attempt: int) -> None:
    state, facts = Failure(attempt, error, 0.0).retry_event_args
    await call.runs.emit_shared("on_retry", state, **facts, response=call.failure_response(error))


def _sign_message(message: BaseMessage, name: str) -> BaseMessage:
    return copy_message(message, response_metadata={**message.response_metadata, "deployment": name})


async def _sign(call: Call, result: Any, name: str) -> Any:
    """Have the answer say who gave it, also to a reader of its chunks."""
    if call.delivery.sink is None:  # the model may give the same message again and again: it is left as it is
        signed = [_sign_message(generation.message, name) for generation in result.generations]
        return rebuild_result(result, signed)
    chunk = AIMessageChunk(content="", response_metadata={"deployment": name})
    waiting = call.delivery.deliver(ChatGenerationChunk(message=chunk))
    if waiting is not None:
        await waiting
    return call.delivery.fold.result()
