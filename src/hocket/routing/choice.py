"""Which deployment is asked: the choice among those that are able, without a look into any store.

Two are drawn by weight, and the better one is taken: nearly as good as the best of all, and no herd runs to it
(Mitzenmacher, "The power of two choices in randomized load balancing", 2001).
"""

import hashlib
import math
import random
from collections.abc import Callable, Mapping, Sequence
from typing import Literal

from hocket.routing.deployment import DeploymentPlace

__all__ = ["Rule", "choose", "rank_by_key"]

Rule = Literal["weight", "latency", "headroom", "cost"]
"""What makes one of two deployments the better one: fewer attempts in flight for its weight; an early first token; more left
of its limits. "cost": the lowest price of all."""

_random = random.SystemRandom()  # a seeded one would be the same in every process that a server forks


def choose(
    able: Sequence[DeploymentPlace], by: Rule, key: str | None = None, draw: Callable[[], float] = _random.random
) -> DeploymentPlace:
    """Return the deployment to ask.

    Args:
        able: those that may be asked, one at least.
        by: the rule.
        key: of a session, which is to find the same one again in every process; None: there is none.
        draw: gives chance, a number from 0 up to 1.
    """
    weighted = [place for place in able if place.weight > 0]
    places = weighted or list(able)
    if len(places) == 1:
        return places[0]
    if key is not None:
        return rank_by_key(places, key)[0]
    if by == "cost":
        return min(places, key=lambda place: (place.price, place.in_flight))
    first, second = (_draw(places, draw), _draw(places, draw))
    return second if _SCORES[by](second) < _SCORES[by](first) else first


def rank_by_key(places: Sequence[DeploymentPlace], key: str) -> list[DeploymentPlace]:
    """Return places in the order in which a key prefers them, the same in every process: rendezvous hashing, by weight.

    Where one of them is away, its keys alone move, and later back again.
    """

    def distance(place: DeploymentPlace) -> float:
        digest = hashlib.blake2b(f"{key}\0{place.name}".encode(), digest_size=8).digest()
        return -math.log((int.from_bytes(digest) + 1) / 2**64) / (place.weight or 1.0)

    return sorted(places, key=distance)


def _draw(places: Sequence[DeploymentPlace], draw: Callable[[], float]) -> DeploymentPlace:
    at = draw() * sum(place.weight or 1.0 for place in places)
    for place in places:
        at -= place.weight or 1.0
        if at < 0:
            return place
    return places[-1]


_SCORES: Mapping[Rule, Callable[[DeploymentPlace], float]] = {
    # Of two that are idle the first drawn: that has the shares.
    "weight": lambda place: place.in_flight / (place.weight or 1.0),
    "latency": lambda place: (place.first_token or 0.0) * (place.in_flight + 1),
    "headroom": lambda place: -place.headroom,
}
