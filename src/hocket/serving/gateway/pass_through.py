"""Requests that go on as they came, where the client and the model's server speak one format.

What goes on is what the client has said, with the model's own name in it; what comes back are the bytes of the server. The
call is the model's all the same, with its retries, limits, budget and ledger.

So a request goes on only where hocket has nothing to add or to take away: the model has no options of its own, no cache, and
nobody listens to its messages. Failures have our own messages, as usual.
"""

from typing import cast

from pydantic_core import to_json

from hocket._pipeline.cache import choose_cache
from hocket.errors import HocketError
from hocket.http.request import HTTPRequest
from hocket.messages import AIMessage, HumanMessage, UsageMetadata
from hocket.messages.content import Fields
from hocket.remote.chat_model import RemoteChatModel
from hocket.remote.relay import Relay
from hocket.serving.gateway.face import AnswerRequest, ReplyWriter, Said

__all__ = ["PASSED", "PassThrough", "RelayWriter", "is_of_format"]

PASSED = (b"x-hocket-path", b"pass")
"""The header of a reply that went through."""

_NOT_ON = ("metadata",)
"""What a client says to the gateway, and not to the model."""


class PassThrough:
    """Finds out which requests may go on, and makes them."""

    def __init__(self) -> None:
        self._templates: dict[tuple[int, str, bool], tuple[HTTPRequest, Fields] | None] = {}

    def open(self, model: object, format: str, request: AnswerRequest) -> Relay | None:
        """Return a request that goes on; None: it has to be translated.

        Args:
            model: that is asked.
            format: of the client.
            request: as it was read.
        """
        if not isinstance(model, RemoteChatModel):
            return None
        key = id(model), format, request.stream  # models live as long as their gateway
        if key not in self._templates:
            self._templates[key] = _make_template(model, format, stream=request.stream)
        found, format_of_model = self._templates[key], model._relay_format  # pyright: ignore[reportPrivateUsage]  # of the package
        if found is None or format_of_model is None or not _is_alone(model):
            return None
        if request.options.keys() - model._call_options.model_fields.keys():  # pyright: ignore[reportPrivateUsage]  # as above
            return None  # what hocket does not know may ask another model (OpenRouter's ``models``): it is refused
        template, made = found
        body = {**request.body, "model": made["model"]} if "model" in made else dict(request.body)
        if format != "messages":
            for name in _NOT_ON:
                body.pop(name, None)
        if request.stream and "stream_options" in made:
            body["stream_options"] = {**cast(Fields, body.get("stream_options") or {}), **made["stream_options"]}
        headers = template.headers
        if betas := cast("list[str]", request.options.get("betas", ())):
            known = headers.get("anthropic-beta")
            headers = {**headers, "anthropic-beta": ",".join((known, *betas) if known else betas)}
        sent = HTTPRequest(template.method, template.url, headers, to_json(body))
        return Relay(model, format_of_model, sent, shows_summary=request.include_usage or format != "chat")


def is_of_format(model: object, format: str) -> bool:
    """Whether the server of a model speaks the format of a client."""
    own = model._relay_format if isinstance(model, RemoteChatModel) else None  # pyright: ignore[reportPrivateUsage]  # of the package
    return own is not None and own.name == format


def _make_template(model: RemoteChatModel, format: str, *, stream: bool) -> tuple[HTTPRequest, Fields] | None:
    """Return the request of a call that says nothing, and its body; None: the model's requests are not the client's."""
    own = model._relay_format  # pyright: ignore[reportPrivateUsage]  # of the package
    fields = model.__dict__
    is_ours = type(model).__module__.startswith("hocket.")
    has_options = any(fields[name] is not None for name in model._option_fields if name != "model")  # pyright: ignore[reportPrivateUsage]  # as above
    is_odd = bool(model.disable_streaming) or fields.get("streaming") or fields.get("extra_body")
    if own is None or own.name != format or not is_ours or has_options or is_odd or model.unsupported != "raise":
        return None
    try:
        template = model._write([HumanMessage("-")], model._merge_options(None, {}), stream=stream)  # pyright: ignore[reportPrivateUsage]  # as above
    except HocketError:
        return None
    return template, template.json


def _is_alone(model: RemoteChatModel) -> bool:
    """Whether nobody has to see the messages of a call: neither a cache nor a handler."""
    return choose_cache(model.cache) is None and not model._has_listeners(None)  # pyright: ignore[reportPrivateUsage]  # of the package


class RelayWriter(ReplyWriter):
    """Writes what has come through; what has not, in the words of the face.

    Args:
        relay: has the bytes.
        face: writes failures, and what a server says in another way than it was asked.
    """

    def __init__(self, relay: Relay, face: ReplyWriter) -> None:
        super().__init__()
        self._relay = relay
        self._face = face
        self._has_passed = False

    def write(self, item: Said) -> bytes:
        data = self._relay.take()
        self._has_passed = self._has_passed or bool(data)
        if not self._has_passed:
            return self._face.write(item)
        if isinstance(item, AIMessage):
            self._note(item)
        return data

    def end(self) -> bytes:
        if self._has_passed:
            return self._relay.take()
        self.usage: UsageMetadata | None = self._face.usage
        self.facts: Fields = self._face.facts
        return self._face.end()

    def fail(self, error: Exception) -> bytes:
        self.has_failed = True
        return self._relay.take() + self._face.fail(error)
