"""A prompt that is longer than the server's window, said before it is cut.

The server cuts such a prompt in silence, and its window is small unless it is told otherwise: 4,096 tokens, or what its own
``OLLAMA_CONTEXT_LENGTH`` says, which nobody here can know. So a prompt that probably does not fit is warned of, once for
each model in a process. The number of tokens is an estimate; only long prompts are counted at all.
"""

from collections.abc import Sequence

from hocket._runtime.callers import warn_caller
from hocket.errors import HocketWarning
from hocket.messages import BaseMessage
from hocket.messages.content import FieldsView

__all__ = ["check_window"]

DEFAULT_WINDOW = 4096
REMEMBERED = 1000  # models and windows that were warned of

_warned: set[tuple[str, int]] = set()


def check_window(messages: Sequence[BaseMessage], body: FieldsView, size: int) -> None:
    """Warn of a prompt that does not fit into the window.

    Args:
        messages: the conversation.
        body: of the request.
        size: bytes of it, of which a token takes one at least.
    """
    given: object = body.get("options", {}).get("num_ctx")
    window = given if isinstance(given, int) else DEFAULT_WINDOW
    key = (str(body["model"]), window)
    if size <= window or body.get("truncate") is False or key in _warned:
        return
    from hocket.tokens.approximate import count_tokens_approximately  # most requests are short

    tokens = count_tokens_approximately(messages, tools=body.get("tools"))
    if tokens <= window:
        return
    if len(_warned) >= REMEMBERED:
        _warned.clear()
    _warned.add(key)
    said = f"num_ctx={window}" if given else f"{window}, the server's window unless it is told otherwise"
    warn_caller(
        f"a prompt for {body['model']!r} has about {tokens} tokens, more than {said}: the server cuts what does not fit, in "
        "silence. Raise num_ctx=..., or have it refused with truncate=False (said once for each model)",
        HocketWarning,
    )
