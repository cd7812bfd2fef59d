"""`Chain`: a step with named inputs and named outputs, and perhaps a memory.

A run goes in one order: the inputs are checked, the memory is read, the work is done, the outputs are checked, and the
memory is written. So a run that fails, is cancelled or is left early has written nothing, and what a caller has got is
remembered. A stream is the same run: its pieces are mappings that add up to what `ainvoke` returns.
"""

import functools
import inspect
from abc import ABC
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, TypeVar, cast

from pydantic import ConfigDict
from typing_extensions import TypedDict

from hocket._runtime.runtime import Runtime
from hocket._runtime.stream import Sink
from hocket.callbacks import AsyncCallbackManagerForChainRun, CallbackManagerForChainRun
from hocket.chains.outlet import Outlet
from hocket.errors import InvalidHook, InvalidInput
from hocket.errors.hints import bridge_hint, near_name
from hocket.memory.base import BaseChatMemory, BaseMemory
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import RunnableSerializable
from hocket.runnables.chain_run import ChainRun, get_run, is_watched
from hocket.runnables.config import set_config_context
from hocket.runnables.folding import AddableDict
from hocket.runnables.stage import put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["Chain", "ChainOptions", "join_keys"]

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


class Chain(RunnableWithRun[Fields, Fields], RunnableSerializable[Fields, Fields], ABC):
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

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    _waits_for_input: ClassVar[bool] = True

    memory: BaseMemory | None = None
    tags: list[str] | None = None
    metadata: Fields | None = None

    if not TYPE_CHECKING:  # checkers know the fields of each class

        def __init__(self, **fields: object) -> None:
            for name, value in fields.items():
                if hint := bridge_hint(value):  # a runnable of whatever kind is taken otherwise
                    raise InvalidInput(f"{name} is {type(value).__name__}{hint}")
            super().__init__(**fields)
            self._check_keys()  # not in a validator, where an InvalidInput would be wrapped

    @property
    def input_keys(self) -> list[str]:
        """The keys that a run needs, those of the memory included."""
        raise NotImplementedError

    @property
    def output_keys(self) -> list[str]:
        """The keys that a run adds."""
        raise NotImplementedError

    async def _acall(self, inputs: Fields, run_manager: AsyncCallbackManagerForChainRun | None = None) -> Fields:
        """Return the outputs for ``inputs``. ``run_manager`` is for runs inside this one."""
        raise NotImplementedError

    def _call(self, inputs: Fields, run_manager: CallbackManagerForChainRun | None = None) -> Fields:
        """Return the outputs for ``inputs``, in sync code."""
        raise NotImplementedError

    async def _execute(self, runtime: Runtime, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        """Return the outputs: hocket's own chains define this, on a runtime, and push what they can stream."""
        cls = type(self)
        has_async, has_sync = cls._acall is not Chain._acall, cls._call is not Chain._call
        if not (has_async or has_sync):
            raise InvalidHook(f"{cls.__name__} does nothing: define _acall (async)")
        run = get_run(config, runtime)
        if has_async and (runtime.is_async or not has_sync):
            call = _bind(self._acall, inputs, run.view_as(AsyncCallbackManagerForChainRun))

            async def work() -> Fields:
                with set_config_context(config):
                    return await call()

            return await runtime.call_async(work)
        sync_call = _bind(self._call, inputs, run.view_as(CallbackManagerForChainRun))
        with set_config_context(config):
            return await runtime.call_sync(sync_call)

    # -- keys

    @property
    def _memory_keys(self) -> list[str]:
        return [] if self.memory is None else self.memory.memory_variables

    @property
    def asked_keys(self) -> list[str]:
        """The keys that a caller has to give: the inputs without those of the memory."""
        known = self._memory_keys
        return [key for key in self.input_keys if key not in known]

    def _check_keys(self) -> None:
        """Refuse keys that would hide one another. A subclass with further keys adds to it."""
        asked, known, outputs = self.asked_keys, self._memory_keys, self.output_keys
        for what, keys in (("an input", asked), ("a variable of the memory", known)):
            if twice := [key for key in outputs if key in keys]:
                raise InvalidInput(f"{self.get_name()} has {join_keys(twice)} as {what} and as an output; rename one")
        if len({*outputs}) < len(outputs):
            raise InvalidInput(f"{self.get_name()} has an output twice: {join_keys(outputs)}")
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

    # -- one run

    async def _invoke(
        self, runtime: Runtime, input: Fields, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Fields:
        _read_options(kwargs)
        return await super()._invoke(runtime, self._read_input(input), config, kwargs)

    async def _produce(
        self,
        runtime: Runtime,
        input: Fields,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[Fields],
    ) -> None:
        _read_options(kwargs)
        await super()._produce(runtime, self._read_input(input), config, kwargs, sink)

    async def _run_whole(
        self, runtime: Runtime, input: Fields, config: RunnableConfig, kwargs: dict[str, object]
    ) -> Fields:
        return await self._work(runtime, input, config, kwargs, None)

    async def _run_streamed(
        self, runtime: Runtime, input: Fields, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Fields]
    ) -> None:
        await self._work(runtime, input, config, kwargs, sink)

    async def _work(
        self,
        runtime: Runtime,
        input: Fields,
        config: RunnableConfig,
        kwargs: dict[str, object],
        sink: Sink[Fields] | None,
    ) -> Fields:
        only_outputs = _read_options(kwargs)
        given = self._read_input(input)
        inputs = {**given, **await self._load_memory(runtime, given, config)}
        if missing := [key for key in self.input_keys if key not in inputs]:
            raise InvalidHook(f"the memory of {self.get_name()} gave no {join_keys(missing)}, as it had promised")
        if sink is not None and not only_outputs:
            await put_one(sink, AddableDict(inputs))
        outlet = Outlet(sink)
        outputs = self._check_outputs(await self._execute(runtime, inputs, config, outlet))
        await self._save_memory(runtime, given, outputs)
        await outlet.put_rest(outputs)
        return outputs if only_outputs else {**inputs, **outputs}

    def _read_input(self, input: object) -> Fields:
        """Return the values of a call by name.

        Raises:
            InvalidInput: one is missing, or it is not clear what a single value stands for.
        """
        keys = self.asked_keys
        if not isinstance(input, Mapping):
            if len(keys) != 1:
                raise InvalidInput(
                    f"{self.get_name()} takes a mapping with {join_keys(keys)}, not {type(input).__name__}"
                )
            return {keys[0]: input}
        values = {**cast(FieldsView, input)}
        if missing := [key for key in keys if key not in values]:
            near = [f"{name!r} for {key!r}" for key in missing if (name := near_name(key, [*values]))]
            hint = f"; did you mean {', '.join(near)}?" if near else ""
            raise InvalidInput(
                f"{self.get_name()} lacks the input {join_keys(missing)}; given: {join_keys(values)}{hint}"
            )
        return values

    def _check_outputs(self, outputs: object) -> Fields:
        if not isinstance(outputs, Mapping):
            raise InvalidHook(f"{type(self).__name__} returned {type(outputs).__name__}; a chain returns a mapping")
        values = {**cast(FieldsView, outputs)}
        if missing := [key for key in self.output_keys if key not in values]:
            raise InvalidHook(
                f"{type(self).__name__} returned no {join_keys(missing)}; it returned {join_keys(values)}"
            )
        return values

    async def _load_memory(self, runtime: Runtime, given: Fields, config: RunnableConfig) -> Fields:
        if self.memory is None:
            return {}
        if runtime.is_async:
            return await self.memory.aload_memory_variables(given, config)
        return self.memory.load_memory_variables(given, config)

    async def _save_memory(self, runtime: Runtime, given: Fields, outputs: Fields) -> None:
        if self.memory is None:
            return
        inputs = {key: given[key] for key in self._remembered_inputs}
        remembered = self._remember_outputs(outputs)
        if runtime.is_async:
            await self.memory.asave_context(inputs, remembered)
        else:
            self.memory.save_context(inputs, remembered)

    def _open_run(self, runtime: Runtime, config: RunnableConfig) -> ChainRun | None:
        if not is_watched(config):
            return None
        run = ChainRun(runtime, self.get_name(), config, self._run_type, self.tags, self.metadata)
        return run if run.is_watched else None


def join_keys(keys: Iterable[str]) -> str:
    """Return keys for an error's text."""
    return ", ".join(map(repr, keys)) or "nothing"


def _read_options(kwargs: dict[str, object]) -> bool:
    """Return whether only the outputs are wanted.

    Raises:
        InvalidInput: there is an option that chains do not have.
    """
    if unknown := [key for key in kwargs if key != "return_only_outputs"]:
        raise InvalidInput(
            f"a chain takes no {join_keys(unknown)}; values go into its input, options of a model are bound to the model"
        )
    return bool(kwargs.get("return_only_outputs"))


def _bind(hook: Callable[..., Returned], inputs: Fields, run_manager: object) -> functools.partial[Returned]:
    """Return a call of a hook, with the run's manager if it takes one."""
    parameters = inspect.signature(hook).parameters
    takes_manager = "run_manager" in parameters or any(one.kind is one.VAR_KEYWORD for one in parameters.values())
    return functools.partial(hook, inputs, **({"run_manager": run_manager} if takes_manager else {}))
