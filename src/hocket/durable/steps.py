"""What the code of a durable run may call: a step that is made once, a sleep, a wait for a signal."""

import builtins
import functools
import inspect
import json
import math
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from contextvars import ContextVar
from typing import Any, TypeVar, TypeVarTuple, cast, overload

import anyio

from hocket import errors
from hocket._runtime import clock
from hocket._runtime.journal import current_journal
from hocket._runtime.mode import ASYNC
from hocket.durable.execution import Execution, JournalPlace, current_execution
from hocket.durable.standing import Signal, Waiting
from hocket.durable.values import ANY_VALUE, Codec, check_line, digest, load_json, make_codecs
from hocket.errors import InvalidInput, OutcomeUnknown, StepFailed

__all__ = ["sleep", "step", "wait_for"]

_NEVER_RAISED = (StopIteration, StopAsyncIteration)  # out of a coroutine

T = TypeVar("T")
Args = TypeVarTuple("Args")


@overload
async def step(
    call: Callable[[*Args], Awaitable[T]], /, *args: *Args, key: str | None = None, idempotent: bool = False
) -> T: ...
@overload
async def step(call: Callable[[*Args], T], /, *args: *Args, key: str | None = None, idempotent: bool = False) -> T: ...
async def step(call: Callable[..., Any], /, *args: object, key: str | None = None, idempotent: bool = False) -> Any:
    """Call a function once in the life of the run, and return what it returned then; outside of a run, just call it.

    Its result is recorded: JSON's values, Python's plain ones, messages and documents, and what the function's annotation
    says, as pydantic writes it. An error that it raises is recorded, too, and raised again each time: as itself, if its
    class is a builtin or one of `hocket.errors`, else as `StepFailed`.

    Args:
        call: a sync function, which a thread calls, or an async one.
        args: its arguments.
        key: names the step among those of the run; default: the function's name and its arguments.
        idempotent: whether to call it again where a process died and nobody saw its end.

    Raises:
        OutcomeUnknown: an earlier process began it and died: it may have been done, or not.
        StepFailed: it raised an error of a class of its own.
        InvalidInput: what it returned cannot be stored; it is not called again.
        Exception: what it raised.
    """
    execution = current_execution.get()
    if execution is None:
        return await _call(call, args)
    function, given = _unwrap(call, args)
    place = execution.claim(f"step:{key or _name_call(function, given)}")
    codec = make_codecs(function)[1]
    try:
        cause = await _make_once(execution, place, call, args, codec, idempotent) if place.text is None else None
        return _read_outcome(codec, cast(str, place.text), cause)
    finally:
        place.release()


def _unwrap(call: Callable[..., Any], args: Sequence[object]) -> tuple[Callable[..., Any], Sequence[object]]:
    """Return the function that is called in the end, with all that it gets."""
    while isinstance(call, functools.partial):
        args = [*call.args, *args, *([call.keywords] if call.keywords else [])]
        call = call.func
    return call, args


def _name_call(function: Callable[..., Any], args: Sequence[object]) -> str:
    name: str = getattr(function, "__qualname__", type(function).__name__)
    if name.endswith("<lambda>"):
        raise InvalidInput(
            "a lambda has no name by which the step is known again: give it a key=, or define a function"
        )
    return f"{name}:{digest([*args], f'the arguments of {name}')}"


async def _make_once(
    execution: Execution,
    place: JournalPlace,
    call: Callable[..., Any],
    args: tuple[object, ...],
    codec: Codec[Any],
    idempotent: bool,
) -> Exception | None:
    """Call the function, and record what came of it; return what it raised."""
    if place.is_unknown and not idempotent and execution.standing.rerun != "always":
        raise OutcomeUnknown(
            f"the step {place.name!r} was begun in a process that died, and nobody saw its end: find out whether it was "
            "done; aresume(rerun='always') makes it again",
            place.name,
        )
    if not idempotent and not place.is_unknown:
        await place.begin()
    cause: Exception | None = None
    try:
        text = codec.dump(await _call_outside(call, args), f"what {place.name} returned")
    except Exception as error:
        cause = error
        text = _write_error(error)
    await place.record(text)
    return cause


async def _call_outside(call: Callable[..., Any], args: tuple[object, ...]) -> Any:
    """Call a function whose result is recorded, so that nothing inside it need be."""
    tokens = [(variable, variable.set(None)) for variable in (current_execution, current_journal)]
    try:
        return await _call(call, args)
    finally:
        for variable, token in tokens:
            cast("ContextVar[Any]", variable).reset(cast(Any, token))


