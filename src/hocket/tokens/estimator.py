"""Estimating tokens for a model whose tokenizer nobody has, by learning from the usage that its replies report.

The number of tokens is taken for a sum: so much for a word, a letter, a sign, a character of each script, a message and a
request. The prices begin at those of OpenAI's encodings, and every reply with usage corrects them by recursive least
squares (a Kalman filter whose state drifts a little, so that it follows a change of model or subject). What is kept is
the prices and their covariance, 16 and 256 numbers for a model, and never a text.

Byte-pair tokenizers cut text into words, numbers, runs of signs and of white space, and these into pieces. So the number
of tokens is close to a sum over such things, each at a price of its own, and far from the number of characters: by
characters alone code, tables and prose differ by half. They are counted in byte strings, some 10 ns a character.
"""

import json
import math
import operator
import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from hocket.callbacks import BaseCallbackHandler
from hocket.messages import AIMessage, BaseMessage, MessageLikeRepresentation, convert_to_messages
from hocket.outputs import ChatGeneration, LLMResult
from hocket.tokens.approximate import written_tools
from hocket.tokens.media import beside_text
from hocket.tokens.scripts import foreign
from hocket.tokens.token_count import TokenCount

__all__ = ["PRICES", "TokenEstimator", "features"]

PRICES = (
    (0.07, 0.1),  # ASCII letters
    (0.75, 0.5),  # words of them
    (0.4, 0.3),  # digits
    (0.4, 0.3),  # signs
    (0.2, 0.3),  # runs of signs
    (0.02, 0.1),  # spaces
    (0.5, 0.4),  # lines
    (0.3, 0.3),  # indented lines
    (0.5, 0.4),  # other Latin letters, and punctuation beyond ASCII
    (0.75, 0.5),  # Chinese characters and kana
    (0.6, 0.4),  # Hangul
    (0.3, 0.2),  # Cyrillic
    (0.4, 0.4),  # other alphabets
    (2.0, 1.5),  # all other characters
)
"""What a text's `features` are, and about how many tokens one of each takes in OpenAI's encodings, give or take."""

_CLASSES = bytes(
    0x20
    if at in b"\t\v\f "
    else 0x0A
    if at in b"\r\n"
    else 0x30
    if chr(at).isdigit()
    else 0x61
    if chr(at).isalpha()
    else 0x2E
    for at in range(128)
) + bytes(128)


def features(text: str) -> list[int]:
    """Return how many a text has of each of the things that `PRICES` lists."""
    ascii = text.encode("ascii", "ignore")
    classes = b" %b " % ascii.translate(_CLASSES)
    count = classes.count
    scripts = foreign(text)
    return [
        count(b"a"),
        count(b" a") + count(b"\na") + count(b".a") + count(b"0a"),
        count(b"0"),
        count(b"."),
        count(b". ") + count(b".\n") + count(b".a") + count(b".0"),
        count(b" ") - 2,
        count(b"\n"),
        count(b"\n "),
        len(text) - len(ascii) - sum(scripts),
        *scripts,
    ]


_MODELS = 64  # models that are remembered
_PENDING = 1_000  # runs that have started and not ended
_MEDIA = 0.2  # the share of media from which on a request teaches nothing: their price is a guess

_ALL = (*PRICES, (4.0, 2.0), (3.0, 30.0))  # and of a message, and of a request
_START = tuple(price for price, _ in _ALL)
_TRUST = tuple(deviation**2 for _, deviation in _ALL)
_NOISE = 0.03**2  # of a request of the same kind, relative
_DRIFT = 0.005  # how much of what is known of the prices is forgotten at each reply
_FAR = 3.0  # standard deviations beyond which a report counts for less: it may be wrong
_UNKNOWN = 0.1**2  # of a request of any kind
_ABSURD = 10**9  # tokens that no request has
_RECENT = 20  # replies that the error is averaged over


