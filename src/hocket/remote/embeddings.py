"""An embedding model behind HTTP: batches, once for all providers, over two pure functions that each has of its own.

A provider says how a request is written and how a reply is read. How many texts go into one request, how many requests
are made at once, and that vector *i* is that of text *i*, is decided here.
"""

import functools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, PrivateAttr

from hocket._metering.attempt import LedgerLike
from hocket._pipeline.accounts import BudgetLike
from hocket._runtime.portal import run_in_portal
from hocket.embeddings.base import EmbeddingRun, Embeddings
from hocket.errors import InvalidInput, InvalidReply
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.model_state import keep_shared, pickle_state
from hocket.load.field_docs import inherit_field_docs
from hocket.load.late_signature import keep_readable, put_off_signature
from hocket.messages import add_usage
from hocket.rate_limiters import BaseRateLimiter
from hocket.remote.embedding_meter import EmbeddingMeter, EmbeddingResult, Experience
from hocket.remote.hooks import check_returned
from hocket.remote.retrying_service import RetryingService
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch

__all__ = ["EmbeddingResult", "RemoteEmbeddings"]


class RemoteEmbeddings(RetryingService, Embeddings, ABC):
    """An embedding model behind HTTP. A provider defines `_request` and `_decode`, and inherits the rest.

    Args:
        chunk_size: texts in one request, at most.
        max_concurrency: requests of one call that are made at once, at most.
        rate_limiter: asked before each attempt of a request.
        budget: what may be spent, a `hocket.budgets.Budget` or several: each attempt reserves its most before it is made.
        ledger: books each attempt (`hocket.ledger`). None: the process's, if there is one; True: that, and an error if
            there is none; False: none.
        metadata: for the runs, and for what is booked: whose the budget is, if it is one for each tenant.

    `RetryingService` and `RemoteService` tell the other arguments.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    chunk_size: int = Field(default=1000, ge=1)
    max_concurrency: int = Field(default=8, ge=1)
    rate_limiter: BaseRateLimiter | None = Field(default=None, exclude=True, repr=False)
    budget: BudgetLike | None = Field(default=None, exclude=True, repr=False)
    ledger: LedgerLike | bool | None = Field(default=None, exclude=True, repr=False)
    metadata: dict[str, object] | None = Field(default=None, exclude=True, repr=False)

    _experience: Experience = PrivateAttr(default_factory=Experience)

    _max_tokens: ClassVar[int | None] = None
    """Tokens that one request may have in all; None: no limit."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        put_off_signature(cls)
        inherit_field_docs(cls)

    @classmethod
    def __pydantic_on_complete__(cls) -> None:
        super().__pydantic_on_complete__()
        keep_readable(cls)

    @abstractmethod
    def _request(self, texts: Sequence[str]) -> HTTPRequest:
        """Return the request, but for its key."""

    @abstractmethod
    def _decode(self, reply: HTTPReply) -> EmbeddingResult:
        """Return what a reply says, its vectors in the order of the texts.

        Raises:
            LLMError: the reply says that the request has failed. Whatever else is raised becomes an `InvalidReply`.
        """

    async def aembed(self, texts: list[str]) -> EmbeddingResult:
        """Return the vectors of the texts together with their token usage, which `aembed_documents` has no place for.

        Raises:
            InvalidInput: ``texts`` is no list of texts, or one of them is empty. Nothing was sent.
            LLMError: a request failed; the others were cancelled.
            BudgetExceeded, Unpriceable, BudgetStoreFailed: a budget holds it back; that request was not sent.
            TotalTimeout: all of it took too long.
        """
        batches = list(self._batches(texts, _sizes(texts)))

        run = EmbeddingRun(self, texts)

        async def embed_all(ends_at: float | None) -> EmbeddingResult:
            embed = functools.partial(self._embed, run, ends_at)
            limits: RunnableConfig = {"max_concurrency": self.max_concurrency}
            return _join(await Batch(embed, batches, limits, return_exceptions=False).collect())

        work = functools.partial(self._run_in_time, embed_all, "the texts")
        return await run.execute(work, lambda result: (result.embeddings, result.usage))

    def embed(self, texts: list[str]) -> EmbeddingResult:
        """Return the vectors of the texts together with their token usage: the sync face of `aembed`."""
        return run_in_portal(functools.partial(self.aembed, texts))

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order; none, and no request, for no texts. Raises as `aembed`."""
        return (await self.aembed(texts)).embeddings

    async def _embed(
        self, run: EmbeddingRun, ends_at: float | None, texts: list[str], config: RunnableConfig
    ) -> EmbeddingResult:
        """Make one request, and again where that may help."""

        def read(reply: HTTPReply) -> EmbeddingResult:
            result = check_returned(self._decode, self._decode(reply), EmbeddingResult)
            if len(result.embeddings) != len(texts):
                raise InvalidReply(f"the reply has {len(result.embeddings)} vectors for {len(texts)} texts")
            return result

        fields = self.rate_limiter, self.budget, self.ledger
        meter = EmbeddingMeter(self._provider, self._served_model, *fields, run, texts, ends_at, self._experience)
        return await self._send_again(
            lambda: check_returned(self._request, self._request(texts), HTTPRequest),
            read,
            ends_at,
            run.emit_retry,
            meter.make,
        )

    def _batches(self, texts: list[str], sizes: list[int]) -> Iterator[list[str]]:
        """Yield the texts in lists of at most ``chunk_size``, none with more bytes than tokens are allowed.

        A token has at least one byte, so that this holds whatever the tokenizer; a text that is longer goes alone.
        """
        batch: list[str] = []
        total = 0
        for text, size in zip(texts, sizes, strict=True):
            too_long = self._max_tokens is not None and total + size > self._max_tokens
            if batch and (too_long or len(batch) == self.chunk_size):
                yield batch
                batch, total = [], 0
            batch.append(text)
            total += size
        if batch:
            yield batch

    # -- copies and pickles

    def __getstate__(self) -> dict[str, object]:
        return pickle_state(type(self).__name__, super().__getstate__())

    def __deepcopy__(self, memo: dict[int, object] | None = None) -> Self:
        return super().__deepcopy__(keep_shared(self, {} if memo is None else memo))


def _join(results: list[EmbeddingResult]) -> EmbeddingResult:
    usages = [result.usage for result in results if result.usage is not None]
    return EmbeddingResult(
        [vector for result in results for vector in result.embeddings],
        functools.reduce(add_usage, usages) if usages else None,
    )


def _sizes(texts: list[str]) -> list[int]:
    """Return the bytes of each text.

    Raises:
        InvalidInput: see `RemoteEmbeddings.aembed`.
    """
    if not isinstance(texts, Sequence) or isinstance(texts, str | bytes):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"texts is of type {type(texts).__name__}; it must be a list of texts: [text] for one")
    for index, text in enumerate(texts):
        if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake, as above
            raise InvalidInput(f"texts[{index}] is of type {type(text).__name__}; it must be a text")
        if not text:
            raise InvalidInput(f"texts[{index}] is empty, which no model embeds; leave it out")
    try:
        return [len(text.encode()) for text in texts]
    except UnicodeEncodeError as error:
        index = next(index for index, text in enumerate(texts) if text is error.object)
        raise InvalidInput(
            f"texts[{index}] holds half of a surrogate pair at position {error.start}, which is not text: "
            "read its source with the right encoding"
        ) from None