async def _call(call: Callable[..., Any], args: tuple[object, ...]) -> Any:
    made: Any = call(*args) if inspect.iscoroutinefunction(call) else await ASYNC.call_sync(call, *args)
    return await made if inspect.isawaitable(made) else made


def _write_error(error: Exception) -> str:
    try:
        facts = ANY_VALUE.dump([[*error.args], vars(error)], "an error")
    except InvalidInput:  # its text has to do
        facts = ANY_VALUE.dump([[str(error)], {}], "an error")
    return json.dumps({"error": [type(error).__name__, type(error).__module__, str(error), facts]})


def _read_outcome(codec: Codec[Any], text: str, cause: Exception | None) -> Any:
    match load_json(text):
        case {"error": [str(name), str(module), str(said), str(facts)]}:
            known = getattr(builtins if module == "builtins" else errors, name, None)
            if module != "builtins" and not module.startswith("hocket.errors"):
                known = None
            raise _make_error(known, name, said, facts) from cause
        case _:
            return codec.load(text)


def _make_error(known: object, name: str, said: str, facts: str) -> Exception:
    """Return an error of a class that every process knows, as it was raised."""
    if isinstance(known, type) and issubclass(known, Exception) and not issubclass(known, _NEVER_RAISED):
        args, attributes = ANY_VALUE.load(facts)
        with suppress(TypeError):  # it wants something else
            error = known(*args)
            vars(error).update(attributes)
            return error if str(error) == said else known(said)
    return StepFailed(f"{name}: {said}", name)


def _check_seconds(what: str, seconds: object) -> None:
    if not isinstance(seconds, int | float) or isinstance(seconds, bool) or not 0 <= seconds < math.inf:
        raise InvalidInput(f"{what} is {seconds!r}; it is a number of at least 0")


async def sleep(seconds: float) -> None:
    """Sleep from the first time on: a run that is executed again sleeps for the rest. Outside of a run: `anyio.sleep`.

    Args:
        seconds: any number of them; days are no problem, and cost nothing meanwhile.

    Raises:
        InvalidInput: it is no number of at least 0.
    """
    _check_seconds("seconds", seconds)
    execution = current_execution.get()
    if execution is None:
        await anyio.sleep(seconds)
        return
    place = execution.claim(f"sleep:{seconds!r}")
    if place.text is None:
        await place.record(repr(clock.current().time() + seconds))
    await execution.sleep_until(float(load_json(cast(str, place.text))))


async def wait_for(name: str, *, timeout: float | None = None) -> Any:  # noqa: ASYNC109  # it is kept
    """Return the value of the next signal of a name, which any process may send; None when the time has passed.

    A signal that is sent before it is waited for is kept, and each is taken once, in their order. The time begins with the
    first execution.

    Args:
        name: of the signal.
        timeout: seconds to wait at most; None: as long as it takes.

    Raises:
        InvalidInput: this is no durable run, or the name or the time will not do.
    """
    execution = current_execution.get()
    if execution is None:
        raise InvalidInput(
            "wait_for() waits inside a durable run, and this is none: Durable.ainvoke() or astart() makes one"
        )
    check_line("name", name)
    if timeout is not None:
        _check_seconds("timeout", timeout)
    place = execution.claim(f"signal:{name}")
    try:
        if place.text is None:
            await place.record(await _wait(execution, place, name, timeout))
        said = load_json(cast(str, place.text))
        if said["signal"] is not None:
            execution.keep_signal(said["signal"])
            await execution.drop_signal(said["signal"])
        return ANY_VALUE.load(said["value"])
    finally:
        place.release()


async def _wait(execution: Execution, place: JournalPlace, name: str, seconds: float | None) -> str:
    until = None
    if seconds is not None:
        began = f"waits {place.name}"
        if execution.find(began) is None:
            await execution.record(began, repr(clock.current().time() + seconds))
        until = float(cast(str, execution.find(began)))
    found: list[Signal] = []

    def take(signal: Signal) -> bool:
        if found or signal.call is not None or signal.name != name:
            return False
        found.append(signal)
        return True

    await execution.find_signals([Waiting(signal=name)], take, until)
    if not found:
        return json.dumps({"signal": None, "value": ANY_VALUE.dump(None, "")})
    return json.dumps({"signal": found[0].id, "value": found[0].value})
