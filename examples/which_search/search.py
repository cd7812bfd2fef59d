"""Which search is better? Forty questions about the documents of the other examples, by meaning, and by meaning and words.

python search.py
"""

import asyncio
import os
from pathlib import Path

from hocket import Document, InMemoryVectorStore, RecursiveCharacterTextSplitter, init_embeddings, open_documents
from hocket.evaluation import aevaluate, compare, mrr, recall_at, write_page

HERE = Path(__file__).parent
DOCUMENTS = Path(os.environ.get("SEARCH_DOCUMENTS", HERE.parent))


def name(piece: Document) -> Document:
    """Return a piece whose source is as the questions have it: from the folder of the examples on."""
    source = Path(piece.metadata["source"]).relative_to(DOCUMENTS).as_posix()
    return Document(piece.page_content, metadata={**piece.metadata, "source": source})


async def main() -> None:
    loader = open_documents(DOCUMENTS, glob=["**/*.md", "**/handbook/**/*", "**/*.csv", "**/letters.jsonl"])
    splitter = RecursiveCharacterTextSplitter(chunk_size=300, chunk_overlap=0)
    pieces = [name(piece) for piece in splitter.split_documents(await loader.aload())]
    store = InMemoryVectorStore(init_embeddings(os.environ.get("HOCKET_EMBEDDINGS", "local")))
    await store.aadd_documents(pieces)
    print(f"{len(pieces)} pieces")

    scorers = [mrr(), recall_at(1), recall_at(3)]
    for kind in ("similarity", "hybrid"):
        retriever = store.as_retriever(search_type=kind, search_kwargs={"k": 5})
        print(await aevaluate(retriever, HERE / "questions.jsonl", scorers, f"{kind}.jsonl", version=kind))
    comparison = await asyncio.to_thread(compare, "similarity.jsonl", "hybrid.jsonl")
    print(comparison)
    await asyncio.to_thread(write_page, comparison, "search.html")


if __name__ == "__main__":
    asyncio.run(main())
