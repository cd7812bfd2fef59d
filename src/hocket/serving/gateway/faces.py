"""The faces of the gateway, by their paths, and what is asked of models beside answers."""

from collections.abc import Iterable, Mapping

from hocket._asgi import Header
from hocket.serving.gateway.chat_reply import CHAT
from hocket.serving.gateway.completions import COMPLETIONS
from hocket.serving.gateway.embeddings import EmbeddingExchange
from hocket.serving.gateway.exchange import GatewayService
from hocket.serving.gateway.face import Face
from hocket.serving.gateway.messages_reply import MESSAGES, write_messages_refusal
from hocket.serving.gateway.model_exchange import ModelExchange
from hocket.serving.gateway.responses_reply import RESPONSES
from hocket.serving.gateway.token_count import CountExchange
from hocket.serving.refusals import Refusal

__all__ = ["PATHS", "open_exchange", "write_refusal"]

_FACES: Mapping[str, Face] = {
    "/v1/chat/completions": CHAT,
    "/v1/completions": COMPLETIONS,
    "/v1/responses": RESPONSES,
    "/v1/messages": MESSAGES,
}
_OTHERS: Mapping[str, type[EmbeddingExchange] | type[CountExchange]] = {
    "/v1/messages/count_tokens": CountExchange,
    "/v1/embeddings": EmbeddingExchange,
}
PATHS = (*_FACES, *_OTHERS)
"""What models are asked at."""


def open_exchange(
    path: str, service: GatewayService, facts: dict[str, object], headers: list[Header]
) -> ModelExchange | EmbeddingExchange | CountExchange:
    """Return what answers a request to one of `PATHS`. `GatewayExchange` tells the other arguments."""
    if path in _FACES:
        return ModelExchange(_FACES[path], service, facts, headers)
    return _OTHERS[path](service, facts, headers)


def write_refusal(refusal: Refusal, path: str, headers: Iterable[Header], request_id: str) -> bytes:
    """Return the error of a reply: in Anthropic's form for Anthropic's clients, else in OpenAI's.

    Args:
        refusal: what is told.
        path: of the request.
        headers: of the request; Anthropic's clients name a version in theirs, also at paths that OpenAI's have, too.
        request_id: the name of the request.
    """
    is_anthropics = path.startswith("/v1/messages") or any(name == b"anthropic-version" for name, _ in headers)
    return write_messages_refusal(refusal, request_id) if is_anthropics else refusal.body()
