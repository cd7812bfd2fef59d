"""OpenAI's encodings: which model uses which, and each of them loaded once."""

import re
import threading
from collections.abc import Callable

from hocket._runtime.callers import warn_caller
from hocket._runtime.mode import ASYNC
from hocket._runtime.portal import holds_up_a_loop
from hocket.errors import BlockingCallWarning, InvalidInput, MissingDependency
from hocket.tokens.packages import NAMES, find

__all__ = ["Encoding", "aget_encoding", "encoding_name_for_model", "find_encoding", "get_encoding"]

_MODELS = {
    "o200k_base": r"gpt-5.*|(gpt-4o|gpt-4\.1|gpt-4\.5|chatgpt-4o|o1|o3|o4-mini)([-:].*)?",
    "o200k_harmony": r"gpt-oss-.*",
    "cl100k_base": r"(gpt-4|gpt-3\.5|gpt-35-turbo|(davinci|babbage)-002|text-embedding-(ada-002|3-small|3-large))([-:].*)?",
    "p50k_base": r"text-davinci-00[23]|code-(davinci|cushman)-00[12]|(davinci|cushman)-codex",
    "p50k_edit": r"(text|code)-davinci-edit-001",
    "r50k_base": r"text-(davinci|curie|babbage|ada)-001|davinci|curie|babbage|ada"
    r"|text-similarity-(davinci|curie|babbage|ada)-001|(text-search-.*-doc|code-search-.*-code)-001",
    "gpt2": r"gpt-?2",
}
"""Which names of models go with each encoding, by tiktoken's table."""

_PATTERNS = {name: re.compile(models) for name, models in _MODELS.items()}

_HELD_UP = (
    "loading the encoding {} holds up the event loop that runs in this thread; await acount_tokens or aget_encoding"
)

_looked_for: "dict[str, Encoding | None]" = {}
_lock = threading.Lock()


class Encoding:
    """An encoding that is loaded: splits text into tokens.

    What looks like a special token, such as ``<|endoftext|>``, is ordinary text here, as it is in a message. Half of a
    surrogate pair, which has no bytes, counts as the replacement character.
    """

    def __init__(
        self,
        name: str,
        encode: Callable[[str], list[int]],
        count: Callable[[str], int],
        decode_token: Callable[[int], bytes],
    ) -> None:
        self.name = name
        self._encode, self._count, self._decode_token = encode, count, decode_token

    def __repr__(self) -> str:
        return f"Encoding({self.name!r})"

    def encode(self, text: str) -> list[int]:
        """Return the ids of the tokens of ``text``."""
        try:
            return self._encode(text)
        except (UnicodeEncodeError, TypeError):
            return self._encode(_whole(text))

    def count(self, text: str) -> int:
        """Return how many tokens ``text`` has."""
        try:
            return self._count(text)
        except (UnicodeEncodeError, TypeError):
            return self._count(_whole(text))

    def decode_token(self, token: int) -> bytes:
        """Return the bytes that a token stands for, which may be a part of a character."""
        return self._decode_token(token)


def _whole(text: str) -> str:
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def encoding_name_for_model(model: str) -> str | None:
    """Return the name of the encoding of a model of OpenAI's, such as "o200k_base"; None: the model is unknown.

    Args:
        model: its name, also as ``openai/gpt-4o``, ``openai:gpt-4o``, a snapshot or a fine-tuned model (``ft:...``).
    """
    name = model.rpartition("/")[2].removeprefix("openai:").removeprefix("ft:")
    return next((encoding for encoding, models in _PATTERNS.items() if models.fullmatch(name)), None)


def get_encoding(name: str) -> Encoding:
    """Return an encoding by name. Loading one takes some 0.5 s, the first time: in an event loop, await `aget_encoding`.

    Raises:
        InvalidInput: OpenAI has no encoding of this name.
        MissingDependency: its tables are not on this machine.
    """
    if name not in NAMES:
        raise InvalidInput(f"there is no encoding {name!r}; there are {', '.join(NAMES)}")
    found = find_encoding(name)
    if found is None:
        has_extra = name in ("o200k_base", "cl100k_base", "o200k_harmony")
        raise MissingDependency(
            f"the tables of the encoding {name!r} are not here, and none are downloaded: "
            + ("pip install 'hocket[tokens]'" if has_extra else "only tiktoken has them, once its cache is filled")
        )
    return found


async def aget_encoding(name: str) -> Encoding:
    """`get_encoding`, loading in a worker thread."""
    return await ASYNC.call_sync(get_encoding, name)


def find_encoding(name: str) -> Encoding | None:
    """Return an encoding; None: its tables are not on this machine, which is then remembered."""
    if name not in _looked_for:
        if holds_up_a_loop():
            warn_caller(_HELD_UP.format(name), BlockingCallWarning)
        with _lock:
            if name not in _looked_for:
                found = find(name)
                _looked_for[name] = None if found is None else Encoding(name, *found)
    return _looked_for[name]
