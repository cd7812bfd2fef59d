"""Folders in a fixed order, formats by content, and three ways to meet what cannot be read."""

import logging
import os
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from hocket.document_loaders import BaseLoader, DirectoryLoader, NotionDirectoryLoader, TextLoader, open_documents
from hocket.documents import Document
from hocket.errors import DocumentError, InvalidInput
from tests.document_loaders.files import TEXT_DATA, contents, list_open, make_docx, make_pdf, paragraph, write

pytestmark = pytest.mark.anyio


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with folders."""
    for name in ("b.txt", "a/z.txt", "a/y/deep.txt", "c.md", "B.txt", ".hidden/x.txt", ".x.txt", "a.txt"):
        write(tmp_path / name, f"in {name}")
    return tmp_path


def names(loader: BaseLoader, tree: Path) -> list[str]:
    return [os.path.relpath(document.metadata["source"], tree) for document in loader.load()]


def test_a_folder_has_a_fixed_order(tree: Path) -> None:
    """That of the names, by code points, whatever the file system says."""
    assert names(open_documents(tree), tree) == ["B.txt", "a/y/deep.txt", "a/z.txt", "a.txt", "b.txt", "c.md"]


def test_the_files_of_a_load_can_be_listed(tree: Path) -> None:
    """Without opening them: who keeps an index looks at their sizes and times first."""
    loader = open_documents(tree, tree / "c.md", glob="*.txt")
    assert [os.path.relpath(path, tree) for path in loader.list_files()] == ["B.txt", "a.txt", "b.txt", "c.md"]


def test_a_path_says_metadata(tree: Path) -> None:
    """Beside what the loader knows, and over it, for each document of a file; which file it is of stays true."""
    asked: list[Path] = []

    def read_path(path: Path) -> dict[str, object]:
        asked.append(path)
        return {"team": path.parent.name, "title": "no title", "source": "elsewhere"}

    write(tree / "a" / "rows.csv", "n\n1\n2\n")
    for loader in (open_documents(tree / "a", metadata=read_path), DirectoryLoader(tree / "a", metadata=read_path)):
        asked.clear()
        found = [document.metadata for document in loader.load()]
        assert [facts["team"] for facts in found] == ["a", "a", "y", "a"]
        assert found[0] == {"source": str(tree / "a" / "rows.csv"), "row": 1, "team": "a", "title": "no title"}
        assert asked == [Path(facts["source"]) for facts in found[1:]]


async def test_a_path_that_says_no_metadata_is_an_error(tree: Path) -> None:
    def read_path(path: Path) -> Any:
        return path.name

    with pytest.raises(InvalidInput, match=r"metadata returned 'B.txt' for .*B.txt; it must return a mapping"):
        await open_documents(tree, metadata=read_path, on_error="skip").aload()


def test_paths_are_loaded_as_they_are_given(tree: Path) -> None:
    """Twice, if they are given twice; a file that is named need not match."""
    loader = open_documents(tree / "c.md", tree / "a", tree / "c.md", glob="*.txt")
    assert names(loader, tree) == ["c.md", "a/z.txt", "c.md"]


@pytest.mark.parametrize(
    ("glob", "expected"),
    [
        ("*", ["B.txt", "a.txt", "b.txt", "c.md"]),
        ("**/*.txt", ["B.txt", "a/y/deep.txt", "a/z.txt", "a.txt", "b.txt"]),
        ("a/**/*", ["a/y/deep.txt", "a/z.txt"]),
        ("a/**", ["a/y/deep.txt", "a/z.txt"]),
        ("*/*.txt", ["a/z.txt"]),
        ("?.txt", ["B.txt", "a.txt", "b.txt"]),
        ("[!B].txt", ["a.txt", "b.txt"]),
        ("[a-b].*", ["a.txt", "b.txt"]),
        ("[]x].txt", []),
        ("[^a].txt", ["a.txt"]),
        ("a[!x]z.txt", []),
        ("[!].txt", []),
        ("nothing", []),
        ([], []),
        (["*.md", "*/z.*"], ["a/z.txt", "c.md"]),
        (["a.txt", "*"], ["B.txt", "a.txt", "b.txt", "c.md"]),
        (".x.txt", []),
    ],
)
def test_a_glob_chooses(tree: Path, glob: str | list[str], expected: list[str]) -> None:
    assert names(open_documents(tree, glob=glob), tree) == expected


@pytest.mark.parametrize(
    ("exclude", "expected"),
    [
        ((), ["B.txt", "a/y/deep.txt", "a/z.txt", "a.txt", "b.txt", "c.md"]),
        ("*.txt", ["a/y/deep.txt", "a/z.txt", "c.md"]),
        ("**/*.txt", ["c.md"]),
        ("a", ["B.txt", "a.txt", "b.txt", "c.md"]),
        ("a/**", ["B.txt", "a.txt", "b.txt", "c.md"]),
        (["**/y", "[Bb].txt"], ["a/z.txt", "a.txt", "c.md"]),
    ],
)
def test_files_and_folders_are_left_out(tree: Path, exclude: str | list[str], expected: list[str]) -> None:
    assert names(open_documents(tree, exclude=exclude), tree) == expected
    assert names(DirectoryLoader(tree, exclude=exclude), tree) == expected


def test_a_directory_loader_has_more_to_choose(tree: Path) -> None:
    assert names(DirectoryLoader(tree, max_depth=1), tree) == ["B.txt", "a.txt", "b.txt", "c.md"]
    assert names(DirectoryLoader(tree, "**/*.txt", max_depth=2), tree) == ["B.txt", "a/z.txt", "a.txt", "b.txt"]
    assert ".hidden/x.txt" in names(DirectoryLoader(tree, load_hidden=True), tree)
    (document,) = DirectoryLoader(tree, "c.md", loader_cls=TextLoader).load()
    assert document.metadata["title"] == "c"


def test_links_to_folders_are_not_followed(tree: Path) -> None:
    """A link that leads back up would never end; a link to a file of the folder is a file, and one out of it none."""
    (tree / "a" / "up").symlink_to(tree)
    (tree / "a" / "link.txt").symlink_to(tree / "a" / "z.txt")
    (tree / "a" / "away.txt").symlink_to(tree / "b.txt")
    (tree / "a" / "broken.txt").symlink_to(tree / "a" / "gone.txt")
    (tree / "a" / "circle.txt").symlink_to("circle.txt")  # which must not hide what is beside it
    loader = open_documents(tree / "a", on_error="skip")
    assert names(loader, tree) == ["a/link.txt", "a/y/deep.txt", "a/z.txt"]
    assert [os.path.basename(error.path) for error in loader.skipped] == ["broken.txt", "circle.txt"]


def test_every_format_of_text_is_found(tmp_path: Path) -> None:
    for name, data in TEXT_DATA.items():
        write(tmp_path / name, data)
    write(tmp_path / "f.htm", "<p>Five.")
    write(tmp_path / "g.pdf", make_pdf(["Six."]))
    write(tmp_path / "h.DOCX", make_docx(paragraph("Seven.")))
    assert contents(open_documents(tmp_path)) == [
        "One.\nTwo.\n",
        "# Boilers\n\nBleed them.\n",
        "name: Ada\nage: 36",
        "name: Bob\nage: 41",
        '{"name": "Ada"}',
        '{"name": "Bob"}',
        '{"name": "Ada"}',
        '{"name": "Bob"}',
        "Five.",
        "Six.",
        "Seven.",
    ]


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("a", make_pdf(["One."]), "One."),
        ("a.txt", make_pdf(["One."]), "One."),
        ("a.pdf", b"junk before\n" + make_pdf(["One."]), "One."),
        ("a", make_docx(paragraph("One.")), "One."),
        ("a.bin", b"One.", "One."),
        ("a", b"<!DOCTYPE HTML><p>One.", "One."),
        ("a.txt", b"\xef\xbb\xbf \n<html><p>One.", "One."),
        ("a.md", b"<html><p>One.", "<html><p>One."),
    ],
    ids=lambda value: repr(value)[:20],
)
def test_the_content_decides(tmp_path: Path, name: str, data: bytes, expected: str) -> None:
    """Binary formats are what they are, whatever their names; of text the name may say which kind it is."""
    assert contents(open_documents(write(tmp_path / name, data))) == [expected]


def test_options_reach_the_loaders(tmp_path: Path) -> None:
    path = write(tmp_path / "a.pdf", make_pdf(["One.", "Two."]))
    with pytest.raises(DocumentError, match="at most 1 are read"):
        open_documents(path, max_pages=1).load()
    path = write(tmp_path / "a.docx", make_docx(paragraph("One.")))
    with pytest.raises(DocumentError, match="at most 10 are read; raise max_expanded_bytes="):
        open_documents(path, max_expanded_bytes=10).load()


@pytest.mark.parametrize(
    ("name", "data", "problem"),
    [
        ("a.pdf", b"plain text", "its name says PDF, but its content is not; it is damaged or has a wrong name"),
        ("a.PDF", b"PK\x03\x04...", "its name says PDF, but it is a ZIP archive"),
        ("a.docx", b"plain text", "its name says DOCX, but its content is not"),
        ("a.docx", b"%PDF-1.7", "its name says DOCX, but it is a PDF"),
        ("a.docx", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "it is an Office document that is encrypted or of before 2007"),
        ("a.png", b"plain text", "files of the kind .png are not read"),
        ("a.xls", b"PK\x03\x04...", "files of the kind .xls are not read; convert it"),
        ("a.xlsx", b"plain text", "its name says XLSX, but its content is not"),
        ("a.pptx", make_pdf(["One."]), "its name says PPTX, but it is a PDF"),
        ("a.odt", make_docx(paragraph("One.")), "it is a ZIP archive, but no OpenDocument text"),
        ("a.txt.gz", b"plain text", "its name says gzip, but its content is not"),
        ("a", b"\x89PNG\r\n\x1a\n", "it is a PNG image, which is not read"),
        ("a.txt", b"GIF89a...", "it is a GIF image, which is not read"),
        ("a.txt", b"a\0b", "it has NUL characters"),
        ("a.txt", b"", "it is empty"),
        ("a.csv", b"\x1f\x8b\x08...", "it is cut or damaged"),
    ],
    ids=repr,
)
def test_names_and_contents_that_contradict_each_other(tmp_path: Path, name: str, data: bytes, problem: str) -> None:
    path = write(tmp_path / name, data)
    with pytest.raises(DocumentError, match=problem) as caught:
        open_documents(path).load()
    assert caught.value.path == path


BROKEN = {"b.txt": b"a\0b", "d.pdf": b"text", "e.csv": b'x,y\n1,2\n3,"4\n'}


@pytest.fixture
def broken(tmp_path: Path) -> Path:
    """Three files that can be read, and three that cannot, or not to their end."""
    for name, data in {"a.txt": b"one", "c.txt": b"two", "f.txt": b"three", **BROKEN}.items():
        write(tmp_path / name, data)
    return tmp_path


def test_the_first_error_ends_a_load(broken: Path) -> None:
    seen: list[str] = []
    with pytest.raises(DocumentError, match=r"b\.txt"):
        for document in open_documents(broken).lazy_load():
            seen.append(document.page_content)
    assert seen == ["one"]
    assert list_open(broken) == []


async def test_skipping_goes_on_and_says_what_it_skipped(broken: Path, caplog: pytest.LogCaptureFixture) -> None:
    """In a log, for whoever does not ask, and in `skipped` for whoever does; each load anew."""
    loader = open_documents(broken, on_error="skip")
    with caplog.at_level(logging.WARNING, "hocket.document_loaders"):
        for _ in range(2):
            documents = await loader.aload()
            assert [one.page_content for one in documents] == ["one", "two", "x: 1\ny: 2", "three"]
            assert [os.path.basename(error.path) for error in loader.skipped] == sorted(BROKEN)
    assert [record.getMessage() for record in caplog.records[:3]] == [f"skipped: {error}" for error in loader.skipped]


def test_a_function_gets_the_errors(broken: Path) -> None:
    errors: list[DocumentError] = []
    loader = open_documents(broken, on_error=errors.append)
    assert len(loader.load()) == 4
    assert [os.path.basename(error.path) for error in errors] == sorted(BROKEN)
    assert loader.skipped == errors


def test_a_function_may_raise(broken: Path) -> None:
    def refuse(error: DocumentError) -> None:
        raise KeyError(error.path)

    with pytest.raises(KeyError, match=r"b\.txt"):
        open_documents(broken, on_error=refuse).load()
    assert list_open(broken) == []


@pytest.mark.parametrize("on_error", ["raise", "skip", bool])
async def test_a_path_that_is_named_must_be_there(tmp_path: Path, on_error: Any) -> None:
    """Before anything is read: a folder that is written wrong is not an empty one."""
    there = write(tmp_path / "a.txt", "x")
    for gone in tmp_path / "gone", tmp_path / "gone.txt", tmp_path / "a.txt" / "b.txt":
        loader = open_documents(there, gone, on_error=on_error)
        for verb in loader.load, loader.list_files, DirectoryLoader(gone, on_error=on_error).list_files:
            with pytest.raises(DocumentError, match="there is no such file or folder; check the path"):
                await to_thread.run_sync(verb)
        assert not loader.skipped


def test_other_errors_are_never_skipped(tmp_path: Path) -> None:
    """A fault of a program is no fault of a file."""

    class Faulty(BaseLoader):
        def lazy_load(self) -> Iterator[Document]:
            raise KeyError("x")

    write(tmp_path / "a.txt", "x")
    with pytest.raises(KeyError):
        DirectoryLoader(tmp_path, loader_cls=lambda path: Faulty(), on_error="skip").load()


@pytest.mark.parametrize("in_thread", [False, True])
async def test_an_async_loader_of_ones_own_may_load_the_files(tmp_path: Path, in_thread: bool) -> None:
    """Under both verbs: where a sync iterator is wanted, it runs on hocket's own loop."""

    class Shout(BaseLoader):
        def __init__(self, path: str) -> None:
            self.path = path

        async def alazy_load(self) -> AsyncIterator[Document]:
            async with await anyio.open_file(self.path) as file:
                yield Document((await file.read()).upper())

    write(tmp_path / "a.txt", "one")
    write(tmp_path / "b.txt", "two")
    loader = DirectoryLoader(tmp_path, loader_cls=Shout)
    documents = await anyio.to_thread.run_sync(loader.load) if in_thread else await loader.aload()
    assert [document.page_content for document in documents] == ["ONE", "TWO"]


