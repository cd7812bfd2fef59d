"""From a question to an answer with its sources."""

from typing import Any, cast

import anyio
import pytest

from hocket import DeterministicFakeEmbedding, FakeListChatModel, InMemoryCache, PromptTemplate, ScriptedChatModel, Turn
from hocket.chains import (
    NOTHING_FOUND,
    Citation,
)
from hocket.classic.chains import ConversationalRetrievalChain, RetrievalQA, StuffDocumentsChain
from hocket.classic.memory import ConversationBufferMemory
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, HumanMessage, SystemMessage
from hocket.runnables import RunnableLambda
from hocket.runnables.folding import add
from hocket.text_splitters import RecursiveCharacterTextSplitter
from hocket.vectorstores import InMemoryVectorStore
from tests.classic.chains.conftest import STAGES, Log, LoggedMemory, LoggedRetriever, StartHandler
from tests.kit.models import hook_model
from tests.kit.recorders import AsyncRecorder

pytestmark = pytest.mark.anyio

BOILER = Document("Bleed the boiler in May.", metadata={"source": "/docs/rules.pdf", "page": 2})
CAT = Document("Feed the cat.", metadata={"source": "pets.csv", "row": 7})


def make_retriever(*documents: Document, log: Log | None = None) -> LoggedRetriever:
    return LoggedRetriever(log=log or Log(), documents=[*documents])


async def test_an_answer_has_its_sources() -> None:
    model = ScriptedChatModel(script=[Turn(text=["In May ", "[1]; and [2], [7]."])])
    chain = RetrievalQA.from_llm(model, retriever=make_retriever(BOILER, CAT), return_source_documents=True)
    assert await chain.ainvoke({"query": "When?"}) == {
        "query": "When?",
        "result": "In May [1]; and [2], [7].",
        "citations": [Citation(BOILER, 1, 7, 10), Citation(CAT, 2, 16, 19)],
        "unsupported": [7],
        "left_out": [],
        "source_documents": [BOILER, CAT],
    }
    system, human = model.requests[0].messages
    assert isinstance(system, SystemMessage) and "boiler" not in system.text
    assert isinstance(human, HumanMessage) and human.text.startswith("When?\n\n--- ")
    assert "[1] rules.pdf, page 2\nBleed the boiler in May.\n" in human.text
    assert "tools" not in model.requests[0].params


async def test_a_stream_has_the_text_first_and_the_citations_last() -> None:
    model = ScriptedChatModel(script=[Turn(text=["In ", "May [1]."])] * 2)
    chain = RetrievalQA.from_llm(model, retriever=make_retriever(BOILER))
    pieces = [piece async for piece in chain.astream({"query": "When?"})]
    assert pieces[:3] == [{"query": "When?"}, {"result": "In "}, {"result": "May [1]."}]
    assert [[*piece] for piece in pieces[3:]] == [["citations", "unsupported", "left_out"]]
    assert add(pieces) == await chain.ainvoke({"query": "When?"})


@pytest.mark.parametrize("found", [[], [Document("\u200b")]])
async def test_where_nothing_is_found_no_model_is_asked(found: list[Document]) -> None:
    chain = RetrievalQA.from_llm(ScriptedChatModel(script=[]), retriever=make_retriever(*found))
    whole = {"query": "?", "result": NOTHING_FOUND, "citations": [], "unsupported": [], "left_out": []}
    assert await chain.ainvoke({"query": "?"}) == whole
    assert add([piece async for piece in chain.astream({"query": "?"})]) == whole


async def test_what_did_not_fit_is_reported() -> None:
    long = Document("x" * 4000)
    model = hook_model("[1] [2]", profile={"max_input_tokens": 500, "max_output_tokens": 10})
    outputs = await RetrievalQA.from_llm(model, retriever=make_retriever(BOILER, long)).ainvoke({"query": "?"})
    assert outputs["left_out"] == [long]
    assert ([one.number for one in outputs["citations"]], outputs["unsupported"]) == ([1], [2])


