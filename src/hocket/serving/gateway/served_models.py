"""What a gateway serves, by the names that clients call it: checked when the application is built, asked in one way."""

from collections.abc import AsyncIterable, Awaitable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar, cast

from hocket.agents.agent import Agent
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.errors.hints import LONGEST_NAME, near_name_hint, shorten
from hocket.language_models.base import LanguageModelInput
from hocket.messages import AIMessage, BaseMessage
from hocket.runnables import (
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableConfig,
    RunnableSequence,
    RunnableWithMessageHistory,
)
from hocket.runnables.base import RunnableWrapper
from hocket.serving.durable_agents import find_agent, find_durable, read_agent
from hocket.serving.gateway.agent_model import AgentModel, DurableModel, check_agent, check_pauses
from hocket.serving.gateway.face import Said
from hocket.serving.gateway.pass_through import PassThrough
from hocket.serving.model_parts import check_prices
from hocket.serving.refusals import Refusal

if TYPE_CHECKING:
    from hocket.durable import Durable

__all__ = ["AskedModel", "Model", "ServedModels"]

T = TypeVar("T")

_Answering: TypeAlias = Runnable[LanguageModelInput, AIMessage] | Runnable[LanguageModelInput, str]
Model: TypeAlias = "_Answering | Agent[Any] | Embeddings | Durable[Any, object]"
"""A chat model, a text model, a runnable that is made of one, an agent, a durable one, or an embedding model."""

_ANSWERS = ("/v1/chat/completions", "/v1/completions", "/v1/responses", "/v1/messages")
_VECTORS = ("/v1/embeddings",)


class AskedModel(Protocol):
    """What answers a conversation."""

    def ainvoke(
        self, input: list[BaseMessage] | str, config: RunnableConfig | None = None, **kwargs: object
    ) -> Awaitable[object]:
        """Return the answer whole."""
        ...

    def astream(
        self, input: list[BaseMessage] | str, config: RunnableConfig | None = None, **kwargs: object
    ) -> AsyncIterable[Said]:
        """Return the pieces of the answer."""
        ...


class ServedModels:
    """Models by their names.

    Args:
        models: by name.
        page: whether there is a page, too: agents that wait for a person are on it, and nowhere else.

    Raises:
        InvalidInput: there is none, or one is none; one is an agent that a request alone cannot run, or ends in an agent;
            a budget in money is over one whose price is not known.
    """

    def __init__(self, models: Mapping[str, Model], *, page: bool = False) -> None:
        if not isinstance(models, Mapping) or not models:  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"models is {models!r}; it is a mapping with a name for each model, and one at least")
        self._asked: dict[str, AskedModel] = {}
        self._embeddings: dict[str, Embeddings] = {}
        for name, model in models.items():
            durable = find_durable(model)
            if not isinstance(name, str) or not name or not (durable or isinstance(model, Runnable | Embeddings)):  # pyright: ignore[reportUnnecessaryIsInstance]  # as above
                raise InvalidInput(
                    f"models[{name!r}] is {type(model).__name__}; it is a model, by a name that is a text"
                )
            if durable is not None:
                agent = read_agent(name, durable)
                check_pauses(name, agent, may_pause=page)
                if not agent.may_pause:
                    self._asked[name] = DurableModel(name, durable, agent)
            elif isinstance(model, Embeddings):
                self._embeddings[name] = model
            elif isinstance(model, Agent):
                check_agent(name, model, may_pause=page)
                if not model.may_pause:
                    self._asked[name] = AgentModel(model)
            else:
                _check_end(name, model)
                self._asked[name] = cast(AskedModel, model)
            check_prices(name, find_agent(model) or model)
        self.pass_through: PassThrough = PassThrough()
        self.names: Sequence[str] = [name for name in models if name in self._asked or name in self._embeddings]
        self.refused: dict[str, set[str]] = {name: set() for name in self.names}
        """The options that models have refused, by their names."""

    def check(self, name: str) -> None:
        """Refuse the name of a model that is not served.

        Raises:
            Refusal: 404.
        """
        if name not in self.refused:
            raise self.refuse(name)

    def find(self, name: str) -> AskedModel:
        """Return what answers.

        Raises:
            Refusal: 400: it is an embedding model.
        """
        return self._find(name, self._asked, "an embedding model", _VECTORS)

    def find_embeddings(self, name: str) -> Embeddings:
        """Return what makes vectors.

        Raises:
            Refusal: 400: it is no embedding model.
        """
        return self._find(name, self._embeddings, "no embedding model", _ANSWERS)

    def _find(self, name: str, models: Mapping[str, T], other: str, paths: Iterable[str]) -> T:
        if name not in models:
            message = f"the model {name!r} is {other}; it is served at {', '.join(paths)}"
            raise Refusal(status=400, message=message, code="model_not_supported_here", param="model")
        return models[name]

    def refuse(self, name: str) -> Refusal:
        """Return what is told of a model that is not served."""
        message = f"there is no model {shorten(name, LONGEST_NAME)!r} here; {near_name_hint(name, self.names)}"
        return Refusal(status=404, message=message, code="model_not_found", param="model")


def _check_end(name: str, model: object) -> None:
    if _ends_in_agent(model):
        raise InvalidInput(
            f"models[{name!r}] ends in an agent, whose result is not an answer of a model: each request would run its "
            "tools and fail. Serve the agent itself, or as a route with sse(agent.astream(...))"
        )


def _ends_in_agent(value: object) -> bool:
    """Say whether what a runnable returns is an agent's result, or may be: that of its last step, or of one it chooses."""
    match value:
        case RunnableSequence():
            return _ends_in_agent(vars(value)["last"])
        case RunnableWrapper() | RunnableBranch() | RouterRunnable() | RunnableWithMessageHistory():
            return any(map(_ends_in_agent, vars(value).values()))
        case Mapping():
            return any(map(_ends_in_agent, cast("Mapping[object, object]", value).values()))
        case list() | tuple():
            return any(map(_ends_in_agent, cast("Sequence[object]", value)))
        case _:
            return isinstance(value, Agent)
