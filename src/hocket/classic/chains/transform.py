"""A function as a chain."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Unpack

from pydantic import SkipValidation

from hocket._runtime.mode import Mode
from hocket.chains.outlet import Outlet
from hocket.classic.chains.base import ChainOptions, ListedChain
from hocket.errors.hints import explain_arguments
from hocket.messages.content import Fields
from hocket.runnables import RunnableConfig
from hocket.runnables.function import Function

__all__ = ["TransformChain"]


class TransformChain(ListedChain):
    """Calls a function with the mapping of its inputs; the mapping that it returns has the outputs.

    Args:
        input_variables, output_variables: names of the inputs and outputs.
        transform_cb: the function. A sync one runs in a worker thread under `ainvoke`.
        atransform_cb: its async form, for async verbs.
        options: see `Chain`.

    Raises, when it is made:
        InvalidHook: ``transform_cb`` is no function.

    Examples:
        >>> chain = TransformChain(["text"], ["size"], lambda inputs: {"size": len(inputs["text"])})
        >>> chain.invoke({"text": "four"})
        {'text': 'four', 'size': 4}
    """

    transform_cb: SkipValidation[Callable[..., object]]
    atransform_cb: SkipValidation[Callable[..., Awaitable[object]] | None] = None

    @explain_arguments(transform="transform_cb", atransform="atransform_cb")
    def __init__(
        self,
        input_variables: Sequence[str],
        output_variables: Sequence[str],
        transform_cb: Callable[[Fields], object],
        *,
        atransform_cb: Callable[[Fields], Awaitable[object]] | None = None,
        **options: Unpack[ChainOptions],
    ) -> None:
        names: Fields = {"input_variables": [*input_variables], "output_variables": [*output_variables]}
        fields: Fields = {"transform_cb": transform_cb, "atransform_cb": atransform_cb}
        super().__init__(**names, **fields, **options)
        Function.of(transform_cb, atransform_cb)

    async def _execute(self, mode: Mode, inputs: Fields, config: RunnableConfig, outlet: Outlet) -> Fields:
        function = Function.of(self.transform_cb, self.atransform_cb)
        return self._check_outputs(await function.call(mode, {**inputs}, config, {}))
