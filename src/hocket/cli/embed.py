"""``hocket embed``: files, or a text, into a collection, which ``hocket similar`` searches.

What is embedded once is not embedded again: of a file that has changed only new passages are, and those that are gone are
forgotten.
"""

import argparse
import os
from pathlib import Path

from hocket.cli.arguments import OneLineParser
from hocket.cli.collections import open_collection
from hocket.cli.output import note
from hocket.cli.standard_input import read_question
from hocket.errors import DocumentError, InvalidInput

__all__ = ["HELP", "configure", "run"]

HELP = "Embed files, or what is piped in, into a collection."

_EXAMPLE = "hocket embed notes *.md"


def configure(parser: OneLineParser) -> None:
    """Add the arguments of this subcommand."""
    parser.declare("collection NAME", "the collection; a new one is made if needed")
    parser.declare("paths FILE", "files, folders, patterns such as 'src/**/*.py'; `-`: what is piped in", nargs="+")
    parser.declare("--id NAME", "the name of the piped text (default: standard input)")
    parser.declare("--embed NAME", "the embedding model, provider:model (default: local, which needs no key)")
    parser.declare("--encoding NAME", "of text that is not UTF-8: cp1252, latin-1")


def run(arguments: argparse.Namespace) -> None:
    """Embed what is new.

    Raises:
        InvalidInput: there is nothing to embed, or the collection is another model's.
        DocumentError: a file that was named cannot be read.
        HocketError: the model cannot be used, or the collection cannot be written.
    """
    from hocket.cli.ask_index import OVERLAP, PIECE, tell_failed
    from hocket.cli.chat.fragments import find_files
    from hocket.document_loaders import FilesLoader, open_documents
    from hocket.documents import Document
    from hocket.indexing import index
    from hocket.text_splitters import RecursiveCharacterTextSplitter

    named = [os.path.abspath(Path(path).expanduser()) for path in arguments.paths if path != "-"]
    files = [file for path in named for file in find_files(Path(path))]
    failed: list[DocumentError] = []

    def pass_over(error: DocumentError) -> None:
        if error.path in named:
            raise error
        failed.append(error)

    sources: list[FilesLoader | list[Document]] = []
    if files:
        sources.append(open_documents(*files, encoding=arguments.encoding, on_error=pass_over))
    if "-" in arguments.paths:
        text = read_question(["-"], _EXAMPLE) or ""
        sources.append([Document(text, metadata={"source": arguments.id or "standard input"})])
    if not sources:
        raise InvalidInput(f"there is no file in {', '.join(arguments.paths)}; write  {_EXAMPLE}")
    splitter = RecursiveCharacterTextSplitter(chunk_size=PIECE, chunk_overlap=OVERLAP, add_start_index=True)
    with open_collection(arguments.collection, arguments.embed, may_be_new=True) as store:
        results = [index(source, store, cleanup="incremental", splitter=splitter) for source in sources]
    tell_failed(failed)
    counts = [sum(result[key] for result in results) for key in ("num_added", "num_skipped", "num_deleted")]
    note(f"{arguments.collection}: {counts[0]} passages are new, {counts[1]} were there, {counts[2]} are gone")
