"""`BaseTracer`: a handler that is told of runs as objects, from their starts to their ends.

What an event does to a run is written once, as a generator of the hooks that are to be called; the sync tracer calls
them, and the async one awaits them.
"""

# `_call` and `_await` make the methods of the two tracers, and use what is their own:
# pyright: reportPrivateUsage=false

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast
from uuid import UUID

from hocket.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from hocket.messages import get_buffer_string
from hocket.outputs import LLMResult
from hocket.runnables.run_record import Facts, Run

__all__ = ["AsyncBaseTracer", "BaseTracer"]

_Event: TypeAlias = Any
"""A method that is told of an event: what it takes differs with the event, and handlers may leave some of it out."""

_Hook = tuple[str, tuple[object, ...]]
"""A hook by its name, and what it takes."""


class _RunKeeper:
    """The runs that have started and not ended, by their ids as text."""

    run_map: dict[str, Run]

    def __init__(self) -> None:
        super().__init__()
        self.run_map = {}

    def _open(self, kind: str, serialized: Facts | None, inputs: Facts, run_id: UUID, details: Facts) -> Run:
        known = {key: details.pop(key) for key in ("parent_run_id", "tags", "metadata") if details.get(key)}
        name: str = details.pop("name", None) or (serialized or {}).get("name") or kind
        run_type = details.pop("run_type", None) or kind
        run = Run(run_id, name, run_type, inputs, extra=details, serialized=serialized, **known)
        run.events.append({"name": "start", "time": run.start_time})
        parent = self.run_map.get(str(run.parent_run_id))
        if parent is not None:
            parent.child_runs.append(run)
        self.run_map[str(run_id)] = run
        return run


def _start(kind: str, name: str) -> Callable[..., Iterator[_Hook]]:
    """Return what happens when a run of a kind starts; ``name`` is what its input is called."""

    def happen(
        self: _RunKeeper, serialized: Facts | None, input: Any, *, run_id: UUID, **details: Any
    ) -> Iterator[_Hook]:
        inputs: Facts
        if kind == "chain":
            inputs = cast(Facts, input) if isinstance(input, dict) else {name: input}
        elif kind == "chat_model":
            inputs = {name: [get_buffer_string(messages) for messages in input]}
        else:
            inputs = {name: input}
        details.pop("inputs", None)
        run = self._open("llm" if kind == "chat_model" else kind, serialized, inputs, run_id, details)
        yield "_on_run_create", (run,)
        yield f"_on_{kind}_start", (run,)

    return happen


def _end(kind: str, name: str) -> Callable[..., Iterator[_Hook]]:
    """Return what happens when a run of a kind ends; ``name`` is what its output is called."""

    def happen(
        self: _RunKeeper, output: object, *, run_id: UUID, inputs: object = None, **details: object
    ) -> Iterator[_Hook]:
        run = self.run_map.pop(str(run_id), None)
        if run is None:
            return
        if isinstance(output, LLMResult):
            run.outputs = output.model_dump()
        else:
            run.outputs = output if kind == "chain" and isinstance(output, dict) else {name: output}
        if inputs is not None:  # of a stream: known at its end alone
            run.inputs = inputs if isinstance(inputs, dict) else {"input": inputs}
        yield from _finish(run, kind, "end")

    return happen


def _fail(kind: str) -> Callable[..., Iterator[_Hook]]:
    """Return what happens when a run of a kind fails."""

    def happen(self: _RunKeeper, error: BaseException, *, run_id: UUID, **details: object) -> Iterator[_Hook]:
        run = self.run_map.pop(str(run_id), None)
        if run is not None:
            run.error = error
            yield from _finish(run, kind, "error")

    return happen


def _finish(run: Run, kind: str, what: str) -> Iterator[_Hook]:
    run.end_time = datetime.now(UTC)
    run.events.append({"name": what, "time": run.end_time})
    if run.parent_run_id is None:
        yield "_persist_run", (run,)
    yield "_on_run_update", (run,)
    yield f"_on_{kind}_{what}", (run,)


def _token(self: _RunKeeper, token: str, *, run_id: UUID, chunk: object = None, **details: object) -> Iterator[_Hook]:
    run = self.run_map.get(str(run_id))
    if run is not None:
        run.events.append({"name": "new_token", "time": datetime.now(UTC), "kwargs": {"token": token, "chunk": chunk}})
        yield "_on_llm_new_token", (run, token, chunk)


def _retry(self: _RunKeeper, retry_state: object, *, run_id: UUID, **details: object) -> Iterator[_Hook]:
    run = self.run_map.get(str(run_id))
    if run is not None:
        run.events.append({"name": "retry", "time": datetime.now(UTC), "kwargs": details})
    return iter(())


def _call(happen: Callable[..., Iterator[_Hook]]) -> Any:
    def tell(self: "BaseTracer", *args: object, **details: object) -> None:
        for hook, facts in happen(self, *args, **details):
            getattr(self, hook)(*facts)

    return tell


def _await(happen: Callable[..., Iterator[_Hook]]) -> Any:
    async def tell(self: "AsyncBaseTracer", *args: object, **details: object) -> None:
        for hook, facts in happen(self, *args, **details):
            await getattr(self, hook)(*facts)

    return tell


