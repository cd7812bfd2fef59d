"""An embedding model for unit tests, under langchain-core's name: offline and deterministic."""

import math
import random

from pydantic import BaseModel, ConfigDict, Field

from hocket.embeddings.base import Embeddings

__all__ = ["DeterministicFakeEmbedding"]


class DeterministicFakeEmbedding(BaseModel, Embeddings):
    """Gives every text a direction of its own, the same in every process; nothing is said about meaning.

    Vectors have length 1, as those of most providers, so that their dot product is their cosine: 1 for equal texts, and
    near 0 for others. (LangChain's are not scaled, and need numpy.)

    Args:
        size: numbers in a vector.

    Example:
        >>> fake = DeterministicFakeEmbedding(size=8)
        >>> fake.embed_query("a") == fake.embed_documents(["b", "a"])[1]
        True
    """

    model_config = ConfigDict(extra="forbid")

    size: int = Field(ge=1)

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return self.embed_documents(texts)

    def embed_documents(self, texts: list[str]) -> list[list[float]]:
        """Return one vector for each text, in order."""
        return [self._embed(text) for text in texts]

    def _embed(self, text: str) -> list[float]:
        numbers = random.Random(text)  # seeded with a hash of the text that does not change between processes
        vector = [numbers.gauss() for _ in range(self.size)]
        length = math.hypot(*vector)
        return [number / length for number in vector]
