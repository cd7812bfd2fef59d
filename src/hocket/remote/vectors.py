"""Vectors, as OpenAI's embeddings API has them, and with it Mistral's and that of many servers."""

import binascii
import sys
from array import array
from typing import cast

from hocket.http.request import HTTPReply
from hocket.messages.content import Fields, FieldsView
from hocket.remote.chat_completion import decode_token_usage
from hocket.remote.embeddings import EmbeddingResult
from hocket.remote.reply import read_reply

__all__ = ["decode_vectors"]


def decode_vectors(reply: HTTPReply, provider: str) -> EmbeddingResult:
    """Return the vectors of a reply, in the order of the texts, which is that of ``index`` and not that of the list.

    Raises:
        LLMError: the reply says that the request failed, although its status is that of a good one.
        InvalidReply: it is not what the format says, or has not one vector for each index.
    """
    return read_reply(reply, provider, _read, "list of vectors")


def _read(data: FieldsView) -> EmbeddingResult:
    items: list[Fields] = data["data"]
    vectors = {item.get("index", place): _vector(item["embedding"]) for place, item in enumerate(items)}
    return EmbeddingResult([vectors[index] for index in range(len(items))], decode_token_usage(data.get("usage")))


def _vector(embedding: object) -> list[float]:
    """Return a vector, out of a list of numbers or out of base64 of little-endian 32-bit floats."""
    if not isinstance(embedding, str):
        return array("d", cast("list[float]", embedding)).tolist()  # refuses what is no number
    numbers = array("f", binascii.a2b_base64(embedding, strict_mode=True))
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tolist()
