"""A router: what a choice among ten deployments costs, and what it adds to a call of a model."""

from collections.abc import Iterator
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
    talk = [HumanMessage("hi")]
    contenders = {
        "hocket": lambda: _ask(make(), talk),
        "bare": lambda: _ask(FakeListChatModel(responses=["hi"]), talk),
    }
    yield row_of(bench.case, "a call by a router, over its model's own", measure(contenders, bench.plan), None)


def _ask(model: Any, talk: list[Any]) -> Body:
    return awaiting(lambda: model.ainvoke(talk))


CASES: dict[str, Case] = {"routing": choices}
