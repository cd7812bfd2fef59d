"""What a model is shown in one run: of its conversation what it can take, and the tools that it has found.

Tokens are estimated, message by message, each once; a reply that reports its usage says how many there really were. What is
too long is made to fit three tenths of the window, as far as that takes old results and thoughts alone, and three quarters
in any case: providers keep what they have computed of a beginning, which should not be another one at each step.

Each request of a run is compared with the one before it, before its answer comes and the bill does.
"""

import logging
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from typing import Literal

from hocket._runtime.mode import ASYNC
from hocket.agents.compact import compact
from hocket.agents.middleware import ModelRequest, OfferedTool
from hocket.agents.offload import Offload
from hocket.agents.plan import RunPlan
from hocket.errors import ContextLengthExceeded
from hocket.message_toolkit.prefix import PrefixBreak, SentPrompt, find_break
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.runnables.chain_run import ChainRun
from hocket.tokens import count_tokens_approximately
from hocket.tokens.windows import find_token_limit
from hocket.tools import BaseTool
from hocket.tools.call_runner import Call
from hocket.tools.found_tools import FOUND_TOOLS, read_found_tools
from hocket.tools.result_messages import cut_result, make_error_message

__all__ = ["PREFIX_BREAK", "ContextWindow", "OfferedTools", "PrefixWatch"]

Ask = Callable[[list[BaseMessage]], Awaitable[AIMessage]]


