"""A prompt, a model and a parser; and the same with a memory, as a conversation."""

from typing import Any

import pytest

from hocket import FakeListLLM, PromptTemplate, ScriptedChatModel, Turn
from hocket.classic.chains import ConversationChain, LLMChain
from hocket.classic.memory import ConversationBufferMemory, ConversationBufferWindowMemory
from hocket.errors import InvalidInput, OutputParserException
from hocket.messages import AIMessage, HumanMessage, SystemMessage
from hocket.output_parsers import CommaSeparatedListOutputParser
from hocket.prompts import ChatPromptTemplate
from tests.kit.models import hook_model
from tests.kit.recorders import AsyncRecorder

pytestmark = pytest.mark.anyio

CAPITAL = PromptTemplate.from_template("The capital of {country}?")


async def test_the_text_comes_as_the_model_says_it() -> None:
    chain = LLMChain(ScriptedChatModel(script=[Turn(text=["Pa", "ris"])]), CAPITAL)
    pieces = [piece async for piece in chain.astream({"country": "France"})]
    assert pieces == [{"country": "France"}, {"text": "Pa"}, {"text": "ris"}]


@pytest.mark.parametrize("hook", ["agenerate", "generate", "astream", "stream"])
def test_sync_verbs_ask_the_same(hook: str) -> None:
    model = hook_model("Paris", hook)
    chain = LLMChain(model, CAPITAL, output_key="capital")
    assert chain.invoke({"country": "France"}) == {"country": "France", "capital": "Paris"}
    assert list(chain.stream({"country": "France"}))[-1]["capital"].endswith("s")
    assert [request.text for request in model.requests] == ["The capital of France?"] * 2


async def test_a_text_model_is_asked_too() -> None:
    chain = LLMChain(FakeListLLM(responses=["Paris"]), CAPITAL)
    assert await chain.ainvoke({"country": "France"}) == {"country": "France", "text": "Paris"}
    assert [piece async for piece in chain.astream({"country": "France"})][1:] == [{"text": "Paris"}]


async def test_a_parser_reads_the_answer_whole() -> None:
    parser = CommaSeparatedListOutputParser()
    model = ScriptedChatModel(script=["red, blue", Turn(text=["red", ", blue"])])
    chain = LLMChain(model, PromptTemplate.from_template("Colours of {thing}"), output_parser=parser)
    assert (await chain.ainvoke({"thing": "flags"}))["text"] == ["red", "blue"]
    assert [piece async for piece in chain.astream({"thing": "flags"})][1:] == [{"text": ["red", "blue"]}]


async def test_an_answer_that_a_parser_refuses_ends_the_run() -> None:
    class Refusing(CommaSeparatedListOutputParser):
        def parse(self, text: str) -> list[str]:
            raise OutputParserException("no", llm_output=text)

    chain = LLMChain(ScriptedChatModel(script=["x"]), CAPITAL, output_parser=Refusing())
    with pytest.raises(OutputParserException):
        await chain.ainvoke({"country": "France"})


async def test_values_are_filled_in_once() -> None:
    """Braces in a value are text."""
    model = ScriptedChatModel(script=["?"])
    await LLMChain(model, CAPITAL).ainvoke({"country": "{country} {{x}} {__class__}"})
    assert model.requests[0].messages[0].text == "The capital of {country} {{x}} {__class__}?"


async def test_the_model_is_a_run_inside_with_the_config() -> None:
    told = AsyncRecorder()
    chain = LLMChain(ScriptedChatModel(script=["Paris"]).with_config(tags=["model"]), CAPITAL)
    await chain.ainvoke({"country": "France"}, {"callbacks": [told]})
    start = told.only("on_chat_model_start")
    assert start.details["parent_run_id"] == told.only("on_chain_start").details["run_id"]
    assert "model" in start.details["tags"]


async def test_what_is_no_model_is_named() -> None:
    from hocket.runnables import RunnableLambda

    with pytest.raises(InvalidInput, match="returned int; a model returns"):
        await LLMChain(RunnableLambda(lambda prompt: 3), CAPITAL).ainvoke({"country": "France"})


# -- conversations


async def test_a_conversation_remembers() -> None:
    model = ScriptedChatModel(script=["Hello, Ada!", "Ada."])
    chain = ConversationChain(model)
    await chain.ainvoke({"input": "I am Ada."})
    assert (await chain.ainvoke({"input": "Who am I?"}, return_only_outputs=True)) == {"response": "Ada."}
    system, *rest = model.requests[1].messages
    assert isinstance(system, SystemMessage)
    assert rest == [HumanMessage("I am Ada."), AIMessage("Hello, Ada!"), HumanMessage("Who am I?")]


async def test_a_memory_of_text_is_shown_as_text() -> None:
    model = ScriptedChatModel(script=["Hello, Ada!", "Ada."])
    chain = ConversationChain(model, memory=ConversationBufferWindowMemory(k=1, memory_key="past"))
    await chain.ainvoke({"input": "I am {Ada}."})
    await chain.ainvoke({"input": "Who am I?"})
    (asked,) = model.requests[1].messages
    assert "Human: I am {Ada}.\nAI: Hello, Ada!" in asked.text
    assert asked.text.endswith("Human: Who am I?\nAI:")


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"prompt": ChatPromptTemplate([("human", "{input}")])}, "the question and the memory give 'history', 'input'"),
        ({"memory": ConversationBufferMemory(memory_key="input")}, "the question and a variable of the memory"),
        ({"memory": ConversationBufferMemory(memory_key="response")}, "as an output"),
    ],
)
def test_a_prompt_has_the_question_and_the_memory(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(InvalidInput, match=problem):
        ConversationChain(ScriptedChatModel(script=[]), **options)


async def test_keys_may_have_other_names() -> None:
    chain = ConversationChain(ScriptedChatModel(script=["yes"]), input_key="q", output_key="a")
    assert await chain.ainvoke({"q": "?"}) == {"q": "?", "history": [], "a": "yes"}
