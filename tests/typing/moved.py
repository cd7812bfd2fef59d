"""Programs that were written for LangChain, for type checkers only: see `snippets.py`."""

# pyright: strict

from typing import assert_type

from pydantic import BaseModel

from hocket import FakeListChatModel
from hocket.classic.example_selectors import SemanticSimilarityExampleSelector
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.messages import BaseMessage, tool_example_to_messages
from hocket.output_parsers import PydanticOutputParser
from hocket.prompts import ChatPromptTemplate, PromptTemplate
from hocket.runnables import Graph, run_in_executor
from hocket.stores import InMemoryByteStore
from hocket.tools import BaseTool
from hocket.tracers import BaseTracer, Run, RunCollectorCallbackHandler, collect_runs
from hocket.vectorstores import InMemoryVectorStore


class City(BaseModel):
    name: str


class Tracer(BaseTracer):
    def _persist_run(self, run: Run) -> None:
        assert_type(run.child_runs, list[Run])


async def say_what_they_are() -> None:
    chain = ChatPromptTemplate([("human", "{x}")]) | FakeListChatModel(responses=["a"])
    assert_type(chain.get_graph(), Graph)
    assert_type(chain.get_graph().draw_mermaid(), str)
    assert_type(chain.input_schema, type[BaseModel])
    assert_type(chain.as_tool(name="x"), BaseTool)
    assert_type(PydanticOutputParser(pydantic_object=City).parse("{}"), City)
    assert_type(PromptTemplate.from_examples(["a"], "b", []), PromptTemplate)
    assert_type(tool_example_to_messages("x", [City(name="y")]), list[BaseMessage])
    assert_type(await run_in_executor(None, len, "x"), int)
    assert_type(InMemoryByteStore().mget(["a"]), list[bytes | None])
    with collect_runs() as collected:
        assert_type(collected, RunCollectorCallbackHandler)
    chain.invoke({"x": 1}, {"callbacks": [Tracer()]})
    selector = await SemanticSimilarityExampleSelector.afrom_examples(
        [{"a": "b"}], DeterministicFakeEmbedding(size=2), InMemoryVectorStore
    )
    assert_type(selector, SemanticSimilarityExampleSelector)
