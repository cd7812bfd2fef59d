"""Errors on this side of the connection, and hocket's warnings."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from decimal import Decimal

__all__ = [
    "BlockingCallWarning",
    "BudgetError",
    "BudgetExceeded",
    "BudgetStoreFailed",
    "CacheMissing",
    "CassetteMiss",
    "DocumentError",
    "DroppedStateWarning",
    "EmptyResponse",
    "FakeListLLMError",
    "HocketError",
    "HocketWarning",
    "InvalidHistory",
    "InvalidHook",
    "InvalidInput",
    "LimitReached",
    "LoadError",
    "LocalModelError",
    "MissingDependency",
    "ModelRequestsBlocked",
    "OutputParserException",
    "RetryTool",
    "ScriptExhausted",
    "StaleCassetteWarning",
    "StopRun",
    "SummaryTooLong",
    "SyncInLoop",
    "ToolException",
    "ToolServerUnavailable",
    "ToolTimeout",
    "UnknownModel",
    "UnknownOption",
    "Unpriceable",
    "UnrecordedCall",
    "UnsupportedOptionWarning",
]


class HocketError(Exception):
    """Base class of every exception that hocket raises on its own account.

    A traceback ends with a note that names the page of the documentation, where there is one that helps.

    Attributes:
        batch_index: where it was raised at an input of a batch, and ended that: the input's index.
        page: of ``docs/``, and the place on it, that says more; "": none.
    """

    batch_index: int | None = None
    page: str = ""

    def __init__(self, *args: object, page: str = "") -> None:
        super().__init__(*args)
        if page:
            self.page = page
        if self.page:  # a note, and no part of the text: log lines and replies of a service stay as short as they are
            self.add_note(f"hocket's docs/{self.page} says more.")


class InvalidInput(HocketError, ValueError):
    """An argument that no model could use. Raised before a run starts: no handler gets it and nothing is sent."""


class UnknownOption(InvalidInput):
    """An option of a call that the model has no name for.

    Attributes:
        options: the names: without them the same call may be made.
    """

    page = "options.md"

    def __init__(self, message: str = "", options: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.options = options


class InvalidHook(HocketError, TypeError):
    """A model class that defines no hook, or a hook that returned something other than its contract says."""

    page = "writing-a-provider.md"


class EmptyResponse(HocketError, ValueError):
    """A model that ended without a generation, or a stream that ended without a chunk."""


class CacheMissing(HocketError, ValueError):
    """A model with ``cache=True`` was called while no global cache is set."""

    page = "caches.md"


class LoadError(HocketError, ValueError):
    """Serialised data names a type that is not registered or not allowed, or is damaged."""

    page = "security.md#saved-objects"


class OutputParserException(HocketError, ValueError):
    """A parser cannot read a model's answer, ``llm_output``; ``observation`` is the error message for the model.

    An agent shows both to the model if ``send_to_llm``: then both must be given. ``raw`` is the whole message, where
    structured output was read from one.
    """

    page = "structured-output.md#when-the-answer-does-not-fit"

    def __init__(
        self, error: object, observation: str | None = None, llm_output: str | None = None, send_to_llm: bool = False
    ) -> None:
        if send_to_llm and (observation is None or llm_output is None):
            raise InvalidInput("send_to_llm=True needs observation=... and llm_output=..., which the model is to see")
        super().__init__(error)
        self.observation: str | None = observation
        self.llm_output: str | None = llm_output
        self.send_to_llm: bool = send_to_llm
        self.raw: Any = None


class MissingDependency(HocketError, ImportError):
    """An optional package, or the data it ships, is not installed; the message names the command that installs it."""


class UnknownModel(HocketError, ValueError):
    """A model name that no provider answers to; the message lists the ones that exist."""

    page = "providers.md"


class LocalModelError(HocketError, RuntimeError):
    """The embedded model could not be loaded, or refused a request."""

    page = "providers.md#the-embedded-model"


class SyncInLoop(HocketError, RuntimeError):
    """A sync verb was called on hocket's own event loop, where waiting for it would never end. Await its async twin."""

    page = "errors.md#before-anything-is-sent"


class InvalidHistory(HocketError, ValueError):
    """A conversation that providers refuse; the message names each place and what is wrong there.

    Attributes:
        problems: what is wrong, in the order of the messages; see `hocket.messages.validate_history`.
    """

    page = "conversations.md#check-and-repair"

    def __init__(self, message: str = "", problems: Sequence[Any] = ()) -> None:
        super().__init__(message)
        self.problems: list[Any] = list(problems)


class SummaryTooLong(HocketError, RuntimeError):
    """A model was to make a conversation shorter, and its text does not fit, even after it was asked for less."""

    page = "conversations.md#memory"


class DocumentError(HocketError, ValueError):
    """A file, or a place in it, cannot be read as a document; the message names both, and the way out.

    Attributes:
        path: of the file, as it was given.
        place: in it: "page 3", "line 12", "byte 4096"; None: all of it.
        problem: what is wrong there, and what to do.
        is_empty: whether it could be read, and there is nothing in it.
    """

    page = "retrieval.md#loaders"

    def __init__(
        self, path: str, problem: str = "it cannot be read", place: str | None = None, *, is_empty: bool = False
    ) -> None:
        super().__init__(path, problem, place)
        self.is_empty: bool = is_empty
        self.path: str = path
        self.problem: str = problem
        self.place: str | None = place

    def __str__(self) -> str:
        return f"{self.path}{f', {self.place}' if self.place else ''}: {self.problem}"


