"""Documents as texts of a prompt.

All that show documents to a model need them so: prompts, tools and chains. So this is written down here, below all of
them, and says of a prompt only what it uses.
"""

from collections.abc import Sequence
from typing import Protocol

from hocket.documents.document import Document
from hocket.errors import InvalidInput

__all__ = ["DocumentPrompt", "aformat_document", "format_document"]


class DocumentPrompt(Protocol):
    """A template of a text, such as a `PromptTemplate`."""

    @property
    def input_variables(self) -> Sequence[str]:
        """The names of the values that it takes."""
        ...

    def format(self, **values: object) -> str:
        """Return it filled."""
        ...

    async def aformat(self, **values: object) -> str:
        """Return it filled."""
        ...


def format_document(doc: Document, prompt: DocumentPrompt) -> str:
    """Return a template filled with a document. What the document says stays as it is, braces included.

    Examples:
        >>> from hocket.prompts import PromptTemplate
        >>> prompt = PromptTemplate.from_template("{page_content} ({source})")
        >>> format_document(Document("Bleed {it} in May.", metadata={"source": "rules.txt"}), prompt)
        'Bleed {it} in May. (rules.txt)'

    Args:
        doc: the document.
        prompt: its variables are ``page_content`` and keys of the metadata.

    Raises:
        InvalidInput: the document does not have what a variable is called after.
    """
    return prompt.format(**_read_values(doc, prompt))


async def aformat_document(doc: Document, prompt: DocumentPrompt) -> str:
    """Return a template filled with a document: the async twin of `format_document`."""
    return await prompt.aformat(**_read_values(doc, prompt))


def _read_values(doc: Document, prompt: DocumentPrompt) -> dict[str, object]:
    known = {**doc.metadata, "page_content": doc.page_content}
    missing = [name for name in prompt.input_variables if name not in known]
    if missing:
        raise InvalidInput(
            f"the prompt of a document has the variables {missing}, and this document has only {sorted(known)}; "
            "set them in its metadata, or leave them out of the prompt"
        )
    return {name: known[name] for name in prompt.input_variables}