async def test_equal_questions_over_equal_documents_are_one_request() -> None:
    """The marks are the same each time, so an answer comes out of the cache."""
    model = hook_model("In May [1].", cache=InMemoryCache())
    chain = RetrievalQA.from_llm(model, retriever=make_retriever(BOILER, CAT))
    first = await chain.ainvoke({"query": "When?"})
    assert await chain.ainvoke({"query": "When?"}) == first
    assert len(model.requests) == 1


@pytest.mark.parametrize(
    ("chain_type", "script"),
    [
        ("stuff", ["[1][2]"]),
        ("map_reduce", ["note [1]", "note [2]", "[1][2]"]),
        ("refine", ["[1]", "[1][2]"]),
        ("map_rerank", ["[1]\nScore: 1", "[1][2]\nScore: 2"]),
    ],
)
async def test_each_type_of_chain_cites(chain_type: Any, script: list[str]) -> None:
    model = ScriptedChatModel(script=script)
    chain = RetrievalQA.from_chain_type(model, chain_type, retriever=make_retriever(BOILER, CAT))
    outputs = await chain.ainvoke({"query": "?"}, {"max_concurrency": 1})
    assert [one.document for one in outputs["citations"]] == [BOILER, CAT]


def test_a_type_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidInput, match="'stuffed'; it is one of stuff, map_reduce, refine, map_rerank"):
        RetrievalQA.from_chain_type(FakeListChatModel(responses=[]), cast(Any, "stuffed"), retriever=make_retriever())


