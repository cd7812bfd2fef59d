"""What the models of a service are made of: those inside chains, fallbacks and agents, and what they hold."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import cast

from hocket._metering.ambient import find_reservers
from hocket._pipeline.accounts import make_reservers
from hocket.agents.agent import Agent, AgentTool
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput, Unpriceable
from hocket.language_models.base import BaseLanguageModel
from hocket.remote.embeddings import RemoteEmbeddings
from hocket.runnables import Runnable, RunnableBinding

__all__ = ["check_prices", "walk_parts"]


def walk_parts(values: Iterable[object]) -> Iterator[object]:
    """Yield values and what they are made of, each once: fields of runnables, and what is in mappings and lists."""
    seen: set[int] = set()
    waiting = [*values]
    while waiting:
        value = waiting.pop()
        if id(value) in seen:
            continue
        seen.add(id(value))
        yield value
        match value:
            case Agent():
                plan = vars(cast("Agent[object]", value))["_plan"]
                waiting += [plan.model, plan.tools]
            case AgentTool():
                waiting.append(value._agent)  # pyright: ignore[reportPrivateUsage]  # of the package
            case Runnable() | Embeddings():
                waiting.append(vars(value))
            case Mapping():
                waiting += cast("Mapping[object, object]", value).values()
            case list() | tuple():
                waiting += cast("Sequence[object]", value)
            case _:
                pass


def check_prices(name: str, served: object) -> None:
    """Refuse what has a model whose price is not known and that a budget in money would hold back at each request.

    What is known only when a request comes is not looked at: a model whose name a binding gives, one that an agent makes
    at its first run, one in a function.

    Args:
        name: that clients would call it by.
        served: a model, or what is made of some.

    Raises:
        InvalidInput: it has one.
    """
    parts = [*walk_parts([served])]
    bound: list[object] = [one for one in parts if isinstance(one, RunnableBinding) and "model" in one.kwargs]
    renamed = {*map(id, walk_parts(bound))}
    for part in parts:
        if id(part) in renamed or not isinstance(part, BaseLanguageModel | RemoteEmbeddings):
            continue
        model = cast("BaseLanguageModel[str] | RemoteEmbeddings", part)
        if not (reservers := [*find_reservers(), *make_reservers(model.budget, None)]):
            continue
        from hocket.budgets.reserver import BudgetReserver  # few services have budgets

        try:
            for reserver in reservers:
                if isinstance(reserver, BudgetReserver):
                    reserver.check_model(model)
        except Unpriceable as error:
            raise InvalidInput(f"models[{name!r}]: {error}") from None
