"""Loaders of two parts, and what blobs say of files that cannot be read."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hocket.document_loaders import BaseBlobParser, BlobLoader, GenericLoader
from hocket.documents import Blob, Document
from hocket.errors import DocumentError, InvalidInput


class Files(BlobLoader):
    """Finds the files of a folder, and notes when it has given one."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.given: list[str] = []

    def yield_blobs(self) -> Iterator[Blob]:
        for path in sorted(self.folder.iterdir()):
            self.given.append(path.name)
            yield Blob.from_path(path)


class Lines(BaseBlobParser):
    """Makes a document of each line."""

    def lazy_parse(self, blob: Blob) -> Iterator[Document]:
        for line in blob.as_string().splitlines():
            yield Document(line, metadata={"source": blob.source})


@pytest.fixture
def files(tmp_path: Path) -> Files:
    """Two files."""
    (tmp_path / "a.txt").write_bytes(b"one\r\ntwo")
    (tmp_path / "b.txt").write_text("three")
    return Files(tmp_path)


async def test_what_one_part_finds_the_other_reads(files: Files) -> None:
    """By all four verbs, in order, and with the source of each."""
    loader = GenericLoader(files, Lines())
    loaded = [(Path(one.metadata["source"]).name, one.page_content) for one in await loader.aload()]
    assert loaded == [("a.txt", "one"), ("a.txt", "two"), ("b.txt", "three")]
    assert [one.page_content async for one in loader.alazy_load()] == ["one", "two", "three"]


def test_a_blob_is_found_when_the_ones_before_it_are_read(files: Files) -> None:
    """A folder of any size takes the memory of one blob."""
    documents = GenericLoader(files, Lines()).lazy_load()
    next(documents), next(documents)
    assert files.given == ["a.txt"]
    assert next(documents).page_content == "three"


def test_a_file_that_cannot_be_read_is_named(tmp_path: Path) -> None:
    """The error is that of all loaders, with the way out."""
    gone = Blob.from_path(tmp_path / "gone.txt")
    with pytest.raises(DocumentError, match=r"gone\.txt.*No such file"):
        gone.as_string()
    with pytest.raises(DocumentError, match=r"gone\.txt"), gone.as_bytes_io():
        pass
    (tmp_path / "image.txt").write_bytes(b"\xff\xd8")
    with pytest.raises(DocumentError, match=r"no text in utf-8.*give encoding="):
        Blob.from_path(tmp_path / "image.txt").as_string()
    with pytest.raises(DocumentError, match="no text in klingon"):
        Blob.from_data(b"a", encoding="klingon").as_string()


def test_an_error_of_the_block_stays_what_it_is(tmp_path: Path) -> None:
    """Opening failed only if opening failed; and the file is closed."""
    (tmp_path / "a.txt").write_text("a")
    with pytest.raises(OSError, match="disk full"), Blob.from_path(tmp_path / "a.txt").as_bytes_io() as file:
        raise OSError("disk full")
    assert file.closed


def test_a_text_is_no_stream_of_bytes() -> None:
    """As in LangChain, and with the way out."""
    with pytest.raises(InvalidInput, match=r"use as_bytes\(\)"), Blob.from_data("a").as_bytes_io():
        pass
