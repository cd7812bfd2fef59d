"""Embedding models for unit tests, under langchain-core's names: offline, and without numpy."""

import math
import random
from abc import ABC, abstractmethod
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket.embeddings.base import Embeddings, embed_as_run

__all__ = ["DeterministicFakeEmbedding", "FakeEmbeddings"]


class _Fake(BaseModel, Embeddings, ABC):
    """Embeds each text by itself."""

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    size: int = Field(ge=1)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return await self._embed_all(ASYNC, texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return drive(self._embed_all(BLOCKING, texts))

    async def _embed_all(self, mode: Mode, texts: list[str]) -> list[list[float]]:
        async def embed() -> list[list[float]]:
            return [self._embed(text) for text in texts]

        return await embed_as_run(self, texts, embed, mode=mode)

    @abstractmethod
    def _embed(self, text: str) -> list[float]: ...


class FakeEmbeddings(_Fake):
    """Gives every text another vector each time, of numbers around 0 (normal, of variance 1).

    Args:
        size: numbers in a vector.
    """

    def _embed(self, text: str) -> list[float]:
        return [random.gauss() for _ in range(self.size)]


class DeterministicFakeEmbedding(_Fake):
    """Gives every text a direction of its own, the same in every process; nothing is said about meaning.

    Vectors have length 1, as those of most providers, so that their dot product is their cosine: 1 for equal texts, and
    near 0 for others. (LangChain's are not scaled, and need numpy.)

    Args:
        size: numbers in a vector.

    Examples:
        >>> fake = DeterministicFakeEmbedding(size=8)
        >>> fake.embed_query("a") == fake.embed_documents(["b", "a"])[1]
        True
    """

    def _embed(self, text: str) -> list[float]:
        numbers = random.Random(text)  # seeded with a hash of the text that does not change between processes
        vector = [numbers.gauss() for _ in range(self.size)]
        length = math.hypot(*vector)
        return [number / length for number in vector]