def test_a_name_that_is_not_utf_8_is_an_error(tmp_path: Path) -> None:
    """Nothing that keeps documents could keep it."""
    with open(os.fsencode(tmp_path) + b"/\xff.txt", "wb") as file:
        file.write(b"x")
    with pytest.raises(DocumentError, match="its name is not UTF-8; rename it"):
        open_documents(tmp_path).load()


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_folder_that_cannot_be_listed_is_an_error(tree: Path) -> None:
    """Its files are not gone."""
    (tree / "a").chmod(0)
    with pytest.raises(DocumentError, match="the folder cannot be listed"):
        open_documents(tree).load()
    (tree / "a").chmod(0o755)


def test_a_folder_that_vanishes_is_an_error(tree: Path) -> None:
    """While it is read: its files are not known to be gone."""
    documents = open_documents(tree).lazy_load()
    next(documents)
    (tree / "a" / "y" / "deep.txt").unlink()
    (tree / "a" / "y").rmdir()
    (tree / "a" / "z.txt").unlink()
    (tree / "a").rmdir()
    with pytest.raises(DocumentError, match="the folder cannot be listed"):
        next(documents)


def test_a_directory_loader_wants_a_directory(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match="there is no such directory; check the path"):
        DirectoryLoader(tmp_path / "gone").load()
    with pytest.raises(DocumentError, match="it is no directory, and one is wanted"):
        DirectoryLoader(write(tmp_path / "a.txt", "x")).load()


