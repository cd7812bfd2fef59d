"""Loaders: files in, documents out, one after another. LangChain's names."""

from hocket.document_loaders.base import BaseLoader
from hocket.document_loaders.blobs import BaseBlobParser, BlobLoader, GenericLoader
from hocket.document_loaders.csv_rows import CSVLoader
from hocket.document_loaders.directories import DirectoryLoader, NotionDirectoryLoader
from hocket.document_loaders.docx import DocxLoader
from hocket.document_loaders.folders import FilesLoader
from hocket.document_loaders.html import HTMLLoader
from hocket.document_loaders.json_records import JSONLoader
from hocket.document_loaders.opening import open_documents
from hocket.document_loaders.pdf import PyPDFLoader
from hocket.document_loaders.text import MarkdownLoader, TextLoader
from hocket.document_loaders.web import WebBaseLoader

__all__ = [
    "BaseBlobParser",
    "BaseLoader",
    "BlobLoader",
    "CSVLoader",
    "DirectoryLoader",
    "DocxLoader",
    "FilesLoader",
    "GenericLoader",
    "HTMLLoader",
    "JSONLoader",
    "MarkdownLoader",
    "NotionDirectoryLoader",
    "PyPDFLoader",
    "TextLoader",
    "WebBaseLoader",
    "open_documents",
]
