"""What runs are runs of: an agent, a chain or a function, with a name and a version. Made by `Runs.durable`."""

import inspect
import json
import math
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, Protocol, TypeVar, cast
from uuid import uuid4

import anyio

from hocket._runtime import clock
from hocket._runtime.sync_twin import sync_twin
from hocket.agents import Agent, AgentResult
from hocket.agents.model_call import list_models
from hocket.chat_history import open_history
from hocket.durable.agent_runs import find_session, is_end, read_end, write_end
from hocket.durable.engine import Kind
from hocket.durable.execution import Execution, current_execution
from hocket.durable.run import Run
from hocket.durable.store import KnownRun, RunInfo, RunStart, RunStore
from hocket.durable.values import ANY_VALUE, Codec, check_line, digest, is_same, make_codecs
from hocket.errors import InvalidInput, RunExists
from hocket.errors.hints import excerpt
from hocket.runnables import Runnable, RunnableConfig, RunnableLambda

__all__ = ["Durable", "MakeContext", "MakeInjected", "OwnRuns", "read_output"]

Input = TypeVar("Input")
Output = TypeVar("Output")

MakeContext = Callable[[RunInfo], object]
"""Returns an agent's context, for an execution of a run."""

MakeInjected = Callable[[RunInfo], Mapping[str, object]]
"""Returns the injected arguments of an agent's tools, for an execution of a run."""

_LONGEST_ID = 200


class OwnRuns(Protocol):
    """The `hocket.durable.Runs` that something belongs to, as far as it needs them: see there."""

    @property
    def is_working(self) -> bool:
        """Whether this process starts some."""
        ...

    def run(self, id: str) -> Run[Any]:
        """Return a run by its id."""
        ...

    async def __aenter__(self) -> object: ...

    async def __aexit__(self, *exc: object) -> None: ...


class Durable(Generic[Input, Output]):
    """What durable runs are runs of: see `Runs.durable`.

    Attributes:
        name, version: by which every process knows it.
        agent: that its runs are of; None: they are those of a chain or a function.
        runs: the `Runs` that it belongs to.
    """

    def __init__(
        self,
        target: object,
        name: str | None,
        version: str,
        context: MakeContext | None,
        injected: MakeInjected | None,
        store: RunStore,
        runs: OwnRuns,
    ) -> None:
        self._target, agent, self._input, self._output = _read_target(target)
        self.agent: Agent[Any] | None = agent
        self.name: str = check_line(
            "name", name or getattr(target, "__name__", None) or getattr(target, "name", None), without="@"
        )
        self.version: str = check_line("version", version, without="@")
        self._make_context = context
        self._make_injected = injected
        self._check_needs()
        self._store = store
        self.runs: OwnRuns = runs

    def __repr__(self) -> str:
        return f"<Durable {self.name!r}, version {self.version!r}>"

    async def astart(
        self,
        input: Input,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # it is the run's, and kept
    ) -> Run[Output]:
        """Start a run, and return it. Some process works on it, this one or, should it die, another.

        Args:
            input: of the agent, the chain or the function; it is stored.
            id: of the run, of 1 to 200 printable characters. The same id and input again are the same run, also when it has
                ended. None: one that nobody has.
            metadata: of the run, and of the runs of models in it: JSON.
            timeout: seconds from now in which the run is to end; then it fails with `TotalTimeout`, and restarts change
                nothing about that. None: as long as it takes.

        Raises:
            RunExists: there is a run of this id, which was started with something else.
            InvalidInput: the input cannot be stored, the id will not do, or this is outside of ``async with runs``.
            EngineUnavailable: the store cannot be reached. Nothing was started.
        """
        if not self.runs.is_working:
            raise InvalidInput("runs are started inside of `async with runs:`, which belongs around this")
        given = self._input.dump(input, f"the input of {self.name!r}")
        facts, now = _check_metadata(metadata), clock.current().time()
        text = RunStart(self.name, self.version, given, facts, _find_deadline(timeout), now).write()
        id = self._choose_id(input) if id is None else check_line("id", id, _LONGEST_ID)
        await self._store.engine.start(id, Kind(self.name, self.version), text)
        found = (await self._store.find(id)).record
        if found.name != self.name or not is_same(found.input, given):
            raise RunExists(f"there is a run {id!r} of {found.name!r} with another input; choose another id")
        return self.runs.run(id)

    async def ainvoke(
        self,
        input: Input,
        *,
        id: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        timeout: float | None = None,  # noqa: ASYNC109  # it is the run's, and kept
    ) -> Output:
        """Start a run, wait for its end, and return what it returns.

        Inside another run it is a part of that one, which needs no worker of its own: it ends with it, and goes on with it.

        Raises:
            RunFailed: it has failed.
            RunCanceled: it was called off.
            Exception: as `astart`; inside another run what the agent, the chain or the function raises.
        """
        execution = current_execution.get()
        if execution is None:
            run = await self.astart(input, id=id, metadata=metadata, timeout=timeout)
            return await run.aresult()
        with anyio.fail_after(timeout):
            return cast(Output, await self._run_inside(execution, input, id))

    start: Final = sync_twin(astart)
    invoke: Final = sync_twin(ainvoke)

    # -- inside

    def _check_needs(self) -> None:
        if self.agent is None:
            if self._make_context or self._make_injected:
                raise InvalidInput(f"{self.name!r} is no agent: only an agent takes a context or injected arguments")
            return
        if self.agent.context_schema is not None and self._make_context is None:
            raise InvalidInput(
                f"the agent {self.name!r} works with a context, which is not stored: durable(..., context=function) makes "
                "one of a RunInfo for each execution"
            )
        if self.agent.required_injected and self._make_injected is None:
            names = ", ".join(sorted(self.agent.required_injected))
            raise InvalidInput(
                f"tools of the agent {self.name!r} need {names}: durable(..., injected=function) makes them"
            )

    def _choose_id(self, input: Input) -> str:
        """Return an id of nobody's; inside a run the same one each time."""
        execution = current_execution.get()
        if execution is None:
            return str(uuid4())
        return f"{execution.id}/{execution.claim(f'start:{self._name_call(input)}').name}"[:_LONGEST_ID]

    def _name_call(self, input: Input) -> str:
        return f"{self.name}:{digest(input, f'the input of {self.name!r}')}"

    async def _run_inside(self, execution: Execution, input: Input, key: str | None) -> Any:
        """Run as a part of a run: an agent by its messages, and anything else once."""
        if self.agent is not None:
            return await self._target.ainvoke(
                input, None, **self._make_options((await self._store.find(execution.id)).describe())
            )
        place = execution.claim(f"end {key or self._name_call(input)}")
        try:
            if place.text is None:
                await place.record(self._write(await self._target.ainvoke(input)))
            return await self.read_output(cast(str, place.text), execution.id)
        finally:
            place.release()

    def _make_options(self, info: RunInfo) -> dict[str, Any]:
        options: dict[str, Any] = {}
        if self._make_context is not None:
            options["context"] = self._make_context(info)
        if self._make_injected is not None:
            options["injected"] = self._make_injected(info)
        return options

    @property
    def is_agent(self) -> bool:
        """Whether its runs are those of an agent, whose messages are its record."""
        return self.agent is not None

    async def execute(self, known: KnownRun) -> str:
        """Execute a run, and return its output as text."""
        info = known.describe()
        config: RunnableConfig = {"metadata": {**known.record.metadata, "run": info.id}, "run_name": self.name}
        result = await self._target.ainvoke(self._input.load(known.record.input), config, **self._make_options(info))
        return self._write(result)

    def _write(self, result: Any) -> str:
        if isinstance(result, AgentResult):
            found: AgentResult[Any] = result  # pyright: ignore[reportUnknownVariableType]  # `isinstance` forgets its types
            return write_end(found, None if self.is_agent else found.messages)
        return self._output.dump(result, f"what {self.name!r} returned")

    async def read_output(self, text: str, id: str) -> Any:
        """Return what a run has returned, of its text."""
        return await read_output(self._store, text, id, self.agent, self._output)


