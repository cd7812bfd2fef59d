"""What a run of an agent costs."""

from hocket.callbacks import UsageMetadataCallbackHandler
from hocket.messages import AIMessage, UsageMetadata, add_usage
from hocket.outputs import ChatGeneration, LLMResult

__all__ = ["RunUsage"]


class RunUsage(UsageMetadataCallbackHandler):
    """Hears of all models that are called inside a run, by tools and by other agents too, and sums their usage.

    Attributes:
        unknown: replies that reported no usage.
    """

    def __init__(self) -> None:
        super().__init__()
        self.unknown: int = 0

    def on_llm_end(self, response: LLMResult, **kwargs: object) -> None:
        """Add the usage of a reply."""
        super().on_llm_end(response, **kwargs)
        self.unknown += not any(_has_price(one) for candidates in response.generations for one in candidates)

    @property
    def total(self) -> UsageMetadata:
        """The tokens of all models together."""
        total: UsageMetadata = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
        for usage in self.usage_metadata.values():
            total = add_usage(total, usage)
        return total


def _has_price(candidate: object) -> bool:
    """Whether it is known what a candidate cost: it says so, or it came out of a cache."""
    message = candidate.message if isinstance(candidate, ChatGeneration) else None
    if not isinstance(message, AIMessage):
        return False
    return message.usage_metadata is not None or bool(message.response_metadata.get("cache_hit"))
