"""Counting tokens for a model: with its tokenizer where one is known, by rule of thumb elsewhere; the result says which.

How a provider wraps messages is known for few models. What OpenAI documents: every message costs 3 tokens, a name 1, and
the reply is primed with 3 ("How to count tokens with tiktoken", OpenAI's cookbook). Tools, tool calls, media, and the
wrapping of other models are guesses, and so is any count with them in it.
"""

import json
import math
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol, TypeAlias, runtime_checkable

from hocket._runtime.mode import ASYNC
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, MessageLikeRepresentation, convert_to_messages, get_buffer_string
from hocket.prompt_values import PromptValue
from hocket.tokens.approximate import count_tokens_approximately, openai_role, written_tools
from hocket.tokens.encodings import encoding_name_for_model, find_encoding, get_encoding
from hocket.tokens.media import CHARACTERS, beside_text
from hocket.tokens.scripts import weight
from hocket.tokens.token_count import TokenCount

__all__ = [
    "Countable",
    "CountsTokens",
    "Tokenizer",
    "acount_tokens",
    "count_messages",
    "count_text",
    "count_tokens",
    "has_tokenizer",
    "name_of",
    "token_ids",
    "tokenizer_of",
]

Countable: TypeAlias = str | PromptValue | Iterable[MessageLikeRepresentation]
"""A text, or what a model takes for a conversation."""

_WRAPPING = 4  # tokens that the wrapping of a message may cost more or less, where it is not known

_DOCUMENTED = re.compile(r"(?:ft:)?(?:gpt-4o?|gpt-3\.5-turbo|gpt-35-turbo)(?:[-:](?!0301|audio|realtime).*)?")


@runtime_checkable
class CountsTokens(Protocol):
    """A model, without importing it."""

    def get_num_tokens(self, text: str) -> int: ...

    def get_num_tokens_from_messages(self, messages: Any, tools: Any = None) -> int: ...


class Tokenizer:
    """How a model splits text into tokens, exactly; its wrapping of messages is taken for ``Human: ...``, as by LangChain.

    Args:
        encode: returns the ids of a text's tokens.
        count: returns how many there are, where that is cheaper.
    """

    priming = 0

    def __init__(self, encode: Callable[[str], list[int]], count: Callable[[str], int] | None = None) -> None:
        self.encode = encode
        self.count: Callable[[str], int] = count or (lambda text: len(encode(text)))

    def count_message(self, message: BaseMessage) -> tuple[int, float]:
        """Return the tokens of a message, and how many of those, or beside those, are uncertain."""
        media = beside_text(message.content)
        return self.count(get_buffer_string([message])) + math.ceil(media), media + _WRAPPING


class _OpenAITokenizer(Tokenizer):
    """An encoding of OpenAI's, and its wrapping of messages; ``documented`` where that is known for certain."""

    priming = 3

    def __init__(self, encode: Callable[[str], list[int]], count: Callable[[str], int], documented: bool) -> None:
        super().__init__(encode, count)
        self._documented = documented

    def count_message(self, message: BaseMessage) -> tuple[int, float]:
        uncertain = beside_text(message.content)
        if isinstance(message, AIMessage):
            for call in message.tool_calls:
                uncertain += 3 + self.count(
                    f"{call['name']}{json.dumps(call['args'], ensure_ascii=False, default=str)}"
                )
        named = 1 + self.count(message.name) if message.name else 0
        sure = 3 + self.count(openai_role(message)) + self.count(message.text) + named
        is_known = self._documented and message.type in ("human", "ai", "system")
        return sure + math.ceil(uncertain), uncertain + (0 if is_known else _WRAPPING)


def tokenizer_of(model: str | None) -> Tokenizer | None:
    """Return the tokenizer of a model of OpenAI's, by its name; None: it is unknown, or its tables are not here."""
    name = encoding_name_for_model(model) if model else None
    encoding = find_encoding(name) if name else None
    if encoding is None:
        return None
    documented = _DOCUMENTED.fullmatch((model or "").rpartition("/")[2].removeprefix("openai:")) is not None
    return _OpenAITokenizer(encoding.encode, encoding.count, documented)


def has_tokenizer(model: object) -> bool:
    """Whether a model may have a tokenizer, which may have to be loaded; if not, its tokens are counted by rule of thumb."""
    if getattr(model, "custom_get_token_ids", None) is not None:
        return True
    name = name_of(model)
    return name is not None and encoding_name_for_model(name) is not None


