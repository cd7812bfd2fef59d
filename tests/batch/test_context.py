"""A sentence of context for each piece of a document, by a bulk run."""

from pathlib import Path

import pytest

from hocket import Document, RecursiveCharacterTextSplitter, ScriptedChatModel
from hocket.batch import aadd_context
from hocket.errors import InvalidInput, ProviderUnavailable

pytestmark = pytest.mark.anyio

SPLITTER = RecursiveCharacterTextSplitter(chunk_size=20, chunk_overlap=0)
DOCUMENTS = [Document("Bleed the boiler.\n\nThen it may rest.", metadata={"source": "a.md"}), Document("Short.")]


async def test_each_piece_gets_a_sentence(tmp_path: Path) -> None:
    """Which is in its text and its metadata; the whole document comes first in what is asked."""
    model = ScriptedChatModel(script=["On bleeding\n the boiler.", "The boiler's rest.", ""])
    pieces = await aadd_context(DOCUMENTS, SPLITTER, model, tmp_path / "a.jsonl", max_concurrency=1)
    assert [(piece.page_content, piece.metadata) for piece in pieces] == [
        ("On bleeding the boiler.\n\nBleed the boiler.", {"source": "a.md", "context": "On bleeding the boiler."}),
        ("The boiler's rest.\n\nThen it may rest.", {"source": "a.md", "context": "The boiler's rest."}),
        ("Short.", {}),
    ]
    asked = [str(call.messages[0].content) for call in model.requests]
    assert asked[0].split("A passage of it")[0] == asked[1].split("A passage of it")[0]
    assert DOCUMENTS[0].page_content in asked[0]


async def test_a_second_call_asks_for_what_failed_or_changed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A piece without an answer stays as it is, and the log says so."""
    model = ScriptedChatModel(script=["One.", ProviderUnavailable("down"), "Three.", "Two.", "Four."], retry=1)
    pieces = await aadd_context(DOCUMENTS, SPLITTER, model, tmp_path / "a.jsonl", max_concurrency=1)
    assert [piece.metadata.get("context") for piece in pieces] == ["One.", None, "Three."]
    assert "1 of 3 pieces have no context" in caplog.text
    changed = [DOCUMENTS[0], Document("Other.")]
    pieces = await aadd_context(changed, SPLITTER, model, tmp_path / "a.jsonl", max_concurrency=1)
    assert [piece.metadata.get("context") for piece in pieces] == ["One.", "Two.", "Four."]
    assert len(model.requests) == 5


async def test_of_a_long_document_what_is_near_is_read(tmp_path: Path) -> None:
    document = Document("x " * 500 + "Bleed it now.\n\n" + "y " * 500)
    splitter = RecursiveCharacterTextSplitter(chunk_size=100, chunk_overlap=0)
    model = ScriptedChatModel(script=["Yes."] * 100)
    await aadd_context([document], splitter, model, tmp_path / "a.jsonl", window=200, max_concurrency=1)
    assert max(len(str(call.messages[0].content)) for call in model.requests) < 800
    with pytest.raises(InvalidInput, match="window is 0"):
        await aadd_context([document], splitter, model, tmp_path / "b.jsonl", window=0)
