"""`Chain`: a step with named inputs and named outputs, and perhaps a memory: what it knows by itself."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, ParamSpec, TypeVar

from typing_extensions import TypedDict

from hocket._runtime.definitions import find_newest
from hocket._runtime.mode import Mode
from hocket.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from hocket.chains.outlet import Outlet
from hocket.chains.step import NamedStep, join_keys
from hocket.classic.memory.base import BaseChatMemory, BaseMemory
from hocket.errors import InvalidHook, InvalidInput
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.chain_run import get_run
from hocket.runnables.config import set_config_context

__all__ = ["Chain", "ChainOptions", "KeyedChain", "ListedChain", "MadeFromModel"]

P = ParamSpec("P")
Made = TypeVar("Made")
Returned = TypeVar("Returned")


class ChainOptions(TypedDict, total=False):
    """What every chain may be given.

    Keys:
        memory: what it remembers between runs.
        name: for handlers; by default that of the class.
        tags, metadata: of its runs.
    """

    memory: BaseMemory | None
    name: str | None
    tags: list[str] | None
    metadata: Fields | None


class Chain(NamedStep):
    """A step with named inputs and outputs.

    Called with a mapping, it returns that mapping with the outputs added, and what its memory knew beside it; with
    ``return_only_outputs=True`` the outputs alone. A chain that needs one value may be called with that value.

    A subclass names its `input_keys` and `output_keys`, and defines `_acall`, or `_call` in sync code, which runs in a
    worker thread under `ainvoke`:

        class Shout(Chain):
            @property
            def input_keys(self):
                return ["text"]

            @property
            def output_keys(self):
                return ["loud"]

            async def _acall(self, inputs, run_manager=None):
                return {"loud": inputs["text"].upper()}

    Args:
        memory: what it remembers between runs. Its variables are added to the inputs, over a value of that name; a run
            that has ended well is remembered: the chain's own inputs and outputs, and nothing else of the mapping.
        name: for handlers; by default that of the class.
        tags, metadata: of its runs.

    Raises, when it is made:
        InvalidInput: a key is an input and an output, or an output and a variable of the memory; or the memory could not
            tell which of several values to remember.

    Raises, from every verb:
        InvalidInput: an input is missing.
        InvalidHook: an output is missing.
    """

    memory: BaseMemory | None = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Have a hook asked that is defined below one of hocket's own chains."""
        super().__init_subclass__(**kwargs)
        if not find_newest(cls, Chain, "_execute", "_acall", "_call").isdisjoint({"_acall", "_call"}):
            setattr(cls, "_execute", Chain._execute)  # noqa: B010  # a plain assignment is an error to type checkers

    async def _acall(self, inputs: Fields, run_manager: AsyncCallbackManagerForChainRun | None = None) -> Fields:
        """Return the outputs for ``inputs``. ``run_manager`` is for runs inside this one."""
        raise NotImplementedError

    def _call(self, inputs: Fields, run_manager: CallbackManagerForChainRun | None = None) -> Fields:
        """Return the outputs for ``inputs``, in sync code."""
        raise NotImplementedError

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        """Return the outputs: hocket's own chains define this, in a mode, and push what they can stream."""
        hooks = find_newest(type(self), Chain, "_acall", "_call")
        if not hooks:
            raise InvalidHook(f"{type(self).__name__} does nothing: define _acall (async)")
        run = get_run(config, mode)
        if "_acall" in hooks and (mode.is_async or len(hooks) == 1):
            call = _bind(self._acall, inputs, run.view_as(AsyncCallbackManagerForChainRun))

            async def work() -> Fields:
                with set_config_context(config):
                    return await call()

            return await mode.call_async(work)
        sync_call = _bind(self._call, inputs, run.view_as(CallbackManagerForChainRun))
        with set_config_context(config):
            return await mode.call_sync(sync_call)

    # -- keys

    @property
    def _known_keys(self) -> list[str]:
        return [] if self.memory is None else self.memory.memory_variables

    def _check_keys(self) -> None:
        super()._check_keys()
        if isinstance(self.memory, BaseChatMemory):
            self._check_memory_key("input", self.memory.input_key, self._remembered_inputs)
            self._check_memory_key("output", self.memory.output_key, self._remembered_outputs)

    def _check_memory_key(self, what: str, key: str | None, keys: list[str]) -> None:
        name = self.get_name()
        if key is not None and key not in keys:
            raise InvalidInput(f"the memory's {what}_key is {key!r}, and {name} remembers {join_keys(keys)}")
        if key is None and len(keys) != 1:
            raise InvalidInput(
                f"{name} has the {what}s {join_keys(keys)}, and its memory keeps one: say which, by {what}_key=..."
            )

    @property
    def _remembered_inputs(self) -> list[str]:
        """The inputs that the memory gets: by default all but its own."""
        return self.asked_keys

    @property
    def _remembered_outputs(self) -> list[str]:
        """The outputs that the memory gets: by default all."""
        return self.output_keys

    def _remember_outputs(self, outputs: FieldsView) -> Fields:
        """Return what the memory gets of the outputs, by `_remembered_outputs`."""
        return {key: outputs[key] for key in self._remembered_outputs}

    async def _recall(self, mode: Mode, given: Fields, config: RunnableConfig) -> Fields:
        return {} if self.memory is None else await self.memory.load(mode, given, config)

    async def _remember(self, mode: Mode, given: Fields, outputs: Fields) -> None:
        if self.memory is None:
            return
        inputs = {key: given[key] for key in self._remembered_inputs}
        await self.memory.save(mode, inputs, self._remember_outputs(outputs))


class KeyedChain(Chain):
    """A chain of one question and one answer, which go by names that may be chosen. These two are remembered.

    Args:
        input_key, output_key: names of the question and of the answer.
    """

    input_key: str
    output_key: str

    @property
    def input_keys(self) -> list[str]:
        """The name of the question."""
        return [self.input_key]

    @property
    def output_keys(self) -> list[str]:
        """The name of the answer."""
        return [self.output_key]

    @property
    def _remembered_inputs(self) -> list[str]:
        return [self.input_key]

    @property
    def _remembered_outputs(self) -> list[str]:
        return [self.output_key]


class ListedChain(Chain):
    """A chain whose inputs and outputs are listed when it is made.

    Args:
        input_variables, output_variables: their names.
    """

    input_variables: list[str]
    output_variables: list[str]

    @property
    def input_keys(self) -> list[str]:
        """The names of the inputs."""
        return self.input_variables

    @property
    def output_keys(self) -> list[str]:
        """The names of the values that are put out."""
        return self.output_variables


class MadeFromModel:
    """A chain whose first argument is a model."""

    @classmethod
    def from_llm(cls: Callable[P, Made], *args: P.args, **kwargs: P.kwargs) -> Made:
        """Return a chain: LangChain's other name of the constructor."""
        return cls(*args, **kwargs)


def _bind(hook: Callable[..., Returned], inputs: Fields, run_manager: object) -> functools.partial[Returned]:
    """Return a call of a hook, with the run's manager if it takes one."""
    parameters = inspect.signature(hook).parameters
    takes_manager = "run_manager" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return functools.partial(hook, inputs, **({"run_manager": run_manager} if takes_manager else {}))
