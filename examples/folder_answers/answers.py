"""Answers from a folder: index it, and ask.

python answers.py "When is the boiler bled?" --folder handbook
"""

import argparse
import asyncio
import os

from hocket import (
    RecursiveCharacterTextSplitter,
    SQLiteVectorStore,
    aindex,
    create_retrieval_chain,
    create_stuff_documents_chain,
    init_chat_model,
    init_embeddings,
    open_documents,
)


async def answer(question: str, folder: str, index: str) -> None:
    store = SQLiteVectorStore(index, init_embeddings(os.environ.get("HOCKET_EMBEDDINGS", "local")))
    splitter = RecursiveCharacterTextSplitter(chunk_size=900, chunk_overlap=100)

    # One stream from the files to the index, in the memory of a few documents. What has not changed is not embedded
    # again, and what is gone from the folder goes from the index. Given the loader itself, it knows which files could not
    # be read, and leaves their pieces alone.
    loader = open_documents(folder, on_error="skip")
    changes = await aindex(loader, store, cleanup="full", splitter=splitter)
    print(
        f"{folder}: {changes['num_added']} pieces new, {changes['num_skipped']} as before, "
        f"{changes['num_deleted']} gone"
    )
    for error in loader.skipped:
        print(f"left out: {error}")

    model = init_chat_model(os.environ.get("HOCKET_MODEL", "local"), max_tokens=200)
    retriever = store.as_retriever(search_type="hybrid", search_kwargs={"k": 3})  # by meaning and by words
    chain = create_retrieval_chain(retriever, create_stuff_documents_chain(model))
    found = await chain.ainvoke({"input": question})
    for number, passage in enumerate(found["context"], start=1):
        print(f"[{number}] {passage.metadata['source']}: {passage.page_content.splitlines()[-1][:100]}")
    print(f"\n{found['answer']}")
    print("It names:", ", ".join(citation.source for citation in found["citations"]) or "nothing")


def main() -> None:
    parser = argparse.ArgumentParser(description="Answers from a folder.")
    parser.add_argument("question")
    parser.add_argument("--folder", default="handbook")
    parser.add_argument("--index", default="index.sqlite", help="where the index is kept")
    given = parser.parse_args()
    asyncio.run(answer(given.question, given.folder, given.index))


if __name__ == "__main__":
    main()
