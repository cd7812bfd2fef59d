"""A chat model made of deployments: one run, one budget of attempts, one deadline, one bill.

What all deployments can is what the router can. Which of them is asked, and which one next, is in `hocket.routing.dispatch`.
"""

import math
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, cast

from pydantic import Field, PrivateAttr, field_validator

from hocket._pipeline.attempts import with_retries
from hocket._pipeline.call import Next
from hocket._pipeline.concurrency_limit import with_concurrency_limit
from hocket._pipeline.observe import with_total_deadline
from hocket._runtime.closing import AsyncClosing
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.option_policy import HookOptions
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.outputs import ChatGenerationChunk, ChatResult
from hocket.prices import price_of
from hocket.profiles import ModelProfile
from hocket.rate_limiters import RateLimiter
from hocket.retries import RetryPolicy, RetryPolicyLike
from hocket.routing.choice import Rule
from hocket.routing.deployment import Deployment, DeploymentPlace, DeploymentState, name_deployment
from hocket.routing.dispatch import Dispatcher
from hocket.routing.gate import Gate

if TYPE_CHECKING:
    from hocket.budgets import Budget

__all__ = ["ChatRouter"]


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
        hedge: the share of calls for which a second deployment is asked where the first one is late: its first token (of
            ``ainvoke`` its answer) takes longer than twice the p90 of the last 256. The first to speak has won. A hedge
            counts as an attempt, so it wants a ``retry`` of two or more. None: none is.
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
    hedge: float | None = Field(default=None, gt=0, le=1)
    affinity: bool = True
    cooldown: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    allowed_fails: int = Field(default=3, ge=1)
    store: str | None = Field(default=None, exclude=True, repr=False)
    name: str | None = "router"
    if_store_fails: Literal["local", "raise"] = "local"
    retry: RetryPolicyLike | None = Field(default=RetryPolicy(), repr=False)

    _unkeyed: ClassVar[frozenset[str]] = frozenset(
        {"by", "hedge", "affinity", "cooldown", "allowed_fails", "store", "if_store_fails", "name"}
    )

    _standing: Dispatcher | None = PrivateAttr(default=None)

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
        return self._dispatcher.places

    @property
    def _dispatcher(self) -> Dispatcher:
        if self._standing is None:
            self._standing = Dispatcher(
                str(self.name),
                tuple(self._make_places()),
                self.by,
                self.affinity,
                self.cooldown,
                self.allowed_fails,
                self.hedge,
            )
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
            place.ask = with_total_deadline(place.model._compose_attempts())
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
        ask: Next = self._dispatcher.ask
        return with_retries(ask if self.max_in_flight is None else with_concurrency_limit(self._places, ask))


def _join(*given: "Budget | Sequence[Budget] | None") -> "list[Budget] | None":
    """Return the budgets of a deployment and of its router, each of which is one, several or none."""
    several = [each if isinstance(each, Sequence) else [each] for each in given if each is not None]
    return [budget for each in several for budget in each] or None


def _find_price(model: BaseChatModel) -> float:
    price = price_of(model)
    return math.inf if price is None else float(price.input) + float(price.output)
