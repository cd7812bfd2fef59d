"""The exam of a vector store: what every store promises, as tests that a store's own test suite inherits.

    from hocket.testing import VectorStoreConformance

    class TestMyVectorStore(VectorStoreConformance):
        has_words = False

        def make(self, embedding: Embeddings) -> MyVectorStore:
            return MyVectorStore(embedding, url=self.url, collection=uuid4().hex)

What a store lacks is said by an attribute (see `VectorStoreSuite`); the refusal is then looked for instead.
"""

from hocket.testing.conformance.vectorstores.crowds import Crowds
from hocket.testing.conformance.vectorstores.filters import Filtering
from hocket.testing.conformance.vectorstores.keeping import Keeping
from hocket.testing.conformance.vectorstores.refusals import Refusals
from hocket.testing.conformance.vectorstores.searches import Searches

__all__ = ["VectorStoreConformance"]


class VectorStoreConformance(Keeping, Refusals, Searches, Filtering, Crowds):
    """Tests of a vector store, for its own suite to inherit. See `VectorStoreSuite` for what to say of it."""
