"""Words and meaning together: no worse than the better of the two alone, by more than 0.05 of the first hits."""

from collections.abc import Awaitable, Callable

import anyio
import pytest

from hocket.documents import Document
from hocket.providers.local import LocalEmbeddings
from hocket.vectorstores import InMemoryVectorStore
from tests.retrieval.docstrings import read_docstrings
from tests.retrieval.paraphrases import PARAPHRASES

Search = Callable[[str], Awaitable[list[Document]]]


async def measure_hits(pairs: list[tuple[str, str]]) -> dict[str, float]:
    """Return the share of questions whose passage is found first: by vectors, by words, and by both."""
    async with InMemoryVectorStore(LocalEmbeddings()) as store:
        await store.aadd_texts([passage for passage, _ in pairs])
        hits = {"vectors": 0, "words": 0, "both": 0}
        for passage, question in pairs:
            searches: dict[str, Search] = {
                "vectors": lambda text: store.asimilarity_search(text, 1),
                "words": lambda text: store.ahybrid_search(text, 1, words=1, score_threshold=1e-9),
                "both": lambda text: store.ahybrid_search(text, 1),
            }
            for name, search in searches.items():
                hits[name] += [document.page_content for document in await search(question)] == [passage]
    return {name: count / len(pairs) for name, count in hits.items()}


@pytest.mark.parametrize(
    ("read", "least"),
    [
        pytest.param(lambda: PARAPHRASES, {"vectors": 0.9, "words": 0.0}, id="other words"),
        pytest.param(
            *(lambda: read_docstrings(120), {"vectors": 0.3, "words": 0.3}),
            id="the same words",
            marks=pytest.mark.nightly,
        ),
    ],
)
def test_first_hits(read: Callable[[], list[tuple[str, str]]], least: dict[str, float]) -> None:
    """Rank fusion, which many stores use, finds half as many on the first set."""
    hits = anyio.run(measure_hits, read())
    assert all(hits[name] >= share for name, share in least.items()), hits
    assert hits["both"] >= max(hits.values()) - 0.05, hits


def test_an_error_code_is_found() -> None:
    """Vectors know little of it, among passages that are about the same thing."""
    codes = [f"{letters}-{number}" for letters in ("XQ", "ZV", "KJ", "WB") for number in range(7041, 7046)]
    text = (
        "When the display shows {}, the pressure in the circuit is outside of its limits. Switch the pump off, wait for "
        "ten minutes, open the valve at the top of the boiler, and let the air out until water comes. Then switch it on."
    )
    store = InMemoryVectorStore.from_texts([text.format(code) for code in codes], LocalEmbeddings())

    def count_hits(search: Callable[[str, int], list[Document]]) -> int:
        found = (search(f"What do I do about {code}?", 1)[0] for code in codes)
        return sum(code in document.page_content for code, document in zip(codes, found, strict=True))

    assert count_hits(store.hybrid_search) == len(codes)
    assert count_hits(store.similarity_search) < len(codes)
