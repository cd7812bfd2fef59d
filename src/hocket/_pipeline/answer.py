"""The two kinds of answers: a message, or texts. Here is all in which they differ, so that no stage need know the kind.

They differ in the shape of prompt, chunk and result. An `AnswerKind` has no state: it is one object for all calls of its
kind. The sum of the chunks of one call is in an `AnswerFold`.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, ClassVar, Generic, NamedTuple, Protocol, TypeVar, cast

from hocket._pipeline.request import CallRequest
from hocket.messages import UsageMetadata
from hocket.messages.base import copy_containers
from hocket.outputs import ChatGenerationChunk, Generation, GenerationChunk, LLMResult

__all__ = ["CACHE_HIT", "CHUNK_SIZES", "CLOSED", "PARTIAL", "AnswerFold", "AnswerKind", "Restored", "take_sizes"]

CACHE_HIT = "cache_hit"
"""The key, in the metadata of an answer, that flags it as one which nobody is billed for."""

CHUNK_SIZES = "chunk_sizes"
"""The key, in the info of a stored answer, of the lengths of the texts that it was streamed in."""

PARTIAL = "partial"
"""The key, in the metadata of an unfinished answer of a run that has ended, that flags it, and its usage, as a part."""

CLOSED = "closed"
"""The key beside `PARTIAL` of an answer that was left by its reader: it has not failed."""

Result = TypeVar("Result")
Chunk = TypeVar("Chunk")


class AnswerFold(Protocol):
    """What the chunks of one call have made so far."""

    sizes: list[int]
    """The lengths of their texts."""

    def add(self, chunk: Any) -> Any:
        """Check a chunk, stamp it, add it, and return what the consumer gets of it."""
        ...

    def partial_message(self) -> Any:
        """Return the answer so far as the caller of the verb would get it: a message or a text."""
        ...

    def partial_response(self) -> LLMResult:
        """Return the answer so far, flagged as a part (`PARTIAL`), for handlers; never the live objects."""
        ...

    def hit_chunk(self) -> Any:
        """Return a chunk that says that an equal call pays for the answer (`CACHE_HIT`), if none has and one can."""
        ...

    def result(self) -> Any:
        """Return the result that the chunks make.

        Raises:
            EmptyResponse: there were none.
        """
        ...


class Restored(NamedTuple):
    """A result made of stored candidates, and the lengths of the texts of the chunks that it was streamed in."""

    result: Any
    sizes: Sequence[int]


class AnswerKind(ABC, Generic[Result, Chunk]):
    """What is particular to one kind of answer."""

    start_event: ClassVar[str]
    """The name of the event that starts a run."""

    takes_list: ClassVar[bool]
    """Whether ``_generate`` and ``_agenerate`` take a list of prompts; else they take one."""

    # -- asking the hook

    @abstractmethod
    def check(self, request: CallRequest, result: object, hook: str) -> Result:
        """Return what a hook returned, if it is what its contract says.

        Raises:
            InvalidHook: it is not.
            EmptyResponse: it holds no candidate.
        """

    # -- chunks

    @abstractmethod
    def new_fold(self, request: CallRequest, is_shared: bool) -> AnswerFold:
        """Return an empty fold; ``is_shared`` has it leave the hook's chunks as they are."""

    @abstractmethod
    def token_event_args(self, item: Any) -> tuple[str, ChatGenerationChunk | GenerationChunk]:
        """Return what handlers get of what a consumer gets: its text, and a chunk of their own."""

    @abstractmethod
    def copy_shared_chunk(self, chunk: Chunk, has_bill: Callable[[], bool]) -> Chunk:
        """Return a copy of a chunk for one of several equal calls, without usage where ``has_bill()`` is False."""

    @abstractmethod
    def make_chunks(self, result: Result, sizes: Sequence[int]) -> list[Chunk]:
        """Return chunks that fold to ``result``, with texts of these lengths; else in one piece."""

    # -- results

    @abstractmethod
    def finish(self, request: CallRequest, result: Result) -> Any:
        """Return what the verb answers with: the hook's result, ids and metadata put in. The hook's objects stay."""

    @abstractmethod
    def make_responses(self, result: Result, finished: Any) -> list[LLMResult]:
        """Return a result for the handlers of each run; never the live objects."""

    @abstractmethod
    def failure_response(self, error: BaseException, fold: AnswerFold | None) -> LLMResult:
        """Return what had come when ``error`` struck, for handlers; never the live objects."""

    @abstractmethod
    def without_usage(self, response: LLMResult) -> LLMResult:
        """Return a copy of an unfinished answer, flagged as something that another call pays for (`CACHE_HIT`)."""

    @abstractmethod
    def read_usage(self, result: Result | LLMResult) -> UsageMetadata | None:
        """Return the tokens that a result, or what had come of one (`AnswerFold.partial_response`), says it used."""

    # -- caching

    @abstractmethod
    def candidates(self, result: Result, sizes: Sequence[int]) -> list[Generation]:
        """Return what a cache stores of a result."""

    @abstractmethod
    def restore(self, candidates: Sequence[Generation], *, cached: bool) -> Restored:
        """Return the result that copies of ``candidates`` make; ``cached`` flags them, so that nobody bills them."""

    @abstractmethod
    def with_usage(self, result: Result, sizes: Sequence[int]) -> Result:
        """Return a copy of ``result`` for the call that pays for it; the cache, and equal calls, have theirs."""


def take_sizes(candidate: Generation) -> tuple[dict[str, Any], Sequence[int]]:
    """Return a copy of a stored candidate's info without the lengths of its chunks, and those."""
    info: dict[str, Any] = copy_containers(candidate.generation_info or {})
    sizes: Any = info.pop(CHUNK_SIZES, None)
    return info, cast("list[int]", sizes) if isinstance(sizes, list) else ()
