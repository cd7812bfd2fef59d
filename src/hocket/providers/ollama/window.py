"""A prompt that is longer than the server's window, said before it is cut.

The server cuts such a prompt in silence, and its window is small unless it is told otherwise: 4,096 tokens, or what its own
``OLLAMA_CONTEXT_LENGTH`` says, which nobody here can know. So a prompt that probably does not fit is warned of, once for
each model in a process. The number of tokens is an estimate; only long prompts are counted at all.
"""

from collections.abc import Sequence

from hocket._runtime.callers import warn_caller
from hocket.errors import HocketWarning
from hocket.messages import BaseMessage
from hocket.providers.ollama.options import OllamaOptions

__all__ = ["check_window"]

DEFAULT_WINDOW = 4096
REMEMBERED = 1000  # models and windows that were warned of

_warned: set[tuple[str, int]] = set()


def check_window(messages: Sequence[BaseMessage], options: OllamaOptions, size: int) -> None:
    """Warn of a prompt that does not fit into the window.

    Args:
        messages: the conversation.
        options: of the call.
        size: bytes of the request, of which a token takes one at least.
    """
    window = options.num_ctx or DEFAULT_WINDOW
    key = (options.model, window)
    if size <= window or options.truncate is False or key in _warned:
        return
    from hocket.tokens.approximate import count_tokens_approximately  # most requests are short

    tokens = count_tokens_approximately(messages, tools=options.tools)
    if tokens <= window:
        return
    if len(_warned) >= REMEMBERED:
        _warned.clear()
    _warned.add(key)
    said = f"num_ctx={window}" if options.num_ctx else f"{window}, the server's window unless it is told otherwise"
    warn_caller(
        f"a prompt for {options.model!r} has about {tokens} tokens, more than {said}: the server cuts what does not fit, in "
        "silence. Raise num_ctx=..., or have it refused with truncate=False (said once for each model)",
        HocketWarning,
    )
