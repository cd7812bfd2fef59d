"""``--tool``: a model that works with tools until it has the answer, seen as a model that answers.

The conversation keeps the question and the answer: what was called in between is told on standard error, and any other
model can go on. ``hocket agent`` keeps each call, and asks before it runs one.
"""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import cast

from hocket.agents import AgentResult, create_agent
from hocket.cli.agent import load_named_tools, show_event
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage
from hocket.runnables import Runnable, RunnableGenerator

__all__ = ["answer_with_tools"]


def answer_with_tools(
    model: BaseChatModel, names: Sequence[str], functions: Sequence[str]
) -> Runnable[object, AIMessage]:
    """Return what has the model answer with the help of tools that are named, or given as code.

    Raises:
        InvalidInput: there is no such tool, or the code defines none.
    """
    agent = create_agent(model, load_named_tools(names, functions))

    async def answer(inputs: AsyncIterator[list[BaseMessage]]) -> AsyncIterator[AIMessageChunk]:
        async for messages in inputs:
            last, facts = 0, dict[str, object]()
            async with agent.astream(messages) as events:
                async for event in events:
                    show_event(event, with_text=False)
                    if event.kind == "message":
                        facts = event.message.response_metadata
                    if event.kind != "chunk":
                        continue
                    parts = [block for block in event.chunk.content_blocks if block["type"] in ("text", "reasoning")]
                    gap = [{"type": "text", "text": "\n\n"}] if parts and last not in (0, event.step) else []
                    last = event.step if parts else last
                    content = cast("list[str | dict[str, object]]", [*gap, *parts])
                    yield AIMessageChunk(content or "")
            assert events.result is not None
            yield _sum_up(events.result, facts)

    return cast("Runnable[object, AIMessage]", RunnableGenerator(answer))


def _sum_up(result: AgentResult[str], facts: Mapping[str, object]) -> AIMessageChunk:
    """Return what a run came to, as the end of its answer: the tokens of all of its calls, and how the last one ended."""
    ended = {name: facts[name] for name in ("finish_reason",) if name in facts}
    return AIMessageChunk(
        "",
        usage_metadata=result.usage if result.usage["total_tokens"] else None,
        response_metadata={**ended, "model_calls": result.model_calls},
    )
