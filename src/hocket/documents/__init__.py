"""Documents: pieces of text that know where they come from, and what turns some of them into others. LangChain's names."""

from hocket.documents.blob import BaseMedia, Blob
from hocket.documents.document import Document
from hocket.documents.transformers import BaseDocumentCompressor, BaseDocumentTransformer

__all__ = ["BaseDocumentCompressor", "BaseDocumentTransformer", "BaseMedia", "Blob", "Document"]
