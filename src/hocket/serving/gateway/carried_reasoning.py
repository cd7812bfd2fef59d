"""What a model has to be told again of its own reasoning, carried by a client whose format has no place for it.

A provider signs, or encrypts, what its model thought, and wants it back in the next request: Anthropic a ``signature``,
OpenAI's Responses an ``encrypted_content``. A client keeps such a text of its own format and sends it back unread. So what
another provider's model said of its reasoning travels in that text, with the name of the provider, and comes back as that.
It is no secret, and not trusted: the sender of a conversation may say anything in it anyway.
"""

import base64
from typing import cast

from pydantic_core import from_json, to_json

from hocket.messages.content import Fields, FieldsView
from hocket.serving.gateway.fields import check_part
from hocket.serving.refusals import Refusal

__all__ = ["carries_reasoning", "carry_reasoning", "restore_reasoning"]

_MARK = "hocket:"


def carry_reasoning(provider: object, extras: FieldsView) -> str:
    """Return a text for a client to keep: what ``provider`` says of a piece of reasoning."""
    data = to_json({"provider": provider, "extras": extras}, fallback=str)
    return _MARK + base64.urlsafe_b64encode(data).decode()


def carries_reasoning(body: bytes) -> bool:
    """Whether there may be a text of `carry_reasoning` in a request, which means nothing to any provider."""
    return b'"' + _MARK.encode() in body


def restore_reasoning(carried: object, text: str) -> tuple[str, Fields] | None:
    """Return the provider and the block of reasoning that a text stands for; None: it is no text of `carry_reasoning`.

    Args:
        carried: what a client has sent.
        text: of the reasoning.
    """
    if not isinstance(carried, str) or not carried.startswith(_MARK):
        return None
    try:
        data: object = from_json(base64.urlsafe_b64decode(carried.removeprefix(_MARK)))
    except ValueError:
        data = None
    block: Fields = {"type": "reasoning", "reasoning": text}
    match data:
        case {"provider": str(provider), "extras": dict()}:
            extras = dict(cast(Fields, cast(Fields, data)["extras"]))
            try:
                check_part({"type": "reasoning", **extras}, "extras")
            except Refusal:
                return "", block
            if isinstance(id := extras.pop("id", None), str):
                block["id"] = id
            return provider, {**block, "extras": extras} if extras else block
        case _:
            return "", block