class TokenEstimator(BaseCallbackHandler):
    """Estimates how many tokens a conversation has, better with every reply: after 20, to under 5 % for text of their kind.

    As a callback handler of a model it learns by itself; `observe` teaches it by hand. It is a function of messages, for
    `trim_messages(token_counter=...)`. May be shared by threads and by models; a pickle keeps what was learned.
    """

    def __init__(self) -> None:
        self._fits: dict[str | None, _Fit] = {}
        self._pending: dict[UUID, _Request] = {}
        self._lock = threading.Lock()

    def observe(
        self,
        messages: Iterable[MessageLikeRepresentation],
        usage: Mapping[str, Any] | None,
        *,
        tools: Sequence[Any] | None = None,
        model: str | None = None,
    ) -> None:
        """Learn from a request and the ``usage_metadata`` of its reply, of which ``input_tokens`` counts.

        Without a number there that can be true, nothing is learned; nor where media may make up a fifth of the request,
        for nobody knows what media cost.
        """
        self._learn(_Request(messages, tools), usage, model)

    def estimate(
        self,
        messages: Iterable[MessageLikeRepresentation],
        *,
        tools: Sequence[Any] | None = None,
        model: str | None = None,
    ) -> TokenCount:
        """Return about how many tokens a request has, and within which bounds the true number is expected.

        Args:
            messages: messages or message-likes.
            tools: described along with them.
            model: for this one, as its replies name it (``response_metadata["model_name"]``); of a model that is not
                known, and by default, what was learned from all of them.
        """
        request = _Request(messages, tools)
        with self._lock:
            fit = self._fits.get(model) or self._fits.get(None) or _Fit()
            tokens, error = fit.estimate(request.numbers)
        low, high = tokens * (1 - 2 * error), tokens * (1 + 2 * error)
        guess = request.media
        return TokenCount(
            math.ceil(tokens + guess),
            exact=False,
            low=max(0, math.floor(low + guess / 2)),
            high=math.ceil(high + guess * 2),
        )

    def __call__(self, messages: Sequence[BaseMessage]) -> int:
        """Return `estimate`, where a function that counts tokens is wanted."""
        return self.estimate(messages)

    def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], *, run_id: UUID, **kwargs: Any
    ) -> None:
        """Note what a request is like."""
        params: dict[str, Any] = kwargs.get("invocation_params") or {}
        request = _Request(messages[0], params.get("tools"))
        with self._lock:
            self._pending[run_id] = request
            while len(self._pending) > _PENDING:
                del self._pending[next(iter(self._pending))]

    def on_llm_end(self, response: LLMResult, *, run_id: UUID, **kwargs: Any) -> None:
        """Learn from what the reply says that it cost, unless it is out of a cache."""
        with self._lock:
            request = self._pending.pop(run_id, None)
        first = next((one for candidates in response.generations for one in candidates), None)
        if request is None or not isinstance(first, ChatGeneration) or not isinstance(first.message, AIMessage):
            return
        facts = first.message.response_metadata
        if not facts.get("cache_hit"):
            self._learn(request, first.message.usage_metadata, facts.get("model_name"))

    def on_llm_error(self, error: BaseException, *, run_id: UUID, **kwargs: Any) -> None:
        """Forget the request."""
        with self._lock:
            self._pending.pop(run_id, None)

    def _learn(self, request: "_Request", usage: Mapping[str, Any] | None, model: str | None) -> None:
        tokens = (usage or {}).get("input_tokens")
        if not isinstance(tokens, int) or not 0 < tokens < _ABSURD or request.media > _MEDIA * tokens:
            return
        with self._lock:
            for name in {None, model}:
                fit = self._fits.pop(name, None) or _Fit()
                self._fits[name] = fit  # the last one in the order of use
                fit.learn(request.numbers, tokens - request.media)
            while len(self._fits) > _MODELS:
                del self._fits[next(name for name in self._fits if name is not None)]

    def __getstate__(self) -> dict[str, Any]:
        with self._lock:
            return {"_fits": {name: fit.copy() for name, fit in self._fits.items()}}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__init__()  # type: ignore[misc]
        self.__dict__.update(state)


class _Request:
    """A request in numbers."""

    __slots__ = ("media", "numbers")

    def __init__(self, messages: Iterable[MessageLikeRepresentation], tools: Sequence[Any] | None) -> None:
        known = convert_to_messages(messages)
        texts = written_tools(tools or ())
        self.media: float = 0
        for message in known:
            texts.append(message.text)
            if message.name:
                texts.append(message.name)
            if isinstance(message, AIMessage):
                texts.extend(json.dumps(call, ensure_ascii=False, default=str) for call in message.tool_calls)
            self.media += beside_text(message.content)
        self.numbers = [*features("\n".join(texts)), len(known), 1]


class _Fit:
    """Prices, learned. Errors are relative: a request of 100 tokens teaches as much as one of 100,000."""

    __slots__ = ("covariance", "error", "learned", "prices")

    def __init__(self) -> None:
        self.prices = list(_START)
        self.covariance = [
            [trust if row == at else 0.0 for at in range(len(_TRUST))] for row, trust in enumerate(_TRUST)
        ]
        self.error = _UNKNOWN
        self.learned = 0

    def copy(self) -> "_Fit":
        made = _Fit()
        made.prices, made.covariance = self.prices[:], [row[:] for row in self.covariance]
        made.error, made.learned = self.error, self.learned
        return made

    def estimate(self, numbers: Sequence[float]) -> tuple[float, float]:
        """Return the tokens that ``numbers`` cost, and the standard error of that, relative."""
        tokens = max(1.0, _dot(self.prices, numbers))
        unsure = _dot(numbers, [_dot(row, numbers) for row in self.covariance]) / tokens**2
        return tokens, math.sqrt(self.error + max(0.0, unsure))

    def learn(self, numbers: Sequence[float], tokens: float) -> None:
        """Correct the prices by a request that cost ``tokens``."""
        for at, trust in enumerate(_TRUST):  # what is known leaks away, up to where it began, and no further
            self.covariance[at] = [value * (1 - _DRIFT) for value in self.covariance[at]]
            self.covariance[at][at] += _DRIFT * trust
        given = [number / tokens for number in numbers]
        off = 1 - _dot(self.prices, given)
        spread = [_dot(row, given) for row in self.covariance]
        doubt = _dot(given, spread)
        expected = max(doubt + _NOISE, (off / _FAR) ** 2)
        gain = [value / expected for value in spread]
        self.prices = [price + by * off for price, by in zip(self.prices, gain, strict=True)]
        for row, by in zip(self.covariance, gain, strict=True):
            row[:] = [value - by * other for value, other in zip(row, spread, strict=True)]
        self.learned += 1
        unexplained = min(off**2, 1.0) * (1 - doubt / expected)  # what was expected, times what is left of it
        self.error += (max(_NOISE, unexplained) - self.error) / min(self.learned + 1, _RECENT)


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return math.fsum(map(operator.mul, one, other))
