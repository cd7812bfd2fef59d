"""`NamedStep`: a step with named inputs and named outputs.

A run goes in one order: the inputs are checked, what the step knows by itself is added, the work is done, the outputs are
checked, and what is to be remembered is kept. So a run that fails, is cancelled or is left early has kept nothing, and
what a caller has got is remembered. A stream is the same run: its pieces are mappings that add up to what `ainvoke`
returns.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, ClassVar, cast

from pydantic import ConfigDict

from hocket._runtime.mode import Mode
from hocket._runtime.stream import Sink
from hocket.chains.outlet import Outlet
from hocket.errors import InvalidHook, InvalidInput
from hocket.errors.hints import bridge_hint, near_name
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.runnables.base import RunnableSerializable
from hocket.runnables.chain_run import ChainRun, is_watched
from hocket.runnables.folding import AddableDict
from hocket.runnables.stage import put_one
from hocket.runnables.with_run import RunnableWithRun

__all__ = ["NamedStep", "join_keys"]


class NamedStep(RunnableWithRun[Fields, Fields], RunnableSerializable[Fields, Fields], ABC):
    """A step with named inputs and outputs.

    Called with a mapping, it returns that mapping with the outputs added, and what the step knows by itself beside it;
    with ``return_only_outputs=True`` the outputs alone. One that needs one value may be called with that value.

    Args:
        name: for handlers; by default that of the class.
        tags, metadata: of its runs.

    Raises, when it is made:
        InvalidInput: a key is an input and an output, or is there twice.

    Raises, from every verb:
        InvalidInput: an input is missing.
        InvalidHook: an output is missing.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)
    _waits_for_input: ClassVar[bool] = True

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
        """The keys that a run needs, those that the step knows by itself included."""
        raise NotImplementedError

    @property
    def output_keys(self) -> list[str]:
        """The keys that a run adds."""
        raise NotImplementedError

    @abstractmethod
    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        """Return the outputs, in a mode; push what can be streamed."""

    # -- keys

    @property
    def _known_keys(self) -> list[str]:
        """The keys whose values the step knows by itself, such as those of a memory."""
        return []

    @property
    def asked_keys(self) -> list[str]:
        """The keys that a caller has to give: the inputs without those that the step knows by itself."""
        known = self._known_keys
        return [key for key in self.input_keys if key not in known]

    def _check_keys(self) -> None:
        """Refuse keys that would hide one another. A subclass with further keys adds to it."""
        outputs = self.output_keys
        for what, keys in (("an input", self.asked_keys), ("a variable of the memory", self._known_keys)):
            if twice := [key for key in outputs if key in keys]:
                raise InvalidInput(f"{self.get_name()} has {join_keys(twice)} as {what} and as an output; rename one")
        if len({*outputs}) < len(outputs):
            raise InvalidInput(f"{self.get_name()} has an output twice: {join_keys(outputs)}")

    async def _recall(self, mode: Mode, given: Fields, config: RunnableConfig) -> Fields:
        """Return what the step knows by itself, by `_known_keys`."""
        return {}

    async def _remember(self, mode: Mode, given: Fields, outputs: Fields) -> None:
        """Keep what a run that has ended well was given, and what came of it."""

    # -- one run

    async def _invoke(
        self, mode: Mode, input: Fields, config: RunnableConfig | None, kwargs: dict[str, object]
    ) -> Fields:
        _read_options(kwargs)
        return await super()._invoke(mode, self._read_input(input), config, kwargs)

    async def _produce(
        self,
        mode: Mode,
        input: Fields,
        config: RunnableConfig | None,
        kwargs: dict[str, object],
        sink: Sink[Fields],
    ) -> None:
        _read_options(kwargs)
        await super()._produce(mode, self._read_input(input), config, kwargs, sink)

    async def _run_whole(self, mode: Mode, input: Fields, config: RunnableConfig, kwargs: dict[str, object]) -> Fields:
        return await self._work(mode, input, config, kwargs, None)

    async def _run_streamed(
        self, mode: Mode, input: Fields, config: RunnableConfig, kwargs: dict[str, object], sink: Sink[Fields]
    ) -> None:
        await self._work(mode, input, config, kwargs, sink)

    async def _work(
        self,
        mode: Mode,
        input: Fields,
        config: RunnableConfig,
        kwargs: dict[str, object],
        sink: Sink[Fields] | None,
    ) -> Fields:
        only_outputs = _read_options(kwargs)
        given = self._read_input(input)
        inputs = {**given, **await self._recall(mode, given, config)}
        if missing := [key for key in self.input_keys if key not in inputs]:
            raise InvalidHook(f"the memory of {self.get_name()} gave no {join_keys(missing)}, as it had promised")
        if sink is not None and not only_outputs:
            await put_one(sink, AddableDict(inputs))
        outlet = Outlet(sink)
        outputs = self._check_outputs(await self._execute(mode, inputs, config, outlet))
        await self._remember(mode, given, outputs)
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

    def _open_run(self, mode: Mode, config: RunnableConfig) -> ChainRun | None:
        if not is_watched(config):
            return None
        run = ChainRun(mode, self.get_name(), config, self._run_type, self.tags, self.metadata)
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
