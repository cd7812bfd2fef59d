"""One of the models behind a router: what it is, and its state in this process.

Whether others may be asked is known here as far as this process has seen it. What all processes know is in the rate
limiter of the deployment, which is asked before each attempt anyway (`hocket.routing.gate`).
"""

import logging
import math
import threading
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias, cast

from hocket._pipeline.call import Next
from hocket._runtime import clock
from hocket.errors import InvalidInput
from hocket.language_models.chat_models import BaseChatModel
from hocket.language_models.registry import init_chat_model
from hocket.rate_limiters import RateLimiter

__all__ = ["Deployment", "DeploymentPlace", "DeploymentState", "Deployments", "name_member"]

_log = logging.getLogger("hocket.routing")

SOON = 1.0
"""Seconds by which a rest may be longer and be the same one, heard of on another way."""

_SMOOTHING = 0.1  # the weight of the newest first token in the mean


@dataclass(frozen=True, eq=False)
class Deployment:
    """A model behind a router.

    Raises:
        InvalidInput: a value is not of its kind.

    Attributes:
        model: a chat model, or the name of one, as `init_chat_model` takes it.
        name: of the deployment, in its router; None: ``provider:model``.
        weight: its share, next to the others' weights; 0: it is asked only where no other is able.
        rate_limiter: of its account; None: the model's own, or one that knows pauses alone.
    """

    model: BaseChatModel | str
    name: str | None = None
    weight: float = 1.0
    rate_limiter: RateLimiter | None = None

    def __post_init__(self) -> None:
        model, weight, limiter = cast("tuple[object, object, object]", (self.model, self.weight, self.rate_limiter))
        if isinstance(model, str):
            object.__setattr__(self, "model", init_chat_model(model))
        elif not isinstance(model, BaseChatModel):
            raise InvalidInput(
                f"the model of a Deployment is {type(model).__name__}; it must be a chat model, or its name"
            )
        if not isinstance(weight, int | float) or not 0 <= weight < math.inf:
            raise InvalidInput(f"the weight of a Deployment is {weight!r}; it must be a number, 0 or more")
        if limiter is not None and not isinstance(limiter, RateLimiter):
            raise InvalidInput(
                f"the rate_limiter of a Deployment is {type(limiter).__name__}; it must be a RateLimiter"
            )


if TYPE_CHECKING:
    Deployments: TypeAlias = Sequence[Deployment | BaseChatModel | str]
    """What a router is given; its field holds a tuple of `Deployment`."""
else:
    Deployments = tuple[Deployment, ...]


def name_member(model: BaseChatModel) -> str:
    """Return ``provider:model``, or what is known of that."""
    provider = getattr(model, "_provider", None) or model._llm_type  # pyright: ignore[reportPrivateUsage]  # LangChain's name
    served = getattr(model, "_served_model", None)
    return f"{provider}:{served}" if served else str(provider)


@dataclass(frozen=True)
class DeploymentState:
    """How a deployment stands.

    Attributes:
        name: of the deployment.
        resting: seconds for which it is not asked; 0: it is.
        reason: why it rests; None: it does not.
        in_flight: attempts under way in this process.
        first_token: seconds until the first token, a mean of late; None: nothing is known.
        fails: failures in a row.
    """

    name: str
    resting: float
    reason: str | None
    in_flight: int
    first_token: float | None
    fails: int


@dataclass(eq=False)
class DeploymentPlace:
    """A deployment in its router, as this process sees it.

    Attributes:
        name, weight, price: price: of a million tokens read and one written; infinite: not known.
        model: that is asked: the deployment's own, without retries.
        ask: the pipeline of that model, behind the gate of the limiter.
        limiter: which knows the pauses of all processes.
        headroom: the share of its limits that was left, by its last reply.
        rests_until: by the clock.
        rests: how many there were in a row.
    """

    name: str
    weight: float
    price: float
    model: BaseChatModel
    limiter: RateLimiter
    ask: Next = field(init=False)
    headroom: float = 1.0
    in_flight: int = 0
    first_token: float | None = None
    fails: int = 0
    rests: int = 0
    rests_until: float = -math.inf
    reason: str | None = None
    lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    @property
    def window(self) -> float:
        """The tokens that its model reads; infinite: not known."""
        return (self.model.profile or {}).get("max_input_tokens") or math.inf

    def rest(self, seconds: float, reason: str) -> None:
        """Have it not asked for a while. A shorter rest ends no longer one."""
        now = clock.current().now()
        with self.lock:
            is_news = now + seconds > self.rests_until + SOON or self.rests_until <= now
            if is_news:
                self.reason = reason
            self.rests_until = max(self.rests_until, now + seconds)
        if is_news:
            kind = reason.partition(":")[0]  # a server's message may quote what it was asked
            _log.warning("%s rests for %.3g s: %s", self.name, seconds, kind)

    def note_answer(self) -> None:
        """Note that it has answered."""
        if self.reason is not None:
            self.reason = None
            _log.info("%s answers again", self.name)
        self.fails = self.rests = 0

    def note_first_token(self, seconds: float) -> None:
        """Note after how many seconds its first token came."""
        mean = self.first_token
        self.first_token = seconds if mean is None else mean + (seconds - mean) * _SMOOTHING

    def describe(self) -> DeploymentState:
        """Return its state."""
        resting = max(0.0, self.rests_until - clock.current().now())
        reason = self.reason if resting else None
        return DeploymentState(self.name, resting, reason, self.in_flight, self.first_token, self.fails)