async def read_output(
    store: RunStore, text: str, id: str, agent: Agent[Any] | None = None, codec: Codec[Any] = ANY_VALUE
) -> Any:
    """Return what a run has returned, of its text, as far as this process knows what it was a run of."""
    if is_end(text):
        return await read_end(text, agent, open_history(store.database.url, session_id=find_session(id, "")))
    return codec.load(text)


def _read_target(target: object) -> tuple[Runnable[Any, Any], Agent[Any] | None, Codec[Any], Codec[Any]]:
    """Return what is called, the agent that it is, and how its input and its output are stored."""
    if isinstance(target, Runnable):
        runnable: Runnable[Any, Any] = target  # pyright: ignore[reportUnknownVariableType]  # as above
        agents = [one for one in list_models(runnable) if isinstance(one, Agent)]
        return runnable, cast("Agent[Any] | None", agents[0] if agents else None), ANY_VALUE, ANY_VALUE
    if not inspect.iscoroutinefunction(target):
        raise InvalidInput(f"target is {excerpt(target)}; it is an agent, a chain, or an async function of one input")
    needed = [
        parameter
        for parameter in inspect.signature(target).parameters.values()
        if parameter.kind in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD)
    ]
    if len(needed) != 1:
        raise InvalidInput(
            f"{target.__qualname__} takes {len(needed)} inputs; a durable function takes one: give it a mapping"
        )
    return RunnableLambda(target), None, *make_codecs(target)


def _check_metadata(metadata: object) -> Mapping[str, Any]:
    try:
        written = json.dumps({} if metadata is None else metadata, allow_nan=False)
    except (TypeError, ValueError):
        written = ""
    if not written.startswith("{"):
        raise InvalidInput(f"metadata is {excerpt(metadata)}; it is a mapping that JSON can write")
    return cast("Mapping[str, Any]", json.loads(written))


def _find_deadline(timeout: object) -> float | None:
    if timeout is None:
        return None
    if not isinstance(timeout, int | float) or isinstance(timeout, bool) or not 0 < timeout < math.inf:
        raise InvalidInput(f"timeout is {timeout!r}; it is a number of seconds above 0")
    return clock.current().time() + timeout
