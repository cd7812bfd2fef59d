"""Messages that the user did not type: which part of a program added them."""

from typing import NotRequired, cast

from typing_extensions import TypedDict

from hocket.messages.base import BaseMessage, copy_message
from hocket.messages.content import Fields
from hocket.messages.roles import HumanMessage

__all__ = ["NotificationMetadata", "add_notification_metadata", "get_notification_metadata"]

_SOURCE, _DATA = "lc_source", "lc_data"  # LangChain's names, under ``additional_kwargs``


class NotificationMetadata(TypedDict):
    """What added a message, and what it says of it."""

    source: str
    data: NotRequired[Fields]


def add_notification_metadata(message: HumanMessage, *, source: str, data: Fields | None = None) -> HumanMessage:
    """Return a copy of a message that says that ``source`` has added it, and not the user. No model is told.

    An author of messages may write this, too: it is no reason to trust one.
    """
    kept = {key: value for key, value in message.additional_kwargs.items() if key != _DATA}
    added: Fields = {_SOURCE: source} if data is None else {_SOURCE: source, _DATA: dict(data)}
    return copy_message(message, additional_kwargs={**kept, **added})


def get_notification_metadata(message: BaseMessage) -> NotificationMetadata | None:
    """Return what added a message; None, if it says nothing."""
    source, data = (message.additional_kwargs.get(key) for key in (_SOURCE, _DATA))
    if not isinstance(source, str):
        return None
    return {"source": source, "data": dict(cast(Fields, data))} if isinstance(data, dict) else {"source": source}
