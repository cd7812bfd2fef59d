"""DOCX: a file is a document."""

import io
import posixpath
from collections.abc import Iterator

from hocket.document_loaders.docx_text import DocumentText, Styles
from hocket.document_loaders.files import name_title
from hocket.document_loaders.packages import PackageLoader
from hocket.documents import Document

__all__ = ["DocxLoader"]


class DocxLoader(PackageLoader):
    """Loads a Word document as one document.

    Paragraphs are set apart by empty lines; headings begin with ``#`` as in Markdown, items of lists with ``-``; a row of a
    table is a line, its cells set apart by `` | ``. Headers, footers, notes, comments and what was deleted under "track
    changes" are left out. ``title`` is the document's, else its first heading, else the name of the file without its suffix.

    Args:
        file_path: the file.
        max_bytes: the largest file that is taken; None: any.
        max_expanded_bytes: how large what is read of it may be when it is expanded; None: any size.

    Raises:
        InvalidInput: a limit is no positive number.
        DocumentError: by the verbs: it is no Word document, damaged, encrypted, too large, or has a DTD.
    """

    def read(self, file: io.BufferedReader) -> Iterator[Document]:
        """Yield the document."""
        package = self._open_package(file)
        main = package.find_main_part("word/document.xml")
        styles = Styles()
        package.parse(posixpath.join(posixpath.dirname(main), "styles.xml"), styles)
        title = package.find_title()
        text = DocumentText(styles)
        if not package.parse(main, text) or text.root != "document":
            raise self._refuse_kind("Word document")
        title = title or text.heading or name_title(self.file_path)
        yield Document("\n\n".join(text.blocks), metadata={"source": self.file_path, "title": title})