class BudgetError(HocketError, RuntimeError):
    """A budget does not let a request be made. Nothing was sent, and another try would not help."""

    page = "fleets.md"


class BudgetExceeded(BudgetError):
    """A request could bring a budget over its limit. All amounts are of one kind, US dollars or tokens.

    Attributes:
        limit: what may be spent.
        spent: what is, what was charged for processes that died included.
        reserved: what calls in flight may come to.
        wanted: what this request may come to.
        budget: the name of the budget.
        resets_at: when it begins again, in seconds since 1970; None: never.
    """

    def __init__(
        self,
        message: str = "",
        *,
        limit: "Decimal | int" = 0,
        spent: "Decimal | int" = 0,
        reserved: "Decimal | int" = 0,
        wanted: "Decimal | int" = 0,
        budget: str = "",
        resets_at: float | None = None,
    ) -> None:
        super().__init__(message)
        self.limit: Decimal | int = limit
        self.spent: Decimal | int = spent
        self.reserved: Decimal | int = reserved
        self.wanted: Decimal | int = wanted
        self.budget: str = budget
        self.resets_at: float | None = resets_at


class Unpriceable(BudgetError):
    """The highest cost of a request is not known: its model's price, or the length of its answer.

    Attributes:
        model: the model's name.
    """

    def __init__(self, message: str = "", *, model: str | None = None) -> None:
        super().__init__(message)
        self.model: str | None = model


class BudgetStoreFailed(BudgetError):
    """The store of a budget cannot say whether a request is within it. See the cause, a `StoreError`."""


class ToolException(HocketError):
    """A tool failed, and its text may go to the model: see `BaseTool.handle_tool_error` (LangChain's name)."""


class RetryTool(ToolException):
    """Raised by a tool: the model gets the text and may call the tool again, with any ``handle_tool_error``."""


class ToolTimeout(ToolException, TimeoutError):
    """A tool took longer than its caller allowed."""

    page = "tools.md#let-a-model-call-them"


class ToolServerUnavailable(ToolException):
    """A server of tools cannot be started or reached, did not answer in time, or has gone."""

    page = "mcp.md#limits-cancellation-closing"


class StopRun(HocketError):
    """Raised by a tool to end the run that its call belongs to, instead of handing the model a result.

    Args:
        message: why; also what the conversation shows as the result of the call.
        value: any value for the caller of the run.

    Attributes:
        results: the messages that answer all calls of the turn, this one included, so that the conversation stays whole;
            filled in by `hocket.tools.arun_tool_calls`.
    """

    def __init__(self, message: str = "", value: Any = None) -> None:
        super().__init__(message)
        self.value = value
        self.results: list[Any] = []


class LimitReached(HocketError, RuntimeError):
    """A run of an agent has reached a limit, and its agent was made with ``at_limit="raise"``.

    Attributes:
        limit: which one; see `hocket.agents.AgentLimits`.
        result: of the run so far.
    """

    page = "agents.md#limits"

    def __init__(self, message: str = "", limit: str = "", result: Any = None) -> None:
        super().__init__(message)
        self.limit = limit
        self.result = result


class ScriptExhausted(HocketError, LookupError):
    """A scripted model, or server, was asked once more than its script says."""

    page = "testing.md"


class UnrecordedCall(BaseException):
    """A tool out of a recording was called as it was not recorded. See `hocket.testing.recorded`.

    No ``Exception``: an agent would tell that to its model, which goes on by its script, and the test would pass.
    """


class CassetteMiss(BaseException):
    """A request was made that its cassette has no recording of, or none that is left. See `hocket.testing.cassette`.

    No ``Exception``: it is neither tried again nor a fallback's reason, and no code under test takes it for a failure of
    the model that it is to survive.
    """


class ModelRequestsBlocked(BaseException):
    """A test would have asked a model beyond this machine. See `hocket.testing.no_network`.

    No ``Exception``, for the reasons of a `CassetteMiss`.
    """


class FakeListLLMError(HocketError):
    """The failure that a fake model was set to raise, at ``error_on_chunk_number`` (LangChain's name)."""


class HocketWarning(UserWarning):
    """Base class of hocket's warnings."""


class BlockingCallWarning(HocketWarning):
    """A sync verb was called while an event loop runs in this thread: the loop is blocked until it returns."""


class DroppedStateWarning(HocketWarning):
    """Pickling left something behind that cannot travel: a cache, a rate limiter, callbacks."""


class StaleCassetteWarning(HocketWarning):
    """A cassette is older than ``--hocket-max-age`` allows: its provider may answer otherwise by now."""


class UnsupportedOptionWarning(HocketWarning):
    """An option that the server or the model cannot take was left out of a request, as ``unsupported="warn"`` asks."""
