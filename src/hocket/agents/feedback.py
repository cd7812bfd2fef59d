"""What the model is shown of a reply of its own that could not be read. None of it is stored."""

from hocket.agents.text_format import FEEDBACK_NAME
from hocket.message_toolkit.repair import is_empty
from hocket.messages import AIMessage, BaseMessage, HumanMessage
from hocket.messages.base import copy_message
from hocket.tools.result_messages import cut_content

__all__ = ["make_feedback"]


def make_feedback(reply: AIMessage, feedback: str, max_chars: int | None) -> list[BaseMessage]:
    """Return the reply, unless it is empty, and a message that says what was wrong with it.

    Args:
        reply: of the model.
        feedback: what was wrong, and what to do.
        max_chars: that are shown of the reply; how many more there were is said. None: all.
    """
    shown: list[BaseMessage] = [] if is_empty(reply) else [reply]
    if shown and max_chars is not None:
        content, missing = cut_content(reply.content, max_chars)
        if missing:
            shown = [copy_message(reply, content=content)]
            feedback += f"\n[Your reply was too long: {missing} more characters are left out.]"
    return [*shown, HumanMessage(feedback, name=FEEDBACK_NAME)]
