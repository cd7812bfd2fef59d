"""LangChain's newer functions: from a question to an answer with its sources."""

from typing import Any

import pytest

from hocket import PromptTemplate, ScriptedChatModel, Turn
from hocket.chains import (
    NOTHING_FOUND,
    Citation,
    create_history_aware_retriever,
    create_retrieval_chain,
    create_stuff_documents_chain,
)
from hocket.documents import Document
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, HumanMessage
from hocket.output_parsers import CommaSeparatedListOutputParser
from hocket.prompts import ChatPromptTemplate, MessagesPlaceholder
from hocket.runnables import RunnableLambda
from hocket.runnables.folding import add
from tests.classic.chains.test_retrieval import BOILER, CAT, make_retriever

pytestmark = pytest.mark.anyio

PROMPT = ChatPromptTemplate([("system", "Answer by:\n\n{context}"), ("human", "{input}")])


async def test_a_retrieval_chain() -> None:
    model = ScriptedChatModel(script=[Turn(text=["In May ", "[1] [3]"])] * 2)
    retriever = make_retriever(BOILER).with_config(tags=["rules"])
    chain = create_retrieval_chain(retriever, create_stuff_documents_chain(model, PROMPT))
    whole = {
        "input": "When?",
        "context": [BOILER],
        "answer": "In May [1] [3]",
        "citations": [Citation(BOILER, 1, 7, 10)],
        "unsupported": [3],
    }
    assert await chain.ainvoke({"input": "When?"}) == whole
    pieces = [piece async for piece in chain.astream({"input": "When?"})]
    assert [[*piece] for piece in pieces] == [
        ["input"],
        ["context"],
        ["answer"],
        ["answer"],
        ["citations", "unsupported"],
    ]
    assert add(pieces) == whole
    assert "boiler" not in model.requests[0].messages[0].text


async def test_a_retrieval_chain_that_finds_nothing_asks_nobody() -> None:
    chain = create_retrieval_chain(make_retriever(), create_stuff_documents_chain(ScriptedChatModel(script=[]), PROMPT))
    outputs = await chain.ainvoke({"input": "When?"})
    assert (outputs["answer"], outputs["context"]) == (NOTHING_FOUND, [])
    assert add([piece async for piece in chain.astream({"input": "When?"})]) == outputs
    told = create_retrieval_chain(make_retriever(), chain, nothing_found="Nichts gefunden.")
    assert (await told.ainvoke({"input": "Wann?"}))["answer"] == "Nichts gefunden."
    assert add([piece async for piece in told.astream({"input": "Wann?"})])["answer"] == "Nichts gefunden."


async def test_a_runnable_of_ones_own_may_answer() -> None:
    async def answer(values: dict[str, Any]) -> str:
        return f"{len(values['context'])} found [2]"

    chain = create_retrieval_chain(make_retriever(BOILER, CAT), RunnableLambda(answer))
    outputs = await chain.ainvoke({"input": "?"})
    assert (outputs["answer"], outputs["citations"]) == ("2 found [2]", [Citation(CAT, 2, 8, 11)])
    assert add([piece async for piece in chain.astream({"input": "?"})]) == outputs
    talk = create_retrieval_chain(
        make_retriever(BOILER), PROMPT | ScriptedChatModel(script=[Turn(text=["a", "b"])] * 2)
    )
    outputs = await talk.ainvoke({"input": "?"})
    assert outputs["answer"] == "ab"
    assert add([piece async for piece in talk.astream({"input": "?"})]) == outputs


async def test_a_chain_of_documents_returns_the_answer_alone() -> None:
    model = ScriptedChatModel(script=["In May", Turn(text=["In ", "May"]), "a, b", "a, b"])
    values = {"context": [BOILER], "input": "?"}
    chain = create_stuff_documents_chain(model, PROMPT)
    assert await chain.ainvoke(values) == "In May"
    assert [piece async for piece in chain.astream(values)] == ["In ", "May"]
    parsed = create_stuff_documents_chain(model, PROMPT, output_parser=CommaSeparatedListOutputParser())
    assert await parsed.ainvoke(values) == ["a", "b"]
    assert [piece async for piece in parsed.astream(values)] == [["a", "b"]]
    with pytest.raises(InvalidInput, match="a mapping with the documents under 'context'"):
        await chain.ainvoke({"input": "?"})


async def test_a_retriever_that_knows_what_was_said() -> None:
    asked: list[str] = []

    def find(question: str) -> list[Document]:
        asked.append(question)
        return [BOILER]

    prompt = ChatPromptTemplate([MessagesPlaceholder("chat_history"), ("human", "{input}"), ("human", "Alone?")])
    model = ScriptedChatModel(script=["The radiator?", "In June [1]."])
    retriever = create_history_aware_retriever(model, RunnableLambda(find), prompt)
    assert await retriever.ainvoke({"input": "First?", "chat_history": []}) == [BOILER]
    chain = create_retrieval_chain(retriever, create_stuff_documents_chain(model, PROMPT))
    history = [HumanMessage("First?"), AIMessage("In May.")]
    outputs = await chain.ainvoke({"input": "And the radiator?", "chat_history": history})
    assert asked == ["First?", "The radiator?"]
    assert (outputs["answer"], outputs["chat_history"]) == ("In June [1].", history)
    with pytest.raises(InvalidInput, match=r"lacks \{input\}"):
        create_history_aware_retriever(model, retriever, PromptTemplate.from_template("{question}"))


async def test_documents_may_be_shown_otherwise() -> None:
    model = ScriptedChatModel(script=["x"])
    shown = PromptTemplate.from_template("<{page}> {page_content}")
    chain = create_stuff_documents_chain(model, PROMPT, document_prompt=shown)
    await chain.ainvoke({"context": [BOILER], "input": "?"})
    assert "<2> Bleed" in model.requests[0].messages[1].text


async def test_without_a_prompt_the_model_is_asked_for_citations() -> None:
    """hocket's own prompt: the pieces are quoted, in the user's message."""
    model = ScriptedChatModel(script=["In May [1]."])
    chain = create_retrieval_chain(make_retriever(BOILER), create_stuff_documents_chain(model))
    assert (await chain.ainvoke({"input": "When?"}))["citations"] == [Citation(BOILER, 1, 7, 10)]
    system, asked = (message.text for message in model.requests[0].messages)
    assert "numbers of the pieces" in system
    assert asked.startswith("When?\n\n---") and "Bleed the boiler" in asked
