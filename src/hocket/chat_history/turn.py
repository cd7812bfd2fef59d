"""A turn of a conversation, read from and written to a history in either mode."""

from collections.abc import Sequence

from hocket._pipeline.answer import CLOSED, PARTIAL
from hocket._runtime.mode import Mode
from hocket.chat_history.base import BaseChatMessageHistory, append_messages
from hocket.errors import InvalidInput
from hocket.message_toolkit.repair import is_empty, repair_history, validate_history
from hocket.message_toolkit.turns import match_calls
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.roles import answered_id

__all__ = [
    "add_missing_results",
    "append_partial",
    "append_turn",
    "join_messages",
    "make_partial",
]

_NO_ANSWERS = ("orphaned_result", "duplicate_result")


async def append_turn(
    mode: Mode, history: BaseChatMessageHistory, asked: Sequence[BaseMessage], answered: Sequence[BaseMessage]
) -> None:
    """Append a turn, in one step, without messages that say nothing: providers refuse them. No answer is no turn."""
    answers = [message for message in answered if not is_empty(message)]
    if not answers:
        return
    await append_messages(mode, history, [*(message for message in asked if not is_empty(message)), *answers])


async def append_partial(
    mode: Mode, history: BaseChatMessageHistory, asked: Sequence[BaseMessage], answer: BaseMessage, *, closed: bool
) -> None:
    """Append a turn whose answer was left early, flagged (see `make_partial`); nothing if it has no text so far.

    It is stored for a caller that has been cancelled, too.
    """
    text = make_partial(answer, closed=closed)
    if text is not None:
        await mode.run_shielded(_append_within_grace(mode, history, asked, text))


def make_partial(answer: BaseMessage, *, closed: bool) -> AIMessage | None:
    """Return an answer that was left early as a store keeps it, flagged; None: it has no text so far.

    ``closed``: its reader has left, or somebody has stopped it, as handlers are told. Else it was cancelled, or broke off.

    It is the text alone: half of a tool call, or of reasoning with its signature, would be refused.
    """
    if not isinstance(answer, AIMessage) or not answer.text:
        return None
    facts = {**answer.response_metadata, PARTIAL: True, **({CLOSED: True} if closed else {})}
    return AIMessage(answer.text, id=answer.id, response_metadata=facts, usage_metadata=answer.usage_metadata)


async def _append_within_grace(
    mode: Mode, history: BaseChatMessageHistory, asked: Sequence[BaseMessage], answer: BaseMessage
) -> None:
    await mode.finish_within_grace(append_turn(mode, history, asked, [answer]))


def join_messages(past: Sequence[BaseMessage], asked: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what was said before, as providers accept it, and then what is asked: results of its last calls, perhaps.

    Raises:
        InvalidInput: a result answers no call, or one that has its result.
    """
    if not any(map(answered_id, asked)):
        return [*repair_history(past), *asked]
    messages = [*past, *asked]
    for problem in validate_history(messages):
        if problem.index >= len(past) and problem.code in _NO_ANSWERS:
            raise InvalidInput(f"the new message is no answer to the open calls: {problem.detail}")
    return repair_history(messages)


def add_missing_results(past: Sequence[BaseMessage], asked: Sequence[BaseMessage]) -> list[BaseMessage]:
    """Return what is asked, with results for those calls of the last answer that it leaves open, as a store is to keep it.

    They are the results that the model is shown in their place (`repair_history`). They stand before the question, behind
    the results that came. An older call cannot be answered by appending, nor one that no result can name.
    """
    last = next((at for at in reversed(range(len(past))) if not isinstance(past[at], ToolMessage)), len(past))
    results = next((at for at, message in enumerate(asked) if not isinstance(message, ToolMessage)), len(asked))
    calls = match_calls([*past, *asked[: results + 1]])  # LangChain's answer to a search is a question's message
    used = [call.id for call in calls]
    is_open = {call.id for call in calls if call.index == last and call.result is None and used.count(call.id) == 1}
    mended = repair_history(past[last:]) if is_open else []
    made = [message for message in mended if isinstance(message, ToolMessage) and message.tool_call_id in is_open]
    return [*asked[:results], *made, *asked[results:]]
