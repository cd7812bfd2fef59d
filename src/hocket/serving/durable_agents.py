"""Durable agents behind a gateway: which models are some, and who works on their runs."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from hocket.agents.agent import Agent
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.runnables import Runnable
from hocket.serving.refusals import Refusal

if TYPE_CHECKING:
    from hocket.durable import Durable
    from hocket.durable.definition import OwnRuns

__all__ = ["DurableWork", "check_work", "find_agent", "find_durable", "read_agent"]


def find_durable(model: object) -> "Durable[object, object] | None":
    """Return a model that is durable, as such; None: it is not."""
    if isinstance(model, Runnable | Embeddings):
        return None
    from hocket.durable import Durable  # which is there already, if it is one

    return model if isinstance(model, Durable) else None  # pyright: ignore[reportUnknownVariableType]  # `isinstance` forgets its types


def find_agent(model: object) -> Agent[object] | None:
    """Return the agent that a model is, or whose runs it starts; None: it is none."""
    if (durable := find_durable(model)) is not None:
        return durable.agent
    return model if isinstance(model, Agent) else None  # pyright: ignore[reportUnknownVariableType]  # as above


def read_agent(name: str, durable: "Durable[object, object]") -> Agent[object]:
    """Return the agent of what is durable.

    Raises:
        InvalidInput: it is no agent.
    """
    if durable.agent is None:
        raise InvalidInput(f"models[{name!r}] is durable, and no agent: only agents answer as models do")
    return durable.agent


def check_work(name: str, durable: "Durable[object, object]") -> None:
    """Look whether this process works on the runs.

    Raises:
        Refusal: 500: it does not.
    """
    if not durable.runs.is_working:
        message = (
            f"nobody works on the runs of {name!r} in this process: where the server does not run the application's "
            "lifespan, as for one that is mounted in another, put `async with runs:` into the outer one's"
        )
        raise Refusal(
            status=500,
            message=message,
            code="misconfigured",
            may_pass=False,
            words="this service cannot answer; its operator has to mend that",
        )


class DurableWork:
    """Works on the runs of models, while an application is up.

    Args:
        models: of which some may be durable.
    """

    def __init__(self, models: Iterable[object]) -> None:
        found = (find_durable(model) for model in models)
        self._runs: list[OwnRuns] = [*{id(one.runs): one.runs for one in found if one is not None}.values()]
        self._entered: list[OwnRuns] = []

    async def begin(self) -> None:
        """Work on those on which nobody works here.

        Raises:
            InvalidInput: they are in two databases; a process works on one.
            EngineUnavailable: the store cannot be reached.
        """
        for runs in self._runs:
            if not runs.is_working:
                await runs.__aenter__()
                self._entered.append(runs)

    async def finish(self) -> None:
        """Leave what runs here to others."""
        while self._entered:
            await self._entered.pop().__aexit__(None, None, None)
