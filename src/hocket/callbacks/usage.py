"""Counting tokens over many calls."""

import threading
from decimal import Decimal

from hocket.callbacks.handlers import BaseCallbackHandler
from hocket.callbacks.run_listeners import Listening
from hocket.messages import AIMessage, UsageMetadata, add_usage
from hocket.outputs import ChatGeneration, LLMResult

__all__ = ["UNKNOWN_MODEL", "UsageMetadataCallbackHandler", "get_usage_metadata_callback"]

UNKNOWN_MODEL = "unknown"
"""Where usage is counted of replies that do not name their model. (LangChain drops it.)"""


class UsageMetadataCallbackHandler(BaseCallbackHandler):
    """Sums the token usage of the calls that it hears of, by model name.

    Every candidate of a reply counts, and what a failed attempt had reported when it failed; an answer out of a cache does
    not, for it was counted when it was paid for, nor what an equal call pays for. May be shared by threads.
    """

    run_inline = True

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self.usage_metadata: dict[str, UsageMetadata] = {}
        self._providers: dict[str, set[str | None]] = {}

    def __repr__(self) -> str:
        return repr(self.usage_metadata)

    def _repr_html_(self) -> str:
        """Return the counts as a notebook shows them, with the cost if the prices of all models are known."""
        from hocket.messages.html import write_table

        head = ["model", "input tokens", "output tokens", "total"]
        counted = [*self.usage_metadata.items()]
        rows = [
            [name, f"{usage['input_tokens']:,}", f"{usage['output_tokens']:,}", f"{usage['total_tokens']:,}"]
            for name, usage in counted
        ]
        costs = [self._find_cost(name, usage) for name, usage in counted]
        if costs and None not in costs:
            head.append("cost")
            for row, cost in zip(rows, costs, strict=True):
                row.append(f"${cost:.6f}")
        return write_table(head, rows)

    def _find_cost(self, name: str, usage: UsageMetadata) -> Decimal | None:
        """Return what a model's calls came to, in US dollars; None: no price holds for the sum of them."""
        from hocket.prices import price_of

        first, *others = (price_of(name, provider) for provider in self._providers.get(name, {None}))
        if first is None or first.above or any(price != first for price in others):
            return None
        return first.cost(usage)

    def on_llm_end(self, response: LLMResult, **kwargs: object) -> None:
        """Add the usage of a reply."""
        self._add_all(response)

    def on_llm_error(self, error: BaseException, *, response: LLMResult | None = None, **kwargs: object) -> None:
        """Add what was used before a run failed."""
        if response is not None:
            self._add_all(response)

    def on_retry(self, retry_state: object, *, response: LLMResult | None = None, **kwargs: object) -> None:
        """Add what was used by an attempt that failed."""
        if response is not None:
            self._add_all(response)

    def _add_all(self, response: LLMResult) -> None:
        for candidates in response.generations:
            for candidate in candidates:
                if isinstance(candidate, ChatGeneration) and isinstance(candidate.message, AIMessage):
                    self._add(candidate.message)

    def _add(self, message: AIMessage) -> None:
        facts = message.response_metadata
        if message.usage_metadata is None or facts.get("cache_hit"):
            return
        name = facts.get("model_name") or UNKNOWN_MODEL
        with self._lock:
            self._providers.setdefault(name, set()).add(facts.get("model_provider"))
            self.usage_metadata[name] = add_usage(self.usage_metadata.get(name), message.usage_metadata)


class _Counting(Listening):
    """`Listening`, typed for its handler."""

    def __enter__(self) -> UsageMetadataCallbackHandler:
        super().__enter__()
        assert isinstance(self.handler, UsageMetadataCallbackHandler)
        return self.handler


def get_usage_metadata_callback(name: str = "usage_metadata_callback") -> _Counting:
    """Return a context manager that counts the token usage of every call made in its block.

    Args:
        name: taken for LangChain's sake and not used: it named a context variable there, of which none is made here.

    Examples:
        >>> from hocket.language_models import FakeListChatModel
        >>> with get_usage_metadata_callback() as usage:
        ...     reply = FakeListChatModel(responses=["hi"]).invoke("hello")
        >>> usage.usage_metadata
        {}
    """
    return _Counting(UsageMetadataCallbackHandler())