@pytest.mark.parametrize(("question", "problem"), [(3, "a question is a text"), (" ", "is empty")])
async def test_a_question_is_a_text(question: Any, problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        await RetrievalQA.from_llm(ScriptedChatModel(script=[]), retriever=make_retriever()).ainvoke(
            {"query": question}
        )


async def test_a_retriever_gives_documents() -> None:
    broken: Any = RunnableLambda(lambda question: ["text"], name="broken")
    chain = RetrievalQA.from_llm(ScriptedChatModel(script=[]), retriever=broken)
    with pytest.raises(InvalidInput, match="what broken found is list"):
        await chain.ainvoke({"query": "?"})


def test_sync_code_asks_the_same() -> None:
    chain = RetrievalQA.from_llm(FakeListChatModel(responses=["[1]"]), retriever=make_retriever(BOILER))
    assert chain.invoke({"query": "?"})["citations"] == [Citation(BOILER, 1, 0, 3)]
    assert add(chain.stream({"query": "?"})) == chain.invoke({"query": "?"})


async def test_a_prompt_of_ones_own_may_need_more() -> None:
    prompt = PromptTemplate.from_template("{context}\n{question} Answer in {language}.")
    model = ScriptedChatModel(script=["im Mai [1]"])
    chain = RetrievalQA.from_llm(model, make_retriever(BOILER), prompt)
    assert chain.input_keys == ["query", "language"]
    await chain.ainvoke({"query": "When?", "language": "German"})
    assert model.requests[0].messages[0].text.endswith("When? Answer in German.")


# -- the order of a run


async def test_the_order_of_a_run(log: Log) -> None:
    """Memory loaded, retrieved, model, memory saved."""
    chain = RetrievalQA.from_llm(
        FakeListChatModel(responses=["[1]"]), make_retriever(BOILER, log=log), memory=LoggedMemory(log=log)
    )
    await chain.ainvoke({"query": "?"}, {"callbacks": [StartHandler(log)]})
    assert log.steps == ["start", "load", "on_retriever_start", "retrieve", "model", "save", "end"]


async def test_runs_inside_are_children() -> None:
    told = AsyncRecorder()
    chain = RetrievalQA.from_llm(FakeListChatModel(responses=["[1]"]), make_retriever(BOILER))
    await chain.ainvoke({"query": "?"}, {"callbacks": [told]})
    outer = told.only("on_chain_start").details["run_id"]
    for name in ("on_retriever_start", "on_chat_model_start"):
        assert told.only(name).details["parent_run_id"] == outer
    told.assert_every_run_ended_once()


@pytest.mark.parametrize("streams", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("cancels", [False, True], ids=["fails", "is cancelled"])
@pytest.mark.parametrize("stage", STAGES)
async def test_a_run_that_does_not_end_well_saves_nothing(log: Log, stage: str, cancels: bool, streams: bool) -> None:
    memory = LoggedMemory(log=log)
    answer: Any = KeyError("model") if stage == "model" and not cancels else "[1]"
    chain = RetrievalQA.from_llm(hook_model(answer, "astream"), make_retriever(BOILER, log=log), memory=memory)
    log.fault = None if isinstance(answer, KeyError) else stage

    async def run() -> None:
        config: Any = {"callbacks": [StartHandler(log)]}
        if streams:
            async for _ in chain.astream({"query": "hi"}, config):
                pass
        else:
            await chain.ainvoke({"query": "hi"}, config)

    if cancels:
        with anyio.CancelScope() as log.scope:
            await run()
        assert log.scope.cancelled_caught
    else:
        with pytest.raises(KeyError, match=stage):
            await run()
    assert memory.chat_memory.messages == []
    assert log.steps[-1] == "error"


async def test_what_is_remembered_has_its_citations() -> None:
    memory = ConversationBufferMemory()
    chain = RetrievalQA.from_llm(FakeListChatModel(responses=["May [1]"]), make_retriever(BOILER), memory=memory)
    await chain.ainvoke({"query": "When?"})
    question, answer = memory.chat_memory.messages
    assert (question, answer.text) == (HumanMessage("When?"), "May [1]")
    block: Any = answer.content_blocks[0]
    assert [one["title"] for one in block["annotations"]] == ["rules.pdf, page 2"]
    assert memory.load_memory_variables() == {"history": "Human: When?\nAI: May [1]"}


# -- a question that follows a conversation


async def test_the_first_question_is_taken_as_it_is() -> None:
    log = Log()
    model = ScriptedChatModel(script=["In May [1].", "When is the radiator bled?", "In June [1]."])
    memory = ConversationBufferMemory(memory_key="chat_history", return_messages=True)
    asked: list[str] = []

    def find(question: str) -> list[Document]:
        asked.append(question)
        return [BOILER]

    chain = ConversationalRetrievalChain.from_llm(model, retriever=RunnableLambda(find), memory=memory)
    first = await chain.ainvoke({"question": "When is the boiler bled?"})
    assert (first["answer"], first["chat_history"]) == ("In May [1].", [])
    second = await chain.ainvoke({"question": "And the {radiator}?"})
    assert second["answer"] == "In June [1]."
    assert asked == ["When is the boiler bled?", "When is the radiator bled?"]
    condense, answer = (request.messages for request in model.requests[1:])
    assert "Human: When is the boiler bled?\nAI: In May [1]." in condense[1].text
    assert condense[1].text.endswith("The question:\nAnd the {radiator}?")
    assert answer[1].text.startswith("When is the radiator bled?\n\n---")
    assert [message.text for message in memory.chat_memory.messages][2:] == ["And the {radiator}?", "In June [1]."]
    assert log.steps == []


@pytest.mark.parametrize(
    "history",
    [
        [("When?", "In May.")],
        [HumanMessage("When?"), AIMessage("In May.")],
        [("human", "When?"), ("ai", "In May.")],
        "Human: When?\nAI: In May.",
    ],
)
async def test_what_was_said_may_be_given(history: Any) -> None:
    model = ScriptedChatModel(script=["Alone?", "yes"])
    chain = ConversationalRetrievalChain.from_llm(
        model, retriever=make_retriever(BOILER), return_generated_question=True, return_source_documents=True
    )
    outputs = await chain.ainvoke({"question": "?", "chat_history": history})
    assert (outputs["generated_question"], outputs["source_documents"]) == ("Alone?", [BOILER])
    assert "Human: When?\nAI: In May." in model.requests[0].messages[1].text
    with pytest.raises(InvalidInput, match="'chat_history' is int"):
        await chain.ainvoke({"question": "?", "chat_history": 3})


async def test_an_empty_question_of_the_model_is_not_looked_for() -> None:
    model = ScriptedChatModel(script=[" ", "yes"])
    chain = ConversationalRetrievalChain.from_llm(model, make_retriever(BOILER), return_generated_question=True)
    outputs = await chain.ainvoke({"question": "And then?", "chat_history": [("a", "b")]})
    assert outputs["generated_question"] == "And then?"


async def test_another_model_may_write_the_question() -> None:
    writer, model = ScriptedChatModel(script=["Alone?"]), ScriptedChatModel(script=["yes"])
    chain = ConversationalRetrievalChain.from_llm(
        model,
        make_retriever(BOILER),
        condense_question_llm=writer,
        condense_question_prompt=PromptTemplate.from_template("{chat_history}|{question}"),
        combine_docs_chain_kwargs={"prompt": PromptTemplate.from_template("{context} {question}")},
    )
    await chain.ainvoke({"question": "?", "chat_history": [("a", "b")]})
    assert writer.requests[0].messages[0].text == "Human: a\nAI: b|?"


async def test_a_long_conversation_is_cut_to_the_models_window() -> None:
    """Its end is kept, whole lines of it."""
    model = hook_model("Alone?", profile={"max_input_tokens": 600, "max_output_tokens": 100})
    history = [(f"question {number}", "x" * 80) for number in range(100)]
    chain = ConversationalRetrievalChain.from_llm(model, make_retriever(BOILER))
    await chain.ainvoke({"question": "?", "chat_history": history})
    asked = model.requests[0].text
    assert "question 99" in asked and "question 50" not in asked
    assert asked.removeprefix("The conversation:\n").startswith(("Human: question", "AI: x"))
    assert len(asked) > 800


async def test_a_memory_keeps_the_question_whatever_else_a_prompt_needs() -> None:
    memory = ConversationBufferMemory()
    prompt = PromptTemplate.from_template("{context} {question} in {language}")
    chain = RetrievalQA.from_llm(FakeListChatModel(responses=["x"]), make_retriever(BOILER), prompt, memory=memory)
    await chain.ainvoke({"query": "When?", "language": "German"})
    assert [message.text for message in memory.chat_memory.messages] == ["When?", "x"]


async def test_from_files_to_an_answer() -> None:
    """With a real store, embeddings and splitter: LangChainGo's picture of retrieval."""
    store = InMemoryVectorStore(DeterministicFakeEmbedding(size=16))
    pieces = RecursiveCharacterTextSplitter(chunk_size=30, chunk_overlap=0).split_documents(
        [Document("Bleed the boiler in May. Feed the cat at noon.", metadata={"source": "a.txt"})]
    )
    await store.aadd_documents(pieces)
    model = ScriptedChatModel(script=["At noon [1]."])
    chain = RetrievalQA.from_llm(model, store.as_retriever(search_kwargs={"k": 1}))
    answer = await chain.ainvoke({"query": "the cat at noon."})  # equal texts have equal vectors
    (citation,) = answer["citations"]
    assert (citation.document.page_content, citation.source) == ("the cat at noon.", "a.txt")


async def test_only_the_answer_is_streamed() -> None:
    model = ScriptedChatModel(script=[Turn(text=["Al", "one?"]), Turn(text=["In ", "May"])])
    chain = ConversationalRetrievalChain.from_llm(model, make_retriever(BOILER))
    pieces = [piece async for piece in chain.astream({"question": "?", "chat_history": [("a", "b")]})]
    assert [piece["answer"] for piece in pieces if "answer" in piece] == ["In ", "May"]


async def test_the_chain_of_documents_alone_cites_nothing() -> None:
    """Its output is LangChain's: the text. Citations are read where documents are found."""
    outputs = await StuffDocumentsChain(FakeListChatModel(responses=["[1]"])).ainvoke(
        {"input_documents": [BOILER], "question": "?"}, return_only_outputs=True
    )
    assert outputs == {"output_text": "[1]"}