class ContextWindow:
    """Asks a model with as much of a conversation as it can take.

    If its profile does not say how much that is, the model is believed when it says that it is too much.

    Attributes:
        answer_tokens: how many the answer may have at most, if the model has a limit set; else 0.
        excess: by how many tokens, at most, what was sent was estimated to be too long.
        compactions: how often something was made shorter.
    """

    def __init__(self, plan: RunPlan, tools: Sequence[OfferedTool], offload: Offload | None) -> None:
        self._limit = find_token_limit(plan.model)
        self._tools = tools
        self._language: Literal["en", "zh"] = getattr(
            plan.format, "language", "en"
        )  # of the lines for what is left out
        most = getattr(plan.model, "max_tokens", None)
        self.answer_tokens: int = most if isinstance(most, int) else 0
        self.excess: int = 0
        self.compactions: int = 0
        self._offload = offload
        self._seen = 0  # messages that are in the estimate
        self._tokens: int | None = None

    def estimate(self, context: Sequence[BaseMessage]) -> int:
        """Return about how many tokens a conversation has. It is the one of the last time, with messages added."""
        if self._tokens is None:
            self._tokens = count_tokens_approximately(context, tools=self._tools)
        else:
            self._tokens += count_tokens_approximately(context[self._seen :])
        self._seen = len(context)
        return self._tokens

    def forget(self) -> None:
        """Count again: there are other tools."""
        self._tokens = None

    async def ask(self, context: list[BaseMessage], ask: Ask) -> tuple[AIMessage, list[BaseMessage]]:
        """Return the model's answer, and the conversation as it was sent: shorter, if need be and as far as can be."""
        if self._limit is not None and self.estimate(context) > self._limit:
            context, self.excess = await self._shorten(context, self._limit)
        while True:
            try:
                reply = await ask(context)
            except ContextLengthExceeded:
                shorter, _ = await self._shorten(context, self.estimate(context) // 2)
                if len(shorter) == len(context) and all(map(lambda one, other: one is other, shorter, context)):
                    raise
                context = shorter
            else:
                if reply.usage_metadata and (tokens := reply.usage_metadata["input_tokens"]):
                    self._tokens, self._seen = tokens, len(context)
                return reply, context

    async def _shorten(self, context: list[BaseMessage], limit: int) -> tuple[list[BaseMessage], int]:
        """Return a conversation made to fit a limit, and by how many tokens it does not."""
        estimated = self.estimate(context)
        counted = max(1, count_tokens_approximately(context))
        beside = max(0, estimated - counted) if self._tools else 0  # tools are sent along, and cannot be cut
        room = max(0, limit - beside)
        cut = cut_result if self._offload is None else self._offload.cut_old
        for one in (cut, cut_result):  # where the store fails, without it
            result = await ASYNC.call_sync(
                compact, context, room * 3 // 4, aim=room * 3 // 10, cut=one, language=self._language
            )
            if self._offload is None or await self._offload.save(result.messages):
                break
        self.compactions += 1
        self._tokens = max(0, estimated - result.saved)
        self._seen = len(result.messages)
        return result.messages, max(0, self._tokens - limit)


PREFIX_BREAK = "hocket.prefix_break"
"""The name of the event that handlers are told of (`BaseCallbackHandler.on_custom_event`)."""

_log = logging.getLogger("hocket.agents")


class PrefixWatch:
    """Compares each request of a run with the one before it. It ``warns`` of the first break that nobody has asked for."""

    def __init__(self, run: ChainRun, *, warns: bool) -> None:
        self.breaks: list[PrefixBreak] = []
        self._run = run
        self._warns = warns
        self._last: SentPrompt | None = None
        self._compactions = self._finds = 0

    async def look(self, request: ModelRequest, compactions: int, finds: int, *, is_expected: bool) -> None:
        """Compare a request that is about to be sent, as the hooks of the agent have made it.

        Args:
            compactions: how often messages were made shorter in the run.
            finds: how often tools were found.
            is_expected: whether the run itself asks in another way now: for its last answer.
        """
        prompt = SentPrompt(
            messages=request.messages,
            tools=request.tools,
            options={**request.options, "tool_choice": request.tool_choice},
            model=request.model,
            is_compacted=compactions != self._compactions,
        )
        found = None if self._last is None else find_break(self._last, prompt, step=request.step)
        has_found = finds != self._finds
        self._last, self._compactions, self._finds = prompt, compactions, finds
        if found is None:
            return
        self.breaks.append(found)
        await self._run.tell("on_custom_event", PREFIX_BREAK, asdict(found))
        is_expected = is_expected or found.cause == "compacted" or (has_found and found.cause == "tools")
        if self._warns and not is_expected:
            self._warns = False
            _log.warning(
                "request %d of a run does not begin as the one before it (%s: %s): the provider's prompt cache does not "
                "have about %d tokens of it; see docs/prompt-caches.md",
                *(found.step, found.cause, found.detail, found.lost_tokens),
            )


class OfferedTools:
    """The tools that the model is shown in one run: those of the plan, and more, when it has found some.

    Attributes:
        tools: of the next request; another list when, and only when, it has changed.
        prompt: those that are part of the prompt, always in this list.
        finds: how often the list of tools has changed in the run.
    """

    def __init__(self, plan: RunPlan) -> None:
        self._deferral = deferral = plan.deferral
        self._run = plan.tools
        self._found: set[str] = set()
        self.finds: int = 0
        self.prompt: list[OfferedTool] = [*plan.offered]
        self.tools: Sequence[OfferedTool] = plan.offered
        if deferral is not None and deferral.is_native:
            self.tools = [*plan.offered, *deferral.tools.values()]

    def follow(self, messages: Iterable[BaseMessage]) -> bool:
        """Show what messages say was found, and return whether that is more than before."""
        deferral = self._deferral
        if deferral is None:
            return False
        names = dict.fromkeys(name for message in messages for name in read_found_tools(message))
        new = [tool for name in names if name not in self._found and (tool := deferral.tools.get(name))]
        self._found.update(names)
        self.prompt += new
        if new and not deferral.is_native:
            self.tools = [*self.tools, *new]
            self.finds += 1
        return bool(new)

    def list_callable(self, shown: Sequence[OfferedTool]) -> Mapping[str, BaseTool]:
        """Return the tools that may be run, by name: those that were shown, perhaps changed by a hook."""
        if shown is self.tools:
            return self._run
        return {tool.name: tool for tool in shown if isinstance(tool, BaseTool)}

    def refuse_unfound(self, calls: Iterable[Call]) -> dict[str, ToolMessage]:
        """Return results, by the ids of the calls, for those of tools that were not found: their arguments are guessed."""
        results: dict[str, ToolMessage] = {}
        for call in calls if self._deferral else ():
            name = call["name"] or ""
            if self._deferral and name in self._deferral.tools and name not in self._found:
                text = f"{name} was not run: its arguments were not known. Call it again, as this says: "
                result = make_error_message(text + self._deferral.write_schema(name), call["id"], name, "not_loaded")
                result.response_metadata[FOUND_TOOLS] = [name]
                results[call["id"] or ""] = result
        return results
