"""The requests of one run, each compared with the one before it, before its answer comes and the bill does."""

import logging
from dataclasses import asdict

from hocket.agents.middleware import ModelRequest
from hocket.message_toolkit.prefix import PrefixBreak, SentPrompt, find_break
from hocket.runnables.chain_run import ChainRun
from hocket.tools import convert_to_openai_tools

__all__ = ["PREFIX_BREAK", "PrefixWatch"]

PREFIX_BREAK = "hocket.prefix_break"
"""The name of the event that handlers are told of (`BaseCallbackHandler.on_custom_event`)."""

_log = logging.getLogger("hocket.agents")


class PrefixWatch:
    """Compares each request of a run with the one before it.

    Args:
        run: is told of breaks.
        warns: whether the log is told of the first break that nobody has asked for.

    Attributes:
        breaks: those found.
    """

    def __init__(self, run: ChainRun, *, warns: bool) -> None:
        self.breaks: list[PrefixBreak] = []
        self._run = run
        self._warns = warns
        self._last: ModelRequest | None = None
        self._compactions = 0

    async def look(self, request: ModelRequest, compactions: int, *, is_expected: bool) -> None:
        """Compare a request that is about to be sent.

        Args:
            request: as the hooks of the agent have made it.
            compactions: how often messages were made shorter in the run.
            is_expected: whether the run itself asks in another way now: for its last answer.
        """
        last, self._last = self._last, request
        is_compacted, self._compactions = compactions != self._compactions, compactions
        if last is None:
            return
        has_same_tools = last.tools is request.tools  # to describe them takes longer than all else
        found = _compare(last, request, is_compacted, has_same_tools)
        if found is not None and has_same_tools and found.cause in ("model", "options"):
            found = _compare(last, request, is_compacted, False)  # its tools are lost, too, and count
        if found is None:
            return
        self.breaks.append(found)
        await self._run.tell("on_custom_event", PREFIX_BREAK, asdict(found))
        if self._warns and not is_expected and found.cause != "compacted":
            self._warns = False
            _log.warning(
                "request %d of a run does not begin as the one before it (%s: %s): the provider's prompt cache does not "
                "have about %d tokens of it; see docs/prompt-caches.md",
                *(found.step, found.cause, found.detail, found.lost_tokens),
            )


def _compare(last: ModelRequest, request: ModelRequest, is_compacted: bool, has_same_tools: bool) -> PrefixBreak | None:
    before, after = (
        SentPrompt(
            messages=one.messages,
            tools=() if has_same_tools else convert_to_openai_tools([*one.tools]),
            options={**one.options, "tool_choice": one.tool_choice},
            model=one.model,
            is_compacted=is_compacted,
        )
        for one in (last, request)
    )
    return find_break(before, after, step=request.step)
