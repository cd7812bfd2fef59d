"""Files that have not changed are not opened again, and what is believed of them the store has to confirm."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from anyio import to_thread

from hocket import InMemoryVectorStore, RecursiveCharacterTextSplitter, aindex, open_documents
from hocket.document_loaders import FilesLoader
from hocket.documents import Document
from hocket.embeddings.fakes import DeterministicFakeEmbedding
from hocket.errors import InvalidInput

pytestmark = pytest.mark.anyio

SPLITTER = RecursiveCharacterTextSplitter(chunk_size=10, chunk_overlap=0)


class Folder:
    """A folder, a store of it, and what was opened."""

    def __init__(self, path: Path) -> None:
        self.path = path / "files"
        self.path.mkdir()
        self.stamps = path / "stamps.json"
        self.store = InMemoryVectorStore(DeterministicFakeEmbedding(size=4))
        self.opened: list[str] = []

    def write(self, **texts: str) -> None:
        for name, text in texts.items():
            (self.path / f"{name}.txt").write_text(text)

    async def index(self, cleanup: Any = "incremental", splitter: Any = SPLITTER) -> tuple[list[str], tuple[int, ...]]:
        """Return the names of the files that were opened; and what was added, skipped and deleted."""
        opened: list[str] = []
        loader = open_documents(self.path, on_error="skip")
        choose = loader.make_loader

        def watch(path: str) -> Any:
            opened.append(Path(path).stem)
            return choose(path)

        loader.make_loader = watch
        result = await aindex(loader, self.store, cleanup, splitter=splitter, stamps=self.stamps)
        return opened, (result["num_added"], result["num_skipped"], result["num_deleted"])

    async def sources(self) -> set[str]:
        documents = await self.store.aget_by_ids(await self.store.alist_ids())
        return {Path(document.metadata["source"]).stem for document in documents}


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    folder = Folder(tmp_path)
    folder.write(a="One two three.", b="Four.", c="Five.")
    return folder


@pytest.mark.parametrize("cleanup", ["incremental", "full"])
async def test_a_file_that_has_not_changed_is_not_opened(folder: Folder, cleanup: str) -> None:
    """What it has in the store counts as skipped, and stays; what is gone from a file or a folder goes."""
    assert await folder.index(cleanup) == (["a", "b", "c"], (4, 0, 0))
    assert await folder.index(cleanup) == ([], (0, 4, 0))
    folder.write(a="One two other.")
    assert await folder.index(cleanup) == (["a"], (1, 3, 1))
    (folder.path / "b.txt").unlink()
    assert await folder.index(cleanup) == ([], (0, 3, 1))
    assert await folder.sources() == {"a", "c"}


@pytest.mark.skipif(os.name == "nt", reason="Windows keeps no time of change that nobody can set")
@pytest.mark.parametrize("is_moved", [False, True])
async def test_a_file_is_read_where_another_of_its_size_and_time_took_its_place(folder: Folder, is_moved: bool) -> None:
    """As `cp -p` does it, into the file or beside it."""
    await folder.index()
    place, other = folder.path / "b.txt", folder.path.parent / "other.txt"
    other.write_text("Fore.")
    times = (place.stat().st_atime_ns, place.stat().st_mtime_ns)
    os.utime(other, ns=times)
    if is_moved:
        other.replace(place)
    else:
        place.write_text("Fore.")
        os.utime(place, ns=times)
    assert await folder.index() == (["b"], (1, 3, 1))


async def test_a_record_of_sizes_and_times_of_content_alone_is_understood(folder: Folder) -> None:
    """As it was written once: all files are read, and what is of one that is gone goes."""
    await folder.index()
    record = json.loads(folder.stamps.read_text())
    record["files"] = {path: [*facts[:2], facts[-1]] for path, facts in record["files"].items()}
    folder.stamps.write_text(json.dumps(record))
    (folder.path / "b.txt").unlink()
    assert await folder.index() == (["a", "c"], (0, 3, 1))
    assert await folder.index() == ([], (0, 3, 0))


async def test_a_run_that_failed_is_made_again(folder: Folder) -> None:
    """The record is of runs that came to their end."""
    await folder.index()
    folder.write(a="A new text.")

    class Broken(RecursiveCharacterTextSplitter):
        def split_text(self, text: str) -> list[str]:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await folder.index(splitter=Broken(chunk_size=10, chunk_overlap=0))
    assert (await folder.index())[0] == ["a"]


async def test_the_store_has_the_last_word(folder: Folder) -> None:
    """A file that it has fewer documents of than were counted is read, as all are where the store was thrown away."""
    await folder.index()
    await folder.store.adelete((await folder.store.alist_ids())[:1])
    assert (await folder.index())[1] == (1, 3, 0)
    await folder.store.adelete()
    assert await folder.index() == (["a", "b", "c"], (4, 0, 0))


async def test_another_splitter_or_option_reads_all(folder: Folder) -> None:
    await folder.index()
    other = RecursiveCharacterTextSplitter(chunk_size=5, chunk_overlap=0)
    assert (await folder.index(splitter=other))[0] == ["a", "b", "c"]
    for encoding in (None, "cp1252", "cp1252"):
        loader = open_documents(folder.path, encoding=encoding)
        result = await aindex(loader, folder.store, "full", splitter=SPLITTER, stamps=folder.stamps)
    assert result["num_skipped"] == 4
    facts = json.loads(folder.stamps.read_text())
    assert "cp1252" in facts["about"] and len(facts["files"]) == 3


async def test_another_function_of_the_path_reads_all(folder: Folder) -> None:
    """And what it says is stored."""
    for name in ("stem", "suffix"):
        loader = open_documents(folder.path, metadata=partial(_tell, name))
        await aindex(loader, folder.store, splitter=SPLITTER, stamps=folder.stamps)
        assert len(await folder.store.alist_ids({name: {"$exists": True}})) == 4


def _tell(name: str, path: Path) -> dict[str, object]:
    return {name: getattr(path, name)}


async def test_rights_that_change_are_stored_and_only_their_files_opened(folder: Folder) -> None:
    """The function is the same one, and no file has changed: what it returns has."""
    rights = dict.fromkeys("abc", "everybody")
    opened: list[str] = []
    loader = open_documents(folder.path, metadata=lambda path: {"team": rights[path.stem]})
    choose = loader.make_loader
    loader.make_loader = lambda path: opened.append(Path(path).stem) or choose(path)  # type: ignore[func-returns-value]

    async def index() -> int:
        result = await aindex(loader, folder.store, "full", splitter=SPLITTER, stamps=folder.stamps)
        return result["num_updated"]

    await index()
    opened.clear()
    rights["a"] = "board"
    assert (await index(), opened) == (2, ["a"])
    assert len(await folder.store.alist_ids({"team": "everybody"})) == 2
    assert (await index(), opened) == (0, ["a"])


async def test_what_is_gone_is_known_also_where_all_is_read_anew(folder: Folder) -> None:
    """With another splitter, say."""
    await folder.index()
    (folder.path / "b.txt").unlink()
    other = RecursiveCharacterTextSplitter(chunk_size=5, chunk_overlap=0)
    await folder.index(splitter=other)
    assert await folder.sources() == {"a", "c"}


async def test_a_file_that_cannot_be_read_is_tried_again_and_its_passages_stay(folder: Folder) -> None:
    await folder.index()
    (folder.path / "b.txt").write_bytes(b"a\0b")
    for _ in range(2):
        assert await folder.index() == (["b"], (0, 3, 0))
    assert await folder.sources() == {"a", "b", "c"}


async def test_a_file_without_a_text_any_more_has_no_passages(folder: Folder) -> None:
    await folder.index()
    folder.write(b=" \n")
    assert await folder.index() == (["b"], (0, 3, 1))


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"about": 1}', '{"about": null, "files": {"a": 1}}'])
async def test_a_damaged_record_costs_time_only(folder: Folder, text: str) -> None:
    await folder.index()
    await to_thread.run_sync(folder.stamps.write_text, text)
    assert (await folder.index())[0] == ["a", "b", "c"]
    assert (await folder.index())[0] == []


async def test_what_was_skipped_is_known_by_the_loader_that_was_given(folder: Folder) -> None:
    (folder.path / "b.txt").write_bytes(b"a\0b")
    loader = open_documents(folder.path, on_error="skip")
    assert isinstance(loader, FilesLoader)
    await aindex(loader, folder.store, splitter=SPLITTER, stamps=folder.stamps)
    assert [os.path.basename(error.path) for error in loader.skipped] == ["b.txt"]


async def test_it_is_for_loaders_of_files(folder: Folder) -> None:
    with pytest.raises(InvalidInput, match=r"stamps= is for a loader of files, as of open_documents, not list"):
        await aindex([Document("x")], folder.store, stamps=folder.stamps)


async def test_without_a_cleanup_nothing_is_deleted(folder: Folder) -> None:
    """Neither of a file that is shorter, or blank, nor of one that is gone."""
    await folder.index(None)
    folder.write(a="One.", b=" ")
    (folder.path / "c.txt").unlink()
    assert (await folder.index(None))[1] == (1, 0, 0)
    assert len(await folder.store.alist_ids()) == 5
