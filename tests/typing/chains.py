"""Chains as their users write them, for type checkers only: see `snippets.py`."""

# pyright: strict

from typing import Any, assert_type

from hocket import AIMessage, BaseChatModel, PromptTemplate
from hocket.callbacks import AsyncCallbackManagerForChainRun
from hocket.chains import (
    Citation,
    annotate_answer,
    create_history_aware_retriever,
    create_retrieval_chain,
    create_stuff_documents_chain,
    find_citations,
)
from hocket.classic.chains import (
    Chain,
    ConversationalRetrievalChain,
    ConversationChain,
    LLMChain,
    LLMMathChain,
    MapReduceDocumentsChain,
    RetrievalQA,
    SequentialChain,
    SQLDatabase,
    SQLDatabaseChain,
    StuffDocumentsChain,
    TransformChain,
)
from hocket.classic.memory import ConversationBufferMemory
from hocket.documents import Document
from hocket.output_parsers import CommaSeparatedListOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.retrievers import BaseRetriever
from hocket.runnables import Runnable, RunnableLambda


class Shout(Chain):
    mark: str = "!"

    @property
    def input_keys(self) -> list[str]:
        return ["text"]

    @property
    def output_keys(self) -> list[str]:
        return ["loud"]

    async def _acall(
        self, inputs: dict[str, Any], run_manager: AsyncCallbackManagerForChainRun | None = None
    ) -> dict[str, Any]:
        return {"loud": inputs["text"].upper() + self.mark}


def double(values: dict[str, Any]) -> dict[str, Any]:
    return {"b": values["a"] * 2}


async def steps(model: BaseChatModel) -> None:
    shout = Shout(mark="?", memory=ConversationBufferMemory(), tags=["loud"])
    assert_type(await shout.ainvoke({"text": "hi"}), dict[str, Any])
    as_runnable: Runnable[dict[str, Any], dict[str, Any]] = shout
    async for piece in as_runnable.astream({"text": "hi"}):
        assert_type(piece, dict[str, Any])
    prompt = PromptTemplate.from_template("{a}")
    first = LLMChain(model, prompt, output_key="b", output_parser=CommaSeparatedListOutputParser())
    named = LLMChain(llm=model, prompt=ChatPromptTemplate([("human", "{b}")]), output_key="c")
    chain = SequentialChain(chains=[first, named, TransformChain(["c"], ["d"], double)], input_variables=["a"])
    assert_type(await chain.abatch([{"a": 1}]), list[dict[str, Any]])
    assert_type(chain.chains, list[Chain])
    talk = ConversationChain(llm=model, memory=ConversationBufferMemory())
    (talk | RunnableLambda(len)).invoke({"input": "hi"})


async def answers(model: BaseChatModel, retriever: BaseRetriever) -> None:
    chain = RetrievalQA.from_llm(model, retriever=retriever, return_source_documents=True)
    assert_type(chain, RetrievalQA)
    answer = await chain.ainvoke({"query": "When?"})
    citations: list[Citation] = answer["citations"]
    assert_type(citations[0].document, Document)
    RetrievalQA.from_chain_type(model, chain_type="map_reduce", retriever=retriever, chain_type_kwargs={"token_max": 9})
    RetrievalQA(retriever, StuffDocumentsChain(model), memory=ConversationBufferMemory())
    ConversationalRetrievalChain.from_llm(model, retriever, memory=ConversationBufferMemory(), name="talk")
    MapReduceDocumentsChain.from_llm(model, token_max=4000, input_key="docs")
    found, unsupported = find_citations("[1]", [Document("x")])
    assert_type(unsupported, list[int])
    assert_type(annotate_answer("[1]", found), AIMessage)


async def functions(model: BaseChatModel, retriever: BaseRetriever) -> None:
    prompt = ChatPromptTemplate([("human", "{input} {context}")])
    knowing = create_history_aware_retriever(model, retriever, prompt)
    assert_type(await knowing.ainvoke({"input": "?", "chat_history": []}), list[Document])
    chain = create_retrieval_chain(knowing, create_stuff_documents_chain(model, prompt))
    assert_type(await chain.ainvoke({"input": "?"}), dict[str, Any])


async def others(model: BaseChatModel) -> None:
    assert_type(await LLMMathChain.from_llm(model).ainvoke({"question": "?"}), dict[str, Any])
    database = SQLDatabase("sqlite:///x.db", include_tables=["a"], max_rows=5)
    assert_type(SQLDatabaseChain.from_llm(model, database, return_direct=True), SQLDatabaseChain)