def test_an_empty_folder_has_no_documents(tmp_path: Path) -> None:
    assert open_documents(tmp_path).load() == []


def test_what_is_no_argument_is_refused_at_once() -> None:
    for make in (
        lambda: open_documents(),
        lambda: open_documents(""),
        lambda: open_documents("a", glob=""),
        lambda: open_documents("a", glob="/a/*"),
        lambda: open_documents("a", glob="[z-a]"),
        lambda: open_documents("a", on_error="ignore"),  # type: ignore[arg-type]
        lambda: open_documents("a", encoding="utf-9"),
        lambda: open_documents("a", max_bytes=-1),
        lambda: DirectoryLoader("a", max_depth=0),
    ):
        with pytest.raises(InvalidInput):
            make()


def test_an_encoding_is_for_those_that_need_it(tmp_path: Path) -> None:
    """A folder may have files of several; UTF-8 is never misread."""
    write(tmp_path / "a.txt", "Grüße")
    write(tmp_path / "b.txt", "Grüße".encode("cp1252"))
    write(tmp_path / "c.csv", "Größe\n1".encode("cp1252"))
    assert contents(open_documents(tmp_path, encoding="cp1252")) == ["Grüße", "Grüße", "Größe: 1"]


def test_an_export_of_notion(tmp_path: Path) -> None:
    """Pages, by their titles; the lists beside them name the same pages."""
    write(tmp_path / "Team 0123456789abcdef0123456789abcdef.md", "Welcome")
    write(tmp_path / "Team" / "Rules 0123456789abcdef0123456789abcdef.md", "# Our rules\n\nStatus: Done\n")
    write(tmp_path / "Team" / "Rules 0123456789abcdef0123456789abcdef.csv", "Name,Status\nOur rules,Done\n")
    documents = NotionDirectoryLoader(tmp_path).load()
    assert [(one.metadata["title"], one.page_content) for one in documents] == [
        ("Our rules", "# Our rules\n\nStatus: Done\n"),
        ("Team", "Welcome"),
    ]
