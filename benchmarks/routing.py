"""A router: what a choice among ten deployments costs, beside LiteLLM's, and what it adds to a call of a model.

LiteLLM is no dependency of the benchmarks: it is beside hocket in the environment of `scripts/interop`, where
``.venv/interop/bin/python -m benchmarks routing`` measures both.
"""

import os
import warnings
from collections.abc import Iterator
from functools import partial
from importlib.util import find_spec
from types import SimpleNamespace
from typing import Any

from .bench import Bench, Case, awaiting, repeating
from .harness import Body, Target, measure
from .table import Row, row_of

__all__ = ["CASES"]


def choices(bench: Bench) -> Iterator[Row]:
    """Choose among ten, by weight and by session, and make a call of one that answers at once."""
    from hocket import FakeListChatModel, HumanMessage
    from hocket.routing import ChatRouter, Deployment
    from hocket.routing.choice import Rule, choose

    def make(by: Rule = "weight") -> Any:
        models = [FakeListChatModel(responses=["hi"]) for _ in range(10)]
        return ChatRouter(
            deployments=[Deployment(model, name=f"d{at}", weight=at + 1) for at, model in enumerate(models)], by=by
        )

    def build(by: Rule, key: str | None = None) -> Body:
        places = make(by)._all
        return repeating(lambda: choose(places, by, key))

    rules: dict[str, tuple[Rule, str | None]] = {
        "by weight": ("weight", None),
        "by latency": ("latency", None),
        "by session": ("weight", "session-7"),
    }
    for what, (by, key) in rules.items():
        samples = measure({"hocket": lambda by=by, key=key: build(by, key)}, bench.plan)  # type: ignore[misc]
        yield row_of(bench.case, f"a choice among 10 deployments, {what}", samples, Target(15, over=None))
    yield from _beside_litellm(bench, make)
    talk = [HumanMessage("hi")]
    contenders = {
        "hocket": lambda: _ask(make(), talk),
        "bare": lambda: _ask(FakeListChatModel(responses=["hi"]), talk),
    }
    yield row_of(bench.case, "a call by a router, over its model's own", measure(contenders, bench.plan), None)


STRATEGIES = {
    "simple-shuffle": "weight",
    "least-busy": "weight",
    "latency-based-routing": "latency",
    "usage-based-routing-v2": "headroom",
    "cost-based-routing": "cost",
}
"""LiteLLM's ways to choose, and ours that stands for each."""


def _beside_litellm(bench: Bench, make: Any) -> Iterator[Row]:
    """Choose as a call does, from its messages to a deployment: who rests is left out, too."""
    from hocket import HumanMessage
    from hocket.routing.dispatch import _Progress

    call: Any = SimpleNamespace(request=SimpleNamespace(prompts=[[HumanMessage("hi")]], metadata=None))

    def build(strategy: str) -> Body:
        dispatcher = make(STRATEGIES[strategy])._dispatcher
        return repeating(lambda: dispatcher._choose(call, _Progress()))

    for strategy in STRATEGIES:
        what, target = f"a choice among 10, LiteLLM's {strategy}", Target(0.1, over="peer")
        if find_spec("litellm") is None:
            yield Row(bench.case, what, target=target, skipped="LiteLLM is not installed")
            continue
        contenders = {"hocket": partial(build, strategy), "peer": partial(_build_litellm, strategy)}
        yield row_of(bench.case, what, measure(contenders, bench.plan), target)


def _build_litellm(strategy: str) -> Body:
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"  # else it asks another host for prices
    import litellm

    warnings.simplefilter("ignore", DeprecationWarning)  # of the method that chooses: the newer one does more
    talk = [{"role": "user", "content": "hi"}]
    entries = [
        {"model_name": "g", "litellm_params": {"model": "openai/m", "api_key": f"k{at}", "weight": at + 1}}
        for at in range(10)
    ]
    router: Any = litellm.Router(model_list=entries, routing_strategy=strategy)
    choose = partial(router.async_get_available_deployment, model="g", messages=talk, request_kwargs={})
    return awaiting(choose)


def _ask(model: Any, talk: list[Any]) -> Body:
    return awaiting(lambda: model.ainvoke(talk))


CASES: dict[str, Case] = {"routing": choices}
