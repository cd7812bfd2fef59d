"""A document is its text, its facts and its id; transformers and compressors need one verb."""

import pickle
from collections.abc import Sequence

import pytest
from pydantic import ValidationError

from hocket.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from hocket.errors import DocumentError, InvalidHook
from hocket.load import dumps, loads

pytestmark = pytest.mark.anyio

BOILER = Document("Bleed it in May.", metadata={"source": "rules.pdf", "page": 2}, id="a1")


def test_a_document_takes_its_text_with_or_without_the_name() -> None:
    assert Document("x") == Document(page_content="x")


def test_a_score_is_no_part_of_a_document() -> None:
    """Two searches find the same document, each with a score of its own."""
    assert BOILER.model_copy(update={"score": 0.5}) == BOILER


@pytest.mark.parametrize("change", [{"page_content": "y"}, {"metadata": {}}, {"id": "b"}], ids=str)
def test_everything_else_is(change: dict[str, object]) -> None:
    assert BOILER.model_copy(update=change) != BOILER


def test_metadata_is_not_shared() -> None:
    Document("x").metadata["a"] = 1
    assert Document("y").metadata == {}


def test_a_number_may_be_an_id() -> None:
    """As in LangChain: ids of rows of a table."""
    assert Document.model_validate({"page_content": "x", "id": 3}).id == "3"


def test_it_prints_as_langchains_does() -> None:
    """Old prompts are made of this; an id would change their text."""
    assert str(BOILER) == "page_content='Bleed it in May.' metadata={'source': 'rules.pdf', 'page': 2}"
    assert str(Document("x")) == "page_content='x'"
    assert repr(Document("x")) == "Document(metadata={}, page_content='x')"


def test_it_travels_as_data() -> None:
    assert loads(dumps(BOILER)) == BOILER == pickle.loads(pickle.dumps(BOILER))


@pytest.mark.parametrize("fields", [{"page_content": 3}, {}, {"page_content": "x", "meta": {}}], ids=str)
def test_what_is_no_document_is_refused(fields: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        Document.model_validate(fields)


class Upper(BaseDocumentTransformer):
    """Defines the sync verb."""

    def transform_documents(self, documents: Sequence[Document], **kwargs: object) -> list[Document]:
        return [Document(one.page_content.upper()) for one in documents]


class AsyncUpper(BaseDocumentTransformer):
    """Defines the async one."""

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: object) -> list[Document]:
        return [Document(one.page_content.upper()) for one in documents]


class First(BaseDocumentCompressor):
    """Keeps one."""

    async def acompress_documents(
        self, documents: Sequence[Document], query: str, callbacks: object = None
    ) -> Sequence[Document]:
        return documents[:1]


@pytest.mark.parametrize("kind", [Upper, AsyncUpper])
async def test_one_verb_is_enough(kind: type[BaseDocumentTransformer]) -> None:
    assert await kind().atransform_documents([Document("x")]) == [Document("X")]


@pytest.mark.parametrize("kind", [Upper, AsyncUpper])
def test_its_sync_face_follows(kind: type[BaseDocumentTransformer]) -> None:
    assert kind().transform_documents([Document("x")]) == [Document("X")]


def test_a_compressor_has_a_sync_face_too() -> None:
    assert First().compress_documents([BOILER, Document("x")], "?") == [BOILER]


@pytest.mark.parametrize("base", [BaseDocumentTransformer, BaseDocumentCompressor])
def test_a_class_without_a_verb_is_refused(base: type) -> None:
    with pytest.raises(InvalidHook, match="does nothing: define a"):
        type("Empty", (base,), {})()


def test_an_error_says_where() -> None:
    error = DocumentError("rules.pdf", "it is encrypted; give its password", "page 3")
    assert str(error) == "rules.pdf, page 3: it is encrypted; give its password"
    assert str(pickle.loads(pickle.dumps(error))) == str(error)
    assert str(DocumentError("rules.pdf", "it is empty")) == "rules.pdf: it is empty"
