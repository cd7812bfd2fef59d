"""A retriever is a runnable with one hook, and each call of it is a run of its own."""

from typing import Any

import pytest

from hocket.callbacks import AsyncCallbackHandler, CallbackManagerForRetrieverRun
from hocket.documents import Document
from hocket.errors import InvalidHook, InvalidInput
from hocket.retrievers import BaseRetriever
from hocket.runnables import RunnableLambda

pytestmark = pytest.mark.anyio

NOTES = ["bleed the boiler", "feed the cat"]


class Notes(BaseRetriever):
    """Defines the async hook."""

    notes: list[str] = NOTES

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any, upper: bool = False) -> list[Document]:
        if query == "broken":
            raise KeyError(query)
        found = [note for note in self.notes if query in note]
        return [Document(note.upper() if upper else note) for note in found]


class SyncNotes(BaseRetriever):
    """Defines the sync one, and calls another runnable inside."""

    def _get_relevant_documents(self, query: str, *, run_manager: CallbackManagerForRetrieverRun) -> list[Document]:
        word = RunnableLambda(str.lower, name="lower").invoke(query, {"callbacks": run_manager.get_child()})
        return [Document(note) for note in NOTES if word in note]


class Told(AsyncCallbackHandler):
    """Writes down what it is told."""

    def __init__(self) -> None:
        self.events: list[tuple[Any, ...]] = []
        self.parents: dict[str, Any] = {}

    async def on_retriever_start(self, serialized: Any, query: str, **details: Any) -> None:
        self.parents[details["name"]] = details["run_id"]
        self.events.append(("start", query, details["name"], details["tags"], details["metadata"]))

    async def on_retriever_end(self, documents: Any, **details: Any) -> None:
        self.events.append(("end", [document.page_content for document in documents], details["tags"]))

    async def on_retriever_error(self, error: BaseException, **details: Any) -> None:
        self.events.append(("error", type(error)))

    async def on_chain_start(self, serialized: Any, inputs: Any, **details: Any) -> None:
        self.parents[details["name"]] = details["parent_run_id"]


@pytest.mark.parametrize("kind", [Notes, SyncNotes])
async def test_one_hook_is_enough(kind: type[BaseRetriever]) -> None:
    retriever = kind()
    assert await retriever.ainvoke("boiler") == [Document("bleed the boiler")]
    assert await retriever.abatch(["boiler", "cat"]) == [[Document("bleed the boiler")], [Document("feed the cat")]]
    assert [piece async for piece in retriever.astream("cat")] == [[Document("feed the cat")]]


@pytest.mark.parametrize("kind", [Notes, SyncNotes])
def test_and_for_sync_code(kind: type[BaseRetriever]) -> None:
    retriever = kind()
    assert retriever.invoke("boiler") == [Document("bleed the boiler")]
    assert retriever.batch(["cat"]) == [[Document("feed the cat")]]
    assert list(retriever.stream("cat")) == [[Document("feed the cat")]]


async def test_handlers_are_told_of_the_run() -> None:
    """Its own tags and metadata beside the call's."""
    told = Told()
    retriever = Notes(tags=["own"], metadata={"own": 1}, name="notes")
    await retriever.ainvoke("cat", {"callbacks": [told], "tags": ["call"], "metadata": {"call": 2}})
    with pytest.raises(KeyError):
        await retriever.ainvoke("broken", {"callbacks": [told]})
    assert told.events == [
        ("start", "cat", "notes", ["call", "own"], {"call": 2, "own": 1}),
        ("end", ["feed the cat"], ["call", "own"]),
        ("start", "broken", "notes", ["own"], {"own": 1}),
        ("error", KeyError),
    ]


async def test_runs_inside_are_its_children() -> None:
    told = Told()
    await SyncNotes().ainvoke("CAT", {"callbacks": [told]})
    assert told.parents["lower"] == told.parents["SyncNotes"]


async def test_it_is_a_step_of_a_chain() -> None:
    chain = Notes() | RunnableLambda(lambda documents: len(documents))
    assert await chain.ainvoke("the") == 2


async def test_arguments_of_a_call_reach_the_hook() -> None:
    assert await Notes().ainvoke("cat", upper=True) == [Document("FEED THE CAT")]
    assert await Notes().bind(upper=True).ainvoke("cat") == [Document("FEED THE CAT")]


@pytest.mark.parametrize("question", [None, 3, ["cat"]], ids=str)
async def test_a_question_is_a_text(question: Any) -> None:
    with pytest.raises(InvalidInput, match="takes a question, a text"):
        await Notes().ainvoke(question)


class Empty(BaseRetriever):
    """Defines nothing."""


class Nonsense(BaseRetriever):
    """Returns one document and no list."""

    async def _aget_relevant_documents(self, query: str, *, run_manager: Any) -> Any:
        return Document("x")


@pytest.mark.parametrize(("kind", "problem"), [(Empty, "finds nothing"), (Nonsense, "returned Document")])
async def test_a_class_that_breaks_the_contract_is_told_so(kind: type[BaseRetriever], problem: str) -> None:
    with pytest.raises(InvalidHook, match=problem):
        await kind().ainvoke("x")
