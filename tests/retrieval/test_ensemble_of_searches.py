"""An ensemble of words and meaning: scores keep the first hits that ranks lose."""

from hocket.providers.local import LocalEmbeddings
from hocket.retrievers import BaseRetriever, EnsembleRetriever
from hocket.vectorstores import InMemoryVectorStore
from tests.retrieval.paraphrases import PARAPHRASES


def test_first_hits() -> None:
    """The questions avoid the words of their passages."""
    store = InMemoryVectorStore.from_texts([passage for passage, _ in PARAPHRASES], LocalEmbeddings())
    by_meaning = store.as_retriever(search_kwargs={"k": 10})
    by_words = store.as_retriever(search_type="hybrid", search_kwargs={"k": 10, "words": 1, "score_threshold": 1e-9})

    def measure_hits(retriever: BaseRetriever) -> float:
        found = [retriever.invoke(question)[0].page_content == passage for passage, question in PARAPHRASES]
        return sum(found) / len(found)

    parts = [by_meaning, by_words]
    by_scores = EnsembleRetriever(retrievers=parts, weights=[0.8, 0.2], method="scores")
    assert measure_hits(by_scores) >= measure_hits(by_meaning) - 0.05
    assert measure_hits(EnsembleRetriever(retrievers=parts)) < 0.5
