"""OpenAI's embeddings in front of any embedding model.

Source: https://platform.openai.com/docs/api-reference/embeddings. Its Python client asks for vectors as base64 of
little-endian floats of four bytes, and turns them back into numbers.
"""

import array
import base64
import sys
from dataclasses import dataclass
from typing import cast

from hocket._asgi import Send
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.messages import UsageMetadata
from hocket.messages.content import Fields
from hocket.remote.embeddings import RemoteEmbeddings
from hocket.runnables.config import set_config_context
from hocket.serving.gateway.exchange import GatewayExchange
from hocket.serving.gateway.fields import find_field, is_list_of, read_object, refuse_field, require_field
from hocket.serving.message_parts import encode_json
from hocket.serving.refusals import Refusal
from hocket.tokens import acount_tokens

__all__ = ["EmbeddingExchange"]

_KNOWN = frozenset({"model", "input", "encoding_format", "dimensions", "user"})


@dataclass(frozen=True, kw_only=True)
class _Request:
    """What a client asks for."""

    model: str
    texts: list[str]
    is_base64: bool
    dimensions: int | None


class EmbeddingExchange(GatewayExchange[_Request]):
    """One request for vectors. `GatewayExchange` tells the arguments."""

    def _read(self, body: bytes) -> _Request:
        fields = read_object(body)
        if unknown := sorted(fields.keys() - _KNOWN):
            raise Refusal(status=400, message=f"there is no field {unknown[0]!r} in a request", param=unknown[0])
        given: object = fields.get("input")
        texts = [given] if isinstance(given, str) else given
        if not texts or not is_list_of(str, texts):
            raise refuse_field("input", given, "a text, or a list of texts: tokens are the affair of a model")
        encoding: object = fields.get("encoding_format", "float")
        if encoding not in ("float", "base64"):
            raise refuse_field("encoding_format", encoding, "float or base64")
        return _Request(
            model=require_field(fields, "model", str, "the name of a model"),
            texts=cast("list[str]", texts),
            is_base64=encoding == "base64",
            dimensions=find_field(fields, "dimensions", int, "a whole number"),
        )

    async def _answer(self, request: _Request, send: Send) -> None:
        model = _resize(self._models.find_embeddings(request.model), request.dimensions)
        with set_config_context({"metadata": self._facts}):
            vectors, usage = await _embed(model, request.texts)
        self._count_usage(request.model, usage)
        written = map(_write_base64, vectors) if request.is_base64 else vectors
        tokens = usage["input_tokens"]
        body: Fields = {
            "object": "list",
            "data": [{"object": "embedding", "index": at, "embedding": one} for at, one in enumerate(written)],
            "model": request.model,
            "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
        }
        await self._send_json(send, encode_json(body))


def _resize(model: Embeddings, dimensions: int | None) -> Embeddings:
    """Return a model that makes vectors of so many numbers.

    Raises:
        Refusal: it makes none but its own.
    """
    if dimensions is None:
        return model
    if not isinstance(model, RemoteEmbeddings) or "dimensions" not in type(model).model_fields:
        raise Refusal(status=400, message="this model has no other dimensions than its own", param="dimensions")
    return model.model_copy(update={"dimensions": dimensions})


async def _embed(model: Embeddings, texts: list[str]) -> tuple[list[list[float]], UsageMetadata]:
    """Return vectors, and what they took: as the model's server told it, or as it is counted here."""
    if any(not text for text in texts):
        raise InvalidInput("input has an empty text, which no model embeds; leave it out")
    usage: UsageMetadata | None = None
    if isinstance(model, RemoteEmbeddings):
        result = await model.aembed(texts)
        vectors, usage = result.embeddings, result.usage
    else:
        vectors = await model.aembed_documents(texts)
    if usage is None:
        count = int(await acount_tokens(str(getattr(model, "model", "")), "\n".join(texts)))
        usage = {"input_tokens": count, "output_tokens": 0, "total_tokens": count}
    return vectors, usage


def _write_base64(vector: list[float]) -> str:
    numbers = array.array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return base64.b64encode(numbers.tobytes()).decode()
