"""A chat model made of deployments: one run, one budget of attempts, one deadline, one bill.

The router supports what all deployments support. Which one is asked, and which one next, is in `hocket.routing.dispatch`.
"""

import math
import threading
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

from pydantic import Field, PrivateAttr, field_validator

from hocket._pipeline.attempts import with_retries
from hocket._pipeline.call import Next
from hocket._pipeline.concurrency_limit import with_concurrency_limit
from hocket._runtime.fork import after_fork
from hocket._runtime.portal import run_in_portal
from hocket.language_models.chat_models import BaseChatModel
from hocket.prices import price_of
from hocket.rate_limiters import RateLimiter
from hocket.retries import RetryPolicy, RetryPolicyLike
from hocket.routing.choice import Rule
from hocket.routing.deployment import Deployment, DeploymentPlace, Deployments, DeploymentState, name_member
from hocket.routing.dispatch import Dispatcher
from hocket.routing.gate import Gate
from hocket.routing.group import ModelGroup, compose_member

__all__ = ["ChatRouter"]

_making = threading.RLock()  # two threads that ask first share what stands; a member may have a router in it


@after_fork
def _renew_lock() -> None:
    global _making
    _making = threading.RLock()


class ChatRouter(ModelGroup):
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
            counts as an attempt, so it needs a ``retry`` of two or more. None: none is.
        affinity: whether a conversation stays with its deployment; the first turn of one whose metadata have a
            ``session_id`` is placed by that.
        cooldown: seconds for which a deployment rests after failures; each rest in a row is twice as long, up to 8 times.
        allowed_fails: failures in a row that a deployment may have before it rests.
        store: ``redis://…``, ``postgresql://…`` or ``sqlite:///path``, where processes share what they know; None: this
            process is alone.
        if_store_fails: while the store is down, "local" has each process rely on itself; "raise" raises
            `StoreUnavailable`.
        longest_wait: seconds that a call waits at most where all deployments rest or have no room; then the error is raised,
            for what is asked in place of the router (``with_fallbacks``), and failures rest the last able deployment, too.
            None: until the call's own deadline, and they do not.
        retry: by default three attempts in all.

    The deployments' own limits, budgets, ledgers and limits on time hold for their attempts, and with them the budgets of
    the router, and its ledger where a deployment has none. Their ``retry`` and ``cache`` do not: those of the router do.

    Raises:
        InvalidInput: there are no deployments, two have one name, or one is a router.
    """

    deployments: Deployments = Field(exclude=True, repr=False)
    by: Rule = "weight"
    hedge: float | None = Field(default=None, gt=0, le=1)
    affinity: bool = True
    cooldown: float = Field(default=30.0, gt=0, allow_inf_nan=False)
    allowed_fails: int = Field(default=3, ge=1)
    store: str | None = Field(default=None, exclude=True, repr=False)
    name: str | None = "router"
    if_store_fails: Literal["local", "raise"] = "local"
    longest_wait: float | None = Field(default=None, ge=0)
    retry: RetryPolicyLike | None = Field(default=RetryPolicy(), repr=False)

    _unkeyed: ClassVar[frozenset[str]] = frozenset(
        {"by", "hedge", "affinity", "cooldown", "allowed_fails", "store", "if_store_fails", "longest_wait", "name"}
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

    def __getstate__(self) -> Any:
        return {**super().__getstate__(), "__pydantic_private__": {"_standing": None}}

    @property
    def _deployed(self) -> tuple[Deployment, ...]:
        return cast("tuple[Deployment, ...]", self.deployments)

    @property
    def _llm_type(self) -> str:
        return "router"

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        return {"name": self.name, "deployments": [member._get_llm_string() for member in self._members]}

    @property
    def _members(self) -> Sequence[BaseChatModel]:
        return [cast(BaseChatModel, one.model) for one in self._deployed]

    # -- how it stands

    async def astate(self) -> list[DeploymentState]:
        """Return the state of each deployment, as known to this process and the store."""
        for place in self._all:
            if paused := (await place.limiter.astate()).paused:
                place.rest(paused, "its limiter is paused")
        return [place.describe() for place in self._all]

    @property
    def member_names(self) -> Sequence[str]:
        """The names of the deployments."""
        return [place.name for place in self._all]

    def state(self) -> list[DeploymentState]:
        """Return the state of each deployment. See `astate`."""
        return run_in_portal(self.astate)

    @property
    def _all(self) -> tuple[DeploymentPlace, ...]:
        return self._dispatcher.places

    @property
    def _dispatcher(self) -> Dispatcher:
        with _making:
            if self._standing is None:
                self._standing = Dispatcher(
                    str(self.name),
                    tuple(self._make_places()),
                    self.by,
                    self.affinity,
                    self.cooldown,
                    self.allowed_fails,
                    self.hedge,
                    math.inf if self.longest_wait is None else self.longest_wait,
                )
            return self._standing

    def _make_places(self) -> list[DeploymentPlace]:
        places: list[DeploymentPlace] = []
        for deployment in self._deployed:
            name = stem = deployment.name or name_member(cast(BaseChatModel, deployment.model))
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
            gate = Gate(place)
            place.model, place.ask = compose_member(self, model, rate_limiter=gate, retry=None)
            places.append(place)
        return places

    def _compose_attempts(self) -> Next:
        ask: Next = self._dispatcher.ask
        return with_retries(ask if self.max_in_flight is None else with_concurrency_limit(self._places, ask))


def _find_price(model: BaseChatModel) -> float:
    price = price_of(model)
    return math.inf if price is None else float(price.input) + float(price.output)
