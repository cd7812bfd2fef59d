"""A document as the text of a prompt: filled in once, whatever it says."""

import pytest

from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.prompts import PromptTemplate, aformat_document, format_document

PROMPT = PromptTemplate.from_template("{page_content} ({source})")


async def test_a_template_is_filled_once() -> None:
    document = Document("{source} {nothing}", metadata={"source": "{page_content}", "page_content": "not the text"})
    assert format_document(document, PROMPT) == "{source} {nothing} ({page_content})"
    assert await aformat_document(document, PROMPT) == format_document(document, PROMPT)


def test_what_a_document_does_not_have() -> None:
    with pytest.raises(InvalidInput, match=r"\['source'\], and this document has only \['page', 'page_content'\]"):
        format_document(Document("x", metadata={"page": 1}), PROMPT)
