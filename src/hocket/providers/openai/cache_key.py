"""The name of a prompt for OpenAI's cache: by it, the calls of one conversation find the machine that has its beginning."""

import json
from collections.abc import Sequence

from hocket._pipeline.cache_key import hash_bytes, prompt_key
from hocket.messages import BaseMessage, SystemMessage
from hocket.messages.content import Fields, FieldsView
from hocket.providers.openai.options import ModelOptions

__all__ = ["name_prompt"]

_NAMED = frozenset({"prompt_cache_key", "conversation"})
"""Fields of a body with which nothing is added: there is a name, or the server holds the beginning."""


def name_prompt(body: FieldsView, messages: Sequence[BaseMessage], options: ModelOptions) -> Fields:
    """Return a body with ``prompt_cache_key``: a hash of the instructions, the tools and the first question.

    So it stays the same as the conversation goes on. It is returned as it is if the call does not ask for a cache, has a
    key of its own, or does not say how the conversation began.

    Args:
        body: of a finished request. It is not changed.
        messages: the conversation.
        options: those of this call.
    """
    further = options.extra_body or {}
    if not options.prompt_cache or options.previous_response_id or _NAMED & (body.keys() | further.keys()):
        return dict(body)
    said = next((at for at, message in enumerate(messages, 1) if not isinstance(message, SystemMessage)), len(messages))
    opening = json.dumps([prompt_key(messages[:said]), body.get("tools")], default=str)
    return {**body, "prompt_cache_key": hash_bytes(opening.encode())}
