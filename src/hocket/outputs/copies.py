"""Copies of candidates, for users that must not share them: caches, handlers, equal calls in flight."""

from typing import Any, TypeVar, cast

from hocket.load.serializable import construct
from hocket.messages.base import copy_containers, copy_message
from hocket.outputs.generation import Generation
from hocket.outputs.results import ChatGeneration, chat_generation

__all__ = ["copy_of"]

G = TypeVar("G", bound=Generation)


def copy_of(candidate: G, **changes: Any) -> G:
    """Return a copy of ``candidate`` whose containers are all its own.

    Args:
        candidate: stays as it is.
        changes: fields of its message to change in the copy.
    """
    if type(candidate) is ChatGeneration:  # nearly all
        chat = cast(ChatGeneration, candidate)
        return cast(
            G, chat_generation(copy_message(chat.message, **changes), copy_containers(chat.generation_info), chat)
        )
    fields = candidate.__dict__.copy()
    fields["generation_info"] = copy_containers(fields["generation_info"])
    if isinstance(candidate, ChatGeneration):
        fields["message"] = copy_message(candidate.message, **changes)
    return construct(type(candidate), **fields)