class BaseTracer(_RunKeeper, BaseCallbackHandler, ABC):
    """A handler that is told of runs as objects: `Run`, with the runs inside as ``child_runs``.

    A subclass defines `_persist_run`. It may define hooks for single events, too: ``_on_run_create`` and
    ``_on_run_update``, and ``_on_<kind>_start``, ``_end`` and ``_error`` of ``llm``, ``chain``, ``tool`` and ``retriever``,
    ``_on_chat_model_start`` and ``_on_llm_new_token(run, token, chunk)``. Under an event loop they run in a worker thread,
    unless ``run_inline`` is set.

    The run of a chat model is of type ``llm``, and its inputs are texts (``prompts``). Inputs and outputs are dicts; what
    is none stands under ``input``, ``output``, ``query`` or ``documents``.

    Attributes:
        run_map: the runs that have not ended, by their ids as text.
    """

    @abstractmethod
    def _persist_run(self, run: Run) -> None:
        """Take a run that has ended and is inside no other, with all inside it."""

    def _on_run_create(self, run: Run) -> None: ...
    def _on_run_update(self, run: Run) -> None: ...
    def _on_chat_model_start(self, run: Run) -> None: ...
    def _on_llm_start(self, run: Run) -> None: ...
    def _on_llm_new_token(self, run: Run, token: str, chunk: object) -> None: ...
    def _on_llm_end(self, run: Run) -> None: ...
    def _on_llm_error(self, run: Run) -> None: ...
    def _on_chain_start(self, run: Run) -> None: ...
    def _on_chain_end(self, run: Run) -> None: ...
    def _on_chain_error(self, run: Run) -> None: ...
    def _on_tool_start(self, run: Run) -> None: ...
    def _on_tool_end(self, run: Run) -> None: ...
    def _on_tool_error(self, run: Run) -> None: ...
    def _on_retriever_start(self, run: Run) -> None: ...
    def _on_retriever_end(self, run: Run) -> None: ...
    def _on_retriever_error(self, run: Run) -> None: ...

    on_llm_start: _Event = _call(_start("llm", "prompts"))
    on_chat_model_start: _Event = _call(_start("chat_model", "prompts"))
    on_llm_new_token: _Event = _call(_token)
    on_retry: _Event = _call(_retry)
    on_llm_end: _Event = _call(_end("llm", "generations"))
    on_llm_error: _Event = _call(_fail("llm"))
    on_chain_start: _Event = _call(_start("chain", "input"))
    on_chain_end: _Event = _call(_end("chain", "output"))
    on_chain_error: _Event = _call(_fail("chain"))
    on_tool_start: _Event = _call(_start("tool", "input"))
    on_tool_end: _Event = _call(_end("tool", "output"))
    on_tool_error: _Event = _call(_fail("tool"))
    on_retriever_start: _Event = _call(_start("retriever", "query"))
    on_retriever_end: _Event = _call(_end("retriever", "documents"))
    on_retriever_error: _Event = _call(_fail("retriever"))


class AsyncBaseTracer(_RunKeeper, AsyncCallbackHandler, ABC):
    """`BaseTracer`, with hooks that are coroutine functions and are awaited."""

    @abstractmethod
    async def _persist_run(self, run: Run) -> None:
        """Take a run that has ended and is inside no other, with all inside it."""

    async def _on_run_create(self, run: Run) -> None: ...
    async def _on_run_update(self, run: Run) -> None: ...
    async def _on_chat_model_start(self, run: Run) -> None: ...
    async def _on_llm_start(self, run: Run) -> None: ...
    async def _on_llm_new_token(self, run: Run, token: str, chunk: object) -> None: ...
    async def _on_llm_end(self, run: Run) -> None: ...
    async def _on_llm_error(self, run: Run) -> None: ...
    async def _on_chain_start(self, run: Run) -> None: ...
    async def _on_chain_end(self, run: Run) -> None: ...
    async def _on_chain_error(self, run: Run) -> None: ...
    async def _on_tool_start(self, run: Run) -> None: ...
    async def _on_tool_end(self, run: Run) -> None: ...
    async def _on_tool_error(self, run: Run) -> None: ...
    async def _on_retriever_start(self, run: Run) -> None: ...
    async def _on_retriever_end(self, run: Run) -> None: ...
    async def _on_retriever_error(self, run: Run) -> None: ...

    on_llm_start: _Event = _await(_start("llm", "prompts"))
    on_chat_model_start: _Event = _await(_start("chat_model", "prompts"))
    on_llm_new_token: _Event = _await(_token)
    on_retry: _Event = _await(_retry)
    on_llm_end: _Event = _await(_end("llm", "generations"))
    on_llm_error: _Event = _await(_fail("llm"))
    on_chain_start: _Event = _await(_start("chain", "input"))
    on_chain_end: _Event = _await(_end("chain", "output"))
    on_chain_error: _Event = _await(_fail("chain"))
    on_tool_start: _Event = _await(_start("tool", "input"))
    on_tool_end: _Event = _await(_end("tool", "output"))
    on_tool_error: _Event = _await(_fail("tool"))
    on_retriever_start: _Event = _await(_start("retriever", "query"))
    on_retriever_end: _Event = _await(_end("retriever", "documents"))
    on_retriever_error: _Event = _await(_fail("retriever"))
