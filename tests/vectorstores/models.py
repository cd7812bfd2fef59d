"""An embedding model of the tests' own, and documents for it."""

import random
import zlib

from hocket.documents import Document
from hocket.embeddings import Embeddings


class Model(Embeddings):
    """A model whose vectors depend on its name; it keeps what it was asked."""

    def __init__(self, model: str = "first", size: int = 8) -> None:
        self.model = model
        self.size = size
        self.embedded: list[str] = []
        self.limit: int | None = None  # texts after which it fails

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        if self.limit is not None and len(self.embedded) >= self.limit:
            raise OSError("no more")
        self.embedded += texts
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        chance = random.Random(zlib.crc32(f"{self.model} {text}".encode()))
        return [chance.gauss() for _ in range(self.size)]


def make_documents(count: int, start: int = 0) -> list[Document]:
    return [Document(f"text {n}", id=str(n), metadata={"n": n}) for n in range(start, start + count)]
