"""What a page asks: `read_chat` reads the body of its request, as Vercel's and AG-UI's clients send it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, cast
from urllib.parse import quote

from pydantic_core import from_json

from hocket.agents.approval import Resume
from hocket.errors import InvalidInput
from hocket.errors.hints import excerpt
from hocket.messages import BaseMessage, HumanMessage
from hocket.messages.content import Fields, FieldsView
from hocket.serving.pages.ag_ui_request import read_ag_ui_request
from hocket.serving.pages.page_request import Decisions, PageRequest
from hocket.serving.pages.vercel_request import read_vercel_request

__all__ = ["ChatInput", "make_key", "read_chat"]

_READERS: Mapping[str, Callable[..., PageRequest]] = {"vercel": read_vercel_request, "ag-ui": read_ag_ui_request}


@dataclass(frozen=True, kw_only=True)
class ChatInput:
    """What a page asks. All of it is what a stranger says, but for ``user``.

    Attributes:
        protocol: of the page: "vercel" or "ag-ui".
        id: of the conversation.
        run_id: of the answer, where the page has said it; "": it has not.
        messages: the conversation, as the page has it: for a service without a history. A page can forge it.
        decisions: about calls that wait, by their ids, as `Resume` takes them. The agent checks them.
        trigger: why the page asks: "submit-message", or "regenerate-message".
        extra: what else the body says, as AG-UI's ``state``, ``context``, ``tools`` and ``forwardedProps``, or the ``body``
            that was given to ``useChat``.
        user: who asks, as the service has found out; "": it does not ask.
    """

    protocol: Literal["vercel", "ag-ui"]
    id: str
    run_id: str = ""
    messages: list[BaseMessage] = field(default_factory=list[BaseMessage])
    decisions: Decisions = field(default_factory=dict[str, "str | Fields"])
    trigger: str = "submit-message"
    extra: Fields = field(default_factory=dict[str, object])
    user: str = ""

    @property
    def input(self) -> HumanMessage | Resume:
        """What an agent or a `Conversation` with a history takes: the decisions, or else the last message of the person.

        Raises:
            InvalidInput: there is neither.
        """
        if self.decisions:
            return Resume(self.decisions)
        for message in reversed(self.messages):
            if isinstance(message, HumanMessage):
                return message
        raise InvalidInput(
            "messages has nothing that a person says, and there is no decision: there is nothing to answer"
        )

    @property
    def key(self) -> str:
        """The name of the conversation, unlike that of any other user: "USER/ID", each part percent-encoded, or "ID"."""
        return make_key(self.user, self.id)


def make_key(user: str, id: str) -> str:
    """Return the name of a user's conversation, see `ChatInput.key`."""
    return "/".join(quote(part, safe="") for part in (user, id) if part)


def read_chat(
    body: bytes | str | FieldsView, *, protocol: Literal["vercel", "ag-ui"] | None = None, system: bool = False
) -> ChatInput:
    """Return what the body of a page's request asks.

    Texts, files, calls and their results are read. Thoughts, sources, data parts and whatever is of a kind that is not known
    are left out.

    Args:
        body: of the request: JSON, or what was read from it.
        protocol: of the page; None: that of which the body has the form (``threadId`` is AG-UI's, messages with ``parts``
            are Vercel's).
        system: whether messages of the system or a developer count, which a page can forge like any other.

    Raises:
        InvalidInput: it is no request of this kind; it names the place.

    Examples:
        >>> from hocket.serving import read_chat
        >>> body = '{"id": "c1", "messages": [{"id": "1", "role": "user", "parts": [{"type": "text", "text": "Hi."}]}]}'
        >>> read_chat(body).input.text
        'Hi.'
    """
    fields = _read_object(body)
    known = protocol or _find_protocol(fields)
    if known not in _READERS:
        raise InvalidInput(f"protocol is {excerpt(protocol)}; it is one of {', '.join(_READERS)}")
    return ChatInput(protocol=known, **_READERS[known](fields, system=system)._asdict())


def _read_object(body: bytes | str | FieldsView) -> FieldsView:
    data: object = body
    if isinstance(body, bytes | str):
        try:
            data = from_json(body, allow_inf_nan=False)
        except (ValueError, TypeError) as error:  # a text with a lone surrogate is the latter
            raise InvalidInput(f"the body is not JSON: {error}") from None
    if not isinstance(data, Mapping):
        raise InvalidInput(f"the body is {excerpt(data)}; it is a JSON object")
    return cast(FieldsView, data)


def _find_protocol(body: FieldsView) -> Literal["vercel", "ag-ui"]:
    if "threadId" in body:
        return "ag-ui"
    messages: object = body.get("messages")
    listed = cast("list[object]", messages) if isinstance(messages, list) else []
    if any(isinstance(one, dict) and "parts" in one for one in listed):
        return "vercel"
    raise InvalidInput(
        "the body is of no page: it has neither threadId, as AG-UI's, nor messages with parts, as Vercel's"
    )
