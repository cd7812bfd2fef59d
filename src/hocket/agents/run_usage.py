"""What a run of an agent costs."""

from hocket.callbacks import BaseCallbackManager, UsageMetadataCallbackHandler
from hocket.messages import AIMessage, UsageMetadata, add_usage
from hocket.outputs import ChatGeneration, LLMResult
from hocket.runnables import RunnableConfig

__all__ = ["RunUsage", "find_usages"]


class RunUsage(UsageMetadataCallbackHandler):
    """Hears of all models that are called inside a run, by tools and by other agents too, and sums their usage.

    An agent inside the run finds it among its handlers: so the run's limit holds there, too.

    Args:
        limit: tokens that the run may use; None: there is no limit.

    Attributes:
        limit: the same.
        unknown: replies that reported no usage.
        earlier: tokens that the run has used before this call, by its history.
    """

    def __init__(self, limit: int | None = None) -> None:
        super().__init__()
        self.limit: int | None = limit
        self.unknown: int = 0
        self.earlier: int = 0

    def on_llm_end(self, response: LLMResult, **kwargs: object) -> None:
        """Add the usage of a reply."""
        super().on_llm_end(response, **kwargs)
        self.unknown += not any(_has_price(one) for candidates in response.generations for one in candidates)

    def allows(self, tokens: int) -> bool:
        """Whether so many tokens more are within the limit."""
        return self.limit is None or self.earlier + self.total["total_tokens"] + tokens <= self.limit

    @property
    def total(self) -> UsageMetadata:
        """The tokens of all models together."""
        total: UsageMetadata = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        for usage in self.usage_metadata.values():
            total = add_usage(total, usage)
        return total


def find_usages(config: RunnableConfig) -> list[RunUsage]:
    """Return those that hear of what happens with a config: of the run that it is for, and of the runs around that."""
    callbacks = config.get("callbacks")
    handlers = callbacks.handlers if isinstance(callbacks, BaseCallbackManager) else callbacks or ()
    return [one for one in handlers if isinstance(one, RunUsage)]


def _has_price(candidate: object) -> bool:
    """Whether it is known what a candidate cost: it says so, or it came out of a cache."""
    message = candidate.message if isinstance(candidate, ChatGeneration) else None
    if not isinstance(message, AIMessage):
        return False
    return message.usage_metadata is not None or bool(message.response_metadata.get("cache_hit"))
