"""What a scripted model says, as data: what a `Format` is given to put into a provider's words."""

import math
import random
import struct
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, NotRequired, TypedDict

from pydantic_core import to_json

from hocket.errors import InvalidInput

__all__ = ["ReplyContent", "ScriptedToolCall", "VectorContent", "write_arguments"]


class ScriptedToolCall(TypedDict):
    """A tool call that a scripted model makes.

    Attributes:
        name: the tool's.
        args: a mapping; or a str, which is sent as it is, so that it may be no JSON.
        id: default: ``call_1`` for the first one, and so on.
    """

    name: str
    args: Mapping[str, Any] | str
    id: NotRequired[str | None]


@dataclass(frozen=True)
class ReplyContent:
    """A model's reply, in nobody's format.

    Args:
        text: what is said; a list: by each choice in turn, where the request asks for several.
        tool_calls: what is called.
        reasoning: said before the text.
        finish_reason: in the provider's word; None: what follows from the reply.
        usage: goes over the usage that is computed.
        extra: further fields of the message.
        pieces: the number of events that the text is cut into, where it is streamed; None: one a word.
        id: the provider's of the reply, where its format has one; None: one that no other reply of the server has.
    """

    text: str | Sequence[str] = ""
    _: KW_ONLY
    tool_calls: Sequence[ScriptedToolCall] = ()
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict[str, Any])
    extra: Mapping[str, Any] = field(default_factory=dict[str, Any])
    pieces: int | None = None
    id: str | None = None

    def texts(self, choices: int) -> list[str]:
        """Return the text of each choice that a request asks for.

        Raises:
            InvalidInput: the script has another number of texts.
        """
        if isinstance(self.text, str):
            return [self.text] * choices
        if len(self.text) != choices:
            raise InvalidInput(
                f"the script has {len(self.text)} texts here, but the request asks for {choices} choices"
            )
        return list(self.text)


@dataclass(frozen=True)
class VectorContent:
    """The embeddings of the texts of a request, in nobody's format.

    Args:
        values: a vector for each text; None: computed, the same for the same text, of length 1.
        dimensions: of the computed ones, where the request does not say.
    """

    values: Sequence[Sequence[float]] | None = None
    _: KW_ONLY
    dimensions: int = 8

    def for_texts(self, texts: Sequence[str | Sequence[int]], dimensions: int | None = None) -> list[list[float]]:
        """Return a vector for each text of a request, or for the token ids that it has instead.

        Args:
            texts: of the request.
            dimensions: what the request says of the vectors' length; None: nothing.

        Raises:
            InvalidInput: the script has another number of vectors.
        """
        if self.values is None:
            return [_compute_vector(text, dimensions or self.dimensions) for text in texts]
        if len(self.values) != len(texts):
            raise InvalidInput(f"the script has {len(self.values)} vectors here, but the request {len(texts)} texts")
        return [list(vector) for vector in self.values]


def write_arguments(args: Mapping[str, Any] | str) -> str:
    """Return the arguments of a scripted tool call as JSON; those that are a str already, as they are."""
    return args if isinstance(args, str) else to_json(args).decode()


def _compute_vector(text: str | Sequence[int], dimensions: int) -> list[float]:
    """Return a vector of length 1 that ``text`` alone decides, in numbers that are the same in 32 bits."""
    chance = random.Random(text if isinstance(text, str) else str(text))
    values = [chance.uniform(-1, 1) for _ in range(dimensions)]
    length = math.hypot(*values)
    return list(struct.unpack(f"<{dimensions}f", struct.pack(f"<{dimensions}f", *(value / length for value in values))))
