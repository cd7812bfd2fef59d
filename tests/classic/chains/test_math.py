"""A model writes an expression, and hocket computes it."""

import pytest

from hocket import PromptTemplate, ScriptedChatModel
from hocket.classic.chains import LLMMathChain
from hocket.classic.memory import ConversationBufferMemory
from hocket.errors import OutputParserException
from hocket.runnables.folding import add
from tests.kit import assert_linear

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("reply", "answer"),
    [
        ("2 * (3 + 4) ** 2", "98"),
        ("```text\n2 + 2\n```", "4"),
        ("Sure:\n```\n6/4\n```\nThat is it.", "1.5"),
        ("`1 + 1`", "2"),
        ("Answer: 7", "7"),
        ("sqrt(2)", "1.4142135623731"),
    ],
)
async def test_the_value_is_computed(reply: str, answer: str) -> None:
    chain = LLMMathChain.from_llm(ScriptedChatModel(script=[reply] * 2))
    whole = await chain.ainvoke({"question": "How much?"})
    assert whole["answer"].startswith(f"Answer: {answer}")
    assert add([piece async for piece in chain.astream({"question": "How much?"})]) == whole


@pytest.mark.parametrize(
    "reply",
    [
        "__import__('os').system('touch /tmp/owned')",
        "().__class__.__bases__[0].__subclasses__()",
        "9**9**9",
        "open('/etc/passwd').read()",
        "[x for x in range(10)]",
        "1; import os",
        "forty-two",
        "",
        "1/0",
    ],
)
async def test_nothing_is_run_as_code(reply: str) -> None:
    memory = ConversationBufferMemory()
    chain = LLMMathChain.from_llm(ScriptedChatModel(script=[reply]), memory=memory)
    with pytest.raises(OutputParserException, match="cannot be computed") as raised:
        await chain.ainvoke({"question": "?"})
    assert raised.value.llm_output == reply
    assert memory.chat_memory.messages == []


def test_the_prompt_and_the_keys_may_be_others() -> None:
    model = ScriptedChatModel(script=["1+1"])
    chain = LLMMathChain(model, PromptTemplate.from_template("Compute {question}"), input_key="q", output_key="a")
    assert chain.invoke({"q": "{x}"}) == {"q": "{x}", "a": "Answer: 2"}
    assert model.requests[0].messages[0].text == "Compute {x}"


def test_a_reply_is_read_in_linear_time() -> None:
    """A model may be told to write a fence and nothing but blank lines in it."""

    def ask(count: int) -> None:
        with pytest.raises(OutputParserException):
            LLMMathChain.from_llm(ScriptedChatModel(script=["```" + "\n" * count])).invoke({"question": "?"})

    assert_linear(ask, 20_000)
