"""How many passages fit into a model's window."""

from collections.abc import Callable, Sequence

from hocket._runtime.mode import Mode
from hocket.chains.passages import Passage, show_passages
from hocket.errors import ContextLengthExceeded
from hocket.messages import BaseMessage, HumanMessage
from hocket.prompt_values import PromptValue
from hocket.tokens import count_tokens_approximately
from hocket.tokens.windows import find_token_limit

__all__ = ["PassageWindow"]


class PassageWindow:
    """The window of a model, for passages.

    Args:
        llm: whose profile may say how many tokens it takes; room for the answer is left.
        limit: tokens that a request may have instead, if that is less.
        default: what is taken where nobody knows; None: everything fits.
    """

    def __init__(self, llm: object, limit: int | None = None, default: int | None = None) -> None:
        self.limit: int | None = find_token_limit(llm, None, limit) or default
        self._count: Callable[[list[BaseMessage]], int] = getattr(
            llm, "get_num_tokens_from_messages", count_tokens_approximately
        )

    async def measure(self, mode: Mode, passages: Sequence[Passage]) -> list[int]:
        """Return how many tokens each passage has, with the line before it; a tokenizer may have to be loaded."""
        return await mode.call_sync(lambda: [self._count([HumanMessage(show_passages([one]))]) for one in passages])

    async def find_room(self, mode: Mode, prompt: PromptValue) -> int | None:
        """Return how many tokens are left for passages beside ``prompt``, which has none; None: nobody knows."""
        if self.limit is None:
            return None
        return self.limit - await mode.call_sync(self._count, prompt.to_messages())

    async def choose(self, mode: Mode, passages: Sequence[Passage], prompt: PromptValue) -> list[Passage]:
        """Return those passages, best first, that fit beside ``prompt``; one that does not is passed over.

        Raises:
            ContextLengthExceeded: none fits.
        """
        room = await self.find_room(mode, prompt)
        if room is None:
            return [*passages]
        sizes, chosen = await self.measure(mode, passages), list[Passage]()
        left = room
        for passage, size in zip(passages, sizes, strict=True):
            if size <= left:
                chosen.append(passage)
                left -= size
        if not chosen:
            raise ContextLengthExceeded(
                f"none of the {len(passages)} pieces fits: the window has {self.limit:,} tokens for a question, "
                f"{max(room, 0):,} of them after the prompt, and the smallest piece has {min(sizes):,}; cut documents "
                "smaller, or ask a model with a larger window"
            )
        return chosen

    async def keep_end(self, mode: Mode, text: str, prompt: PromptValue) -> str:
        """Return the last lines of ``text`` that fit beside ``prompt``, which is without it."""
        room = await self.find_room(mode, prompt)
        while room is not None and text:
            (size,) = await self.measure(mode, [Passage((), text)])
            if size <= room:
                break
            kept = text[len(text) - int(len(text) * max(room, 0) / size * 0.9) :]  # an estimate, and a little less
            text = kept.partition("\n")[2]
        return text

    def group(self, passages: Sequence[Passage], sizes: Sequence[int], room: int) -> list[list[Passage]]:
        """Return passages in groups, in order, each of which fits into ``room``; one that does not is a group alone."""
        groups: list[list[Passage]] = []
        left = -1
        for passage, size in zip(passages, sizes, strict=True):
            if groups and size <= left:
                groups[-1].append(passage)
            else:
                groups.append([passage])
                left = room
            left -= size
        return groups