def name_of(model: object) -> str | None:
    """Return the name that a model object has for its provider."""
    name = getattr(model, "model_name", None) or getattr(model, "model", None)
    return name if isinstance(name, str) else None


def token_ids(tokenizer: Tokenizer | None, text: str, model: object) -> list[int]:
    """Return the tokens of a text.

    Raises:
        MissingDependency: ``model`` is one of OpenAI's, whose tables are not here.
        InvalidInput: nobody knows its tokenizer.
    """
    if tokenizer is None:
        if encoding := encoding_name_for_model(name_of(model) or ""):
            return get_encoding(encoding).encode(text)  # which says what to install
        raise InvalidInput(
            f"{type(model).__name__} has no tokenizer; give it custom_get_token_ids=..., a function from text to ids"
        )
    return tokenizer.encode(text)


def count_text(tokenizer: Tokenizer | None, text: str) -> TokenCount:
    """Return how many tokens a text has: 1 for 4 Latin characters, if there is no tokenizer."""
    if tokenizer is not None:
        return TokenCount(tokenizer.count(text))
    guess = math.ceil(weight(text) / CHARACTERS)
    return _about(guess, guess)


def count_messages(
    tokenizer: Tokenizer | None,
    messages: PromptValue | Iterable[MessageLikeRepresentation],
    tools: Sequence[Any] | None = None,
) -> TokenCount:
    """Return how many tokens a conversation has, and the tools described along with it."""
    known = convert_to_messages(messages)
    if tokenizer is None:
        guess = count_tokens_approximately(known, tools=tools)
        return _about(guess, guess)
    total: int = tokenizer.priming
    uncertain: float = 0
    for message in known:
        tokens, of_those = tokenizer.count_message(message)
        total, uncertain = total + tokens, uncertain + of_those
    described = sum(map(tokenizer.count, written_tools(tools or ())))
    return _about(total + described, uncertain + described)


def _about(total: int, uncertain: float) -> TokenCount:
    """Return a count of which ``uncertain`` tokens are expected to be between half as many and twice as many."""
    if not uncertain:
        return TokenCount(total)
    low, high = total - math.floor(uncertain / 2), total + math.ceil(uncertain)
    return TokenCount(total, exact=False, low=max(0, low), high=high)


def count_tokens(model: str | CountsTokens, what: Countable, *, tools: Sequence[Any] | None = None) -> TokenCount:
    """Return how many tokens a text or a conversation has for a model. Never goes online.

    Exact for a text, where the model's tokenizer is known: OpenAI's, with ``pip install 'hocket[tokens]'``; models that
    bring their own. Exact for a conversation with gpt-3.5, gpt-4 and gpt-4o, if it is text alone; with tools, images and
    the like, and with OpenAI's other models, it is approximate, and with all other models everything is.

    The first count with one of OpenAI's encodings loads it, in some 0.5 s: in an event loop, await `acount_tokens`.

    Args:
        model: a model, or the name of one; a name that is not known gives an approximation.
        what: a text, counted as it stands; or messages, message-likes or a prompt value, counted as a request.
        tools: described along with the messages.

    Returns:
        a number that says whether it is ``exact``, and between which bounds the true one is expected.

    Raises:
        InvalidInput: ``tools`` are given for a text; or ``what`` is neither.
    """
    if isinstance(what, str):
        if tools:
            raise InvalidInput("a text has no tools; pass messages to count tools along with them")
        counted = count_text(tokenizer_of(model), what) if isinstance(model, str) else model.get_num_tokens(what)
    elif isinstance(model, str):
        counted = count_messages(tokenizer_of(model), what, tools)
    else:
        described = {"tools": tools} if tools else {}
        counted = model.get_num_tokens_from_messages(convert_to_messages(what), **described)
    return counted if isinstance(counted, TokenCount) else TokenCount(counted, exact=False)


async def acount_tokens(
    model: str | CountsTokens, what: Countable, *, tools: Sequence[Any] | None = None
) -> TokenCount:
    """`count_tokens`, in a worker thread: neither loading an encoding nor a long text holds up the event loop."""
    return await ASYNC.call_sync(count_tokens, model, what, tools=tools)
