"""What was found is cut down to what the question is about."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from hocket.callbacks.base_manager import Callbacks
from hocket.documents import BaseDocumentCompressor, BaseDocumentTransformer, Document
from hocket.embeddings import Embeddings
from hocket.errors import InvalidHook, InvalidInput
from hocket.prompt_values import ChatPromptValue
from hocket.retrievers import (
    ContextualCompressionRetriever,
    DocumentCompressorPipeline,
    EmbeddingsFilter,
    LLMChainExtractor,
)
from hocket.runnables import RunnableLambda
from hocket.text_splitters import CharacterTextSplitter
from tests.kit import hook_model
from tests.retrievers.kit import Fixed, Meeting, Runs, texts

pytestmark = pytest.mark.anyio

FOUND = [Document(text) for text in ("north", "east", "south")]


class Compass(Embeddings):
    """Knows where words point to."""

    points = {"north": [0.0, 1.0], "east": [2.0, 0.0], "south": [0.0, -1.0], "northeast": [1.0, 1.1]}  # noqa: RUF012

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        return [self.points[text] for text in texts if text in self.points]


class Shout(BaseDocumentCompressor):
    """Sync; calls a runnable of its own, and writes down what it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []

    def compress_documents(
        self, documents: Sequence[Document], query: str, callbacks: Callbacks = None
    ) -> Sequence[Document]:
        self.asked.append(query)
        shout = RunnableLambda(str.upper, name="shout")
        config: Any = {"callbacks": callbacks}
        return tuple(Document(shout.invoke(one.page_content, config)) for one in documents)


class Nothing(BaseDocumentTransformer):
    """Leaves nothing."""

    async def atransform_documents(self, documents: Sequence[Document], **kwargs: object) -> Sequence[Document]:
        return []


def compressed(compressor: BaseDocumentCompressor, found: list[Document]) -> ContextualCompressionRetriever:
    base = Fixed(documents=found, name="base")
    return ContextualCompressionRetriever(base_compressor=compressor, base_retriever=base)


async def test_the_nearest_documents_are_kept_best_first() -> None:
    found = await compressed(EmbeddingsFilter(Compass(), similarity_threshold=0.1), FOUND).ainvoke("northeast")
    assert texts(found) == ["north", "east"]
    assert [one.score for one in found] == pytest.approx([1.1 / 2.21**0.5, 1 / 2.21**0.5])
    assert FOUND[0].score is None


async def test_so_many_at_most() -> None:
    near = EmbeddingsFilter(Compass(), k=1)
    assert texts(await near.acompress_documents(FOUND, "south")) == ["south"]
    assert await near.acompress_documents([], "south") == []
    everything = EmbeddingsFilter(Compass(), k=None, similarity_threshold=-1)
    assert len(await everything.acompress_documents(FOUND, "south")) == 3


async def test_too_few_vectors() -> None:
    with pytest.raises(InvalidHook, match="1 vectors for 2 texts"):
        await EmbeddingsFilter(Compass()).acompress_documents([FOUND[0], Document("up")], "south")


@pytest.mark.parametrize(
    ("fields", "problem"),
    [
        ({"k": None}, "needs k or similarity_threshold"),
        ({"k": 0}, "a whole number above 0"),
        ({"similarity_threshold": 2}, "from -1 to 1"),
    ],
    ids=str,
)
def test_a_filter_that_means_nothing(fields: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        EmbeddingsFilter(Compass(), **fields)


async def test_steps_in_a_row() -> None:
    shout = Shout()
    split = CharacterTextSplitter(separator=" ", chunk_size=5, chunk_overlap=0)
    pipeline = DocumentCompressorPipeline([split, EmbeddingsFilter(Compass(), k=2), shout])
    found = await compressed(pipeline, [Document("south east"), Document("north")]).ainvoke("northeast")
    assert texts(found) == ["NORTH", "EAST"]
    assert shout.asked == ["northeast"]


async def test_behind_a_step_that_leaves_nothing_none_is_asked() -> None:
    shout = Shout()
    assert await compressed(DocumentCompressorPipeline([Nothing(), shout]), FOUND).ainvoke("x") == []
    assert await compressed(shout, []).ainvoke("x") == []
    assert shout.asked == []


RULES = Document(
    "Bleed the boiler\n  in May. Feed the cat. Say {nothing}.", id="7", metadata={"source": "rules", "start_index": 40}
)


@pytest.mark.parametrize(
    ("answer", "kept"),
    [
        ("Bleed the boiler in May.\nFeed the cat.", "Bleed the boiler in May.\nFeed the cat."),
        ('- "Feed the cat."\nThe cat is hungry.', "Feed the cat."),
        ("Say {nothing}.", "Say {nothing}."),
        ("NO_OUTPUT", None),
        ("", None),
    ],
)
async def test_a_model_copies_and_makes_nothing_up(answer: str, kept: str | None) -> None:
    found = await LLMChainExtractor.from_llm(hook_model(answer)).acompress_documents([RULES], "cat?")
    assert [(one.page_content, one.id, one.metadata) for one in found] == (
        [(kept, "7", {"source": "rules"})] if kept else []
    )


async def test_a_model_is_asked_about_all_documents_at_once() -> None:
    """Their order stays; what is asked and what they say stands in no system message."""
    meeting = Meeting(3)

    async def copy(prompt: ChatPromptValue) -> str:
        system, human = prompt.to_messages()
        assert "north" not in system.text
        await meeting.arrive()
        return human.text.rpartition("\n")[2]

    with anyio.fail_after(30):
        found = await compressed(LLMChainExtractor.from_llm(copy), FOUND).ainvoke("to the {north}?")
    assert found == FOUND


async def test_an_extractor_without_a_text() -> None:
    with pytest.raises(InvalidHook, match="returned list; it returns a text"):
        await LLMChainExtractor(RunnableLambda(lambda asked: ["x"])).acompress_documents(FOUND, "x")


@pytest.mark.parametrize(("steps", "problem"), [([], "at least one step"), ([Fixed()], "neither a BaseDocument")])
def test_a_pipeline_of_something_else(steps: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        DocumentCompressorPipeline(steps)


async def test_runs_inside_are_children() -> None:
    """The retriever's, and those of the compressor."""
    runs = Runs()
    await compressed(Shout(), FOUND[:1]).ainvoke("x", {"callbacks": [runs]})
    outer = "ContextualCompressionRetriever"
    assert [one[:2] for one in runs.children] == [(None, outer), (outer, "base"), (outer, "shout")]


def test_and_for_sync_code() -> None:
    assert texts(compressed(Shout(), FOUND).invoke("x")) == ["NORTH", "EAST", "SOUTH"]
    assert texts(EmbeddingsFilter(Compass(), k=1).compress_documents(FOUND, "east")) == ["east"]
