"""Each kind of file is cut where it is best cut."""

from pathlib import Path

import anyio
import pytest

from hocket import InMemoryVectorStore, RecursiveCharacterTextSplitter, aindex, open_documents
from hocket.documents import Document
from hocket.embeddings.fakes import DeterministicFakeEmbedding
from hocket.errors import InvalidInput
from hocket.text_splitters import SplitterByKind

MARKDOWN = "# Boiler\n\nBleed it every\n\nMay.\n## Rest\n\nThen it rests."
CODE = "import re\n\n\ndef first():\n\n    return 1\ndef second():\n    return 2\n"


@pytest.mark.parametrize(
    ("source", "text", "second"),
    [
        ("a.md", MARKDOWN, "## Rest\n\nThen it rests."),
        ("A.IPYNB", MARKDOWN, "## Rest\n\nThen it rests."),
        ("b/a.md.gz", MARKDOWN, "## Rest\n\nThen it rests."),
        ("a.txt", MARKDOWN, "May.\n## Rest\n\nThen it rests."),
        (None, MARKDOWN, "May.\n## Rest\n\nThen it rests."),
        ("a.py", CODE, "def first():\n\n    return 1"),
    ],
)
def test_the_name_of_its_source_says_how_a_document_is_cut(source: str | None, text: str, second: str) -> None:
    splitter = SplitterByKind(chunk_size=35, chunk_overlap=0, add_start_index=True)
    pieces = splitter.split_documents([Document(text, metadata={} if source is None else {"source": source})])
    assert pieces[1].page_content == second
    for piece in pieces:
        start = piece.metadata["start_index"]
        assert text[start : start + len(piece.page_content)] == piece.page_content


def test_other_kinds_may_have_splitters_of_their_own() -> None:
    own = RecursiveCharacterTextSplitter(["|"], chunk_size=5, chunk_overlap=0, keep_separator=False)
    splitter = SplitterByKind(by_suffix={".sql": own}, chunk_size=100, chunk_overlap=0)
    (whole,) = splitter.split_documents([Document("ab|cd|ef", metadata={"source": "a.txt"})])
    assert whole.page_content == "ab|cd|ef" and splitter.split_text("ab|cd") == ["ab|cd"]
    pieces = splitter.split_documents([Document("ab|cd|ef", metadata={"source": "a.sql"})])
    assert [piece.page_content for piece in pieces] == ["ab|cd", "ef"]


def test_what_is_no_document_is_refused() -> None:
    with pytest.raises(InvalidInput, match="is no Document"):
        SplitterByKind().split_documents(["text"])  # type: ignore[list-item]


def test_a_folder_is_indexed_by_kind(tmp_path: Path) -> None:
    for name, text in (("a.md", MARKDOWN), ("a.py", CODE)):
        (tmp_path / name).write_text(text)

    async def index() -> int:
        store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
        splitter = SplitterByKind(chunk_size=35, chunk_overlap=0)
        return (await aindex(open_documents(tmp_path), store, splitter=splitter))["num_added"]

    assert anyio.run(index) == 5
