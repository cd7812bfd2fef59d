"""Examples that are about what a call is about: a vector store finds them.

What is compared is the text of an example's values, in the order of their keys, one space between them; the example
itself is the metadata of the document.
"""

import functools
from abc import ABC
from collections.abc import Mapping, Sequence
from typing import Any, Self, TypeVar

from hocket._runtime.portal import run_in_portal
from hocket.documents import Document
from hocket.embeddings import Embeddings
from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.prompts.example_selectors import BaseExampleSelector
from hocket.vectorstores import VectorStore

__all__ = ["MaxMarginalRelevanceExampleSelector", "SemanticSimilarityExampleSelector", "sorted_values"]

V = TypeVar("V")

Example = dict[str, str]


def sorted_values(values: Mapping[str, V]) -> list[V]:
    """Return the values of a mapping, in the order of their keys."""
    return [values[key] for key in sorted(values)]


class _StoredExamples(BaseExampleSelector, ABC):
    """Examples in a vector store.

    Args:
        vectorstore: holds them.
        k: examples at most.
        example_keys: of an example, what goes into the prompt; None: all of it.
        input_keys: of an example, and of a call, what is compared; None: all of it.
        vectorstore_kwargs: further arguments of the search: ``{"filter": ...}``.

    Raises:
        InvalidInput: ``k`` is below 1.
    """

    def __init__(
        self,
        vectorstore: VectorStore,
        k: int = 4,
        example_keys: Sequence[str] | None = None,
        input_keys: Sequence[str] | None = None,
        vectorstore_kwargs: Fields | None = None,
    ) -> None:
        if k < 1:
            raise InvalidInput(f"k is {k}; at least one example is looked for")
        self.vectorstore: VectorStore = vectorstore
        self.k: int = k
        self.example_keys: Sequence[str] | None = example_keys
        self.input_keys: Sequence[str] | None = input_keys
        self.vectorstore_kwargs: Fields = vectorstore_kwargs or {}

    async def _search(self, query: str) -> list[Document]:
        """Return the documents of the examples that are about ``query``."""
        return await self.vectorstore.asimilarity_search(query, self.k, **self.vectorstore_kwargs)

    async def aadd_example(self, example: Example) -> str:
        """Add an example to choose from, and return its id in the store."""
        text = _write_text(example, self.input_keys)
        return (await self.vectorstore.aadd_texts([text], [dict(example)]))[0]

    def add_example(self, example: Example) -> str:
        """Add an example to choose from: the sync face of `aadd_example`."""
        return run_in_portal(functools.partial(self.aadd_example, example))

    async def aselect_examples(self, input_variables: Example) -> list[Fields]:
        """Return the examples for the values of a call, best first."""
        found = await self._search(_write_text(input_variables, self.input_keys))
        return [
            {key: value for key, value in one.metadata.items() if self.example_keys is None or key in self.example_keys}
            for one in found
        ]

    def select_examples(self, input_variables: Example) -> list[Fields]:
        """Return the examples for the values of a call: the sync face of `aselect_examples`."""
        return run_in_portal(functools.partial(self.aselect_examples, input_variables))

    @classmethod
    async def afrom_examples(
        cls,
        examples: Sequence[Example],
        embeddings: Embeddings,
        vectorstore_cls: type[VectorStore],
        k: int = 4,
        input_keys: Sequence[str] | None = None,
        *,
        vectorstore_kwargs: Fields | None = None,
        **selector_or_store: Any,
    ) -> Self:
        """Return a selector of these examples, in a new store.

        Args:
            examples: to choose from.
            embeddings: turns texts into vectors.
            vectorstore_cls: of the store.
            k, input_keys, vectorstore_kwargs: as in the class.
            selector_or_store: ``example_keys``, and ``fetch_k`` where there is one; the rest goes to the store.
        """
        own = {key: selector_or_store.pop(key) for key in ("example_keys", "fetch_k") if key in selector_or_store}
        texts = [_write_text(example, input_keys) for example in examples]
        metadatas = [dict(example) for example in examples]
        store = await vectorstore_cls.afrom_texts(texts, embeddings, metadatas, **selector_or_store)
        return cls(store, k, input_keys=input_keys, vectorstore_kwargs=vectorstore_kwargs, **own)

    @classmethod
    def from_examples(
        cls,
        examples: Sequence[Example],
        embeddings: Embeddings,
        vectorstore_cls: type[VectorStore],
        k: int = 4,
        input_keys: Sequence[str] | None = None,
        *,
        vectorstore_kwargs: Fields | None = None,
        **selector_or_store: Any,
    ) -> Self:
        """Return a selector of these examples, in a new store: the sync face of `afrom_examples`."""
        make = functools.partial(cls.afrom_examples, examples, embeddings, vectorstore_cls, k, input_keys)
        return run_in_portal(functools.partial(make, vectorstore_kwargs=vectorstore_kwargs, **selector_or_store))


class SemanticSimilarityExampleSelector(_StoredExamples):
    """Chooses the examples that are nearest to the values of the call.

    Examples:
        >>> from hocket.embeddings import DeterministicFakeEmbedding
        >>> from hocket.vectorstores import InMemoryVectorStore
        >>> examples = [{"word": "tall", "opposite": "short"}, {"word": "happy", "opposite": "sad"}]
        >>> selector = SemanticSimilarityExampleSelector.from_examples(
        ...     examples, DeterministicFakeEmbedding(size=8), InMemoryVectorStore, k=1, input_keys=["word"]
        ... )
        >>> selector.select_examples({"word": "happy"})
        [{'word': 'happy', 'opposite': 'sad'}]
    """


class MaxMarginalRelevanceExampleSelector(_StoredExamples):
    """Chooses examples that are near to the values of the call, and unlike one another.

    Args:
        fetch_k: the nearest examples, of which these are picked.

    The rest is that of `SemanticSimilarityExampleSelector`.
    """

    def __init__(self, vectorstore: VectorStore, k: int = 4, *, fetch_k: int = 20, **more: Any) -> None:
        super().__init__(vectorstore, k, **more)
        self.fetch_k: int = fetch_k

    async def _search(self, query: str) -> list[Document]:
        search = self.vectorstore.amax_marginal_relevance_search
        return await search(query, self.k, self.fetch_k, **self.vectorstore_kwargs)


def _write_text(values: Mapping[str, str], keys: Sequence[str] | None) -> str:
    """Return the text that is compared.

    Raises:
        InvalidInput: a key of those to compare is missing.
    """
    missing = [key for key in keys or () if key not in values]
    if missing:
        raise InvalidInput(f"there is no {', '.join(map(repr, missing))} to compare; there are {', '.join(values)}")
    return " ".join(map(str, sorted_values(values if keys is None else {key: values[key] for key in keys})))
