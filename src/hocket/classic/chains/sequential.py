"""Chains one behind the other."""

from collections.abc import Awaitable, Sequence
from typing import Unpack

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket._runtime.sinks import RelaySink, Sink
from hocket.chains.outlet import Outlet
from hocket.chains.step import join_keys
from hocket.classic.chains.base import Chain, ChainOptions, KeyedChain, ListedChain
from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
from hocket.runnables.chain_run import add_run_tag
from hocket.runnables.folding import Accumulator, AddableDict

__all__ = ["SequentialChain", "SimpleSequentialChain"]


class SequentialChain(ListedChain):
    """Runs chains in order; each sees the inputs, and what all before it have put out.

    Args:
        chains: at least one. The memory of a chain is its own.
        input_variables: names of the inputs.
        output_variables: which values to put out; default: what the last chain puts out.
        return_all: put out what any chain puts out, instead.
        options: see `Chain`. A memory may give some of the values.

    Raises, when it is made:
        InvalidInput: a chain needs a value that nothing before it gives; two give the same one; an output is given by
            none; or there is no chain.

    Examples:
        >>> from hocket.classic.chains import TransformChain
        >>> double = TransformChain(["a"], ["b"], lambda values: {"b": values["a"] * 2})
        >>> add = TransformChain(["a", "b"], ["c"], lambda values: {"c": values["a"] + values["b"]})
        >>> SequentialChain([double, add], ["a"]).invoke({"a": 3})
        {'a': 3, 'c': 9}
    """

    chains: SkipValidation[list[Chain]]

    def __init__(
        self,
        chains: Sequence[Chain],
        input_variables: Sequence[str],
        output_variables: Sequence[str] | None = None,
        *,
        return_all: bool = False,
        **options: Unpack[ChainOptions],
    ) -> None:
        steps = _check_chains(chains)
        if output_variables is not None and return_all:
            raise InvalidInput("output_variables names outputs, and return_all means all of them: give one")
        if output_variables is None:
            output_variables = [key for chain in (steps if return_all else steps[-1:]) for key in chain.output_keys]
        fields: Fields = {"input_variables": [*input_variables], "output_variables": [*output_variables]}
        fields["chains"] = steps
        super().__init__(**fields, **options)

    def _check_keys(self) -> None:
        if both := [key for key in self.input_variables if key in self._known_keys]:
            raise InvalidInput(f"the memory gives {join_keys(both)}, and so would the caller: drop one of the two")
        super()._check_keys()
        known = [*self.input_variables, *self._known_keys]
        for number, chain in enumerate(self.chains, 1):
            where = f"chain {number} of the sequence, {chain.get_name()},"
            if missing := [key for key in chain.asked_keys if key not in known]:
                raise InvalidInput(f"{where} needs {join_keys(missing)}; there is {join_keys(known)} by then")
            if twice := [key for key in chain.output_keys if key in known]:
                raise InvalidInput(f"{where} puts out {join_keys(twice)}, which is there already; rename one")
            known += chain.output_keys
        if missing := [key for key in self.output_variables if key not in known]:
            raise InvalidInput(f"output_variables names {join_keys(missing)}; there is {join_keys(known)} at the end")

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        values = {**inputs}
        for number, chain in enumerate(self.chains, 1):
            step_config = add_run_tag(config, "step_{}", number)
            names = {key: key for key in chain.output_keys if key in self.output_variables}
            values |= await _run_step(mode, chain, values, step_config, outlet, names)
        return {key: values[key] for key in self.output_variables}

    @property
    def _can_step(self) -> bool:
        return all(chain._can_step for chain in self.chains)


class SimpleSequentialChain(KeyedChain):
    """Runs chains of one input and one output each, in order; each gets what the one before it has put out.

    Args:
        chains: at least one.
        strip_outputs: take white space off what goes from one chain to the next, and off the end.
        input_key, output_key: names of the first input and of the last output.
        options: see `Chain`.

    Raises, when it is made:
        InvalidInput: a chain has more inputs or outputs than one, or there is no chain.
    """

    chains: SkipValidation[list[Chain]]
    strip_outputs: bool = False
    input_key: str = "input"
    output_key: str = "output"

    def __init__(
        self,
        chains: Sequence[Chain],
        *,
        strip_outputs: bool = False,
        input_key: str = "input",
        output_key: str = "output",
        **options: Unpack[ChainOptions],
    ) -> None:
        fields: Fields = {"input_key": input_key, "output_key": output_key, "strip_outputs": strip_outputs}
        fields["chains"] = _check_chains(chains)
        super().__init__(**fields, **options)

    def _check_keys(self) -> None:
        super()._check_keys()
        for number, chain in enumerate(self.chains, 1):
            for what, keys in (("input", chain.asked_keys), ("output", chain.output_keys)):
                if len(keys) != 1:
                    raise InvalidInput(
                        f"chain {number} of the sequence, {chain.get_name()}, has not one {what} but {join_keys(keys)}; "
                        "SequentialChain takes such chains"
                    )

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        value = inputs[self.input_key]
        for number, chain in enumerate(self.chains, 1):
            step_config = add_run_tag(config, "step_{}", number)
            (asked,), (key,) = chain.asked_keys, chain.output_keys
            is_last = number == len(self.chains) and not self.strip_outputs
            names = {key: self.output_key} if is_last else {}
            value = (await _run_step(mode, chain, {asked: value}, step_config, outlet, names))[key]
            if self.strip_outputs and isinstance(value, str):
                value = value.strip()
        return {self.output_key: value}

    @property
    def _can_step(self) -> bool:
        return all(chain._can_step for chain in self.chains)


def _check_chains(chains: Sequence[Chain]) -> list[Chain]:
    steps = [*chains]
    if not steps:
        raise InvalidInput("a sequence has at least one chain")
    for step in steps:
        if not isinstance(step, Chain):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
            raise InvalidInput(f"a sequence is of chains, and {type(step).__name__} is none; a | b takes any runnable")
    return steps


_ONLY_OUTPUTS: dict[str, object] = {"return_only_outputs": True}


async def _run_step(
    mode: Mode, chain: Chain, values: Fields, config: RunnableConfig, outlet: Outlet, names: dict[str, str]
) -> Fields:
    """Return the outputs of one chain; it is streamed only if somebody reads along what it puts out."""
    if outlet.sink is None or not names:
        return await chain._invoke(mode, values, config, _ONLY_OUTPUTS)  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
    reader = _StepReader(outlet, outlet.sink, names)
    await chain._produce(mode, values, config, _ONLY_OUTPUTS, reader)  # pyright: ignore[reportPrivateUsage]  # as above
    return reader.pieces.total()


class _StepReader(RelaySink[Fields]):
    """A sink that keeps what a chain puts out, and hands on what is an output of the sequence."""

    def __init__(self, outlet: Outlet, sink: Sink[Fields], names: dict[str, str]) -> None:
        super().__init__(sink)
        self._outlet = outlet
        self._names = names
        self.pieces: Accumulator[Fields] = Accumulator()

    def put(self, item: Fields) -> Awaitable[None] | None:
        """Hand over a piece."""
        self.pieces.add(AddableDict(item))
        return self._outlet.put_as(item, self._names)
