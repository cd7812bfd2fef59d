"""A chain is data: written down and read back it does the same; what is code stays behind, and says so."""

from collections.abc import Callable
from typing import Any

import pytest

from hocket import FakeListChatModel, FakeListLLM, RetryPolicy, Timeout
from hocket.errors import LoadError
from hocket.load import dumpd, dumps, load, loads
from hocket.output_parsers import (
    CommaSeparatedListOutputParser,
    JsonOutputParser,
    MarkdownListOutputParser,
    NumberedListOutputParser,
    StrOutputParser,
    XMLOutputParser,
)
from hocket.prompts import ChatPromptTemplate, FewShotPromptTemplate, MessagesPlaceholder, PromptTemplate
from hocket.providers.local import ChatLocal
from hocket.providers.openai import ChatOpenAI
from hocket.runnables import (
    ConfigurableField,
    RouterRunnable,
    Runnable,
    RunnableBranch,
    RunnableLambda,
    RunnableParallel,
    RunnablePassthrough,
    RunnablePick,
)

PROMPT = ChatPromptTemplate.from_messages(
    [("system", "Be {how}."), MessagesPlaceholder("history", optional=True), ("human", "{question}")]
)
ASKED = {"how": "brief", "question": "Why?"}
TOOL = {"type": "function", "function": {"name": "look", "parameters": {"type": "object", "properties": {}}}}


def model(text: str = "a, b") -> FakeListChatModel:
    return FakeListChatModel(responses=[text])


CHAINS: dict[str, Callable[[], tuple[Runnable[Any, Any], Any]]] = {
    "text": lambda: (PROMPT | model() | StrOutputParser(), ASKED),
    "list": lambda: (PROMPT | model() | CommaSeparatedListOutputParser(), ASKED),
    "numbered": lambda: (PROMPT | model("1. a\n2. b") | NumberedListOutputParser(), ASKED),
    "markdown": lambda: (PROMPT | model("- a\n- b") | MarkdownListOutputParser(), ASKED),
    "json": lambda: (PROMPT | model('{"a": 1}') | JsonOutputParser(), ASKED),
    "xml": lambda: (PROMPT | model("<a><b>1</b></a>") | XMLOutputParser(), ASKED),
    "text model": lambda: (PromptTemplate.from_template("{question}") | FakeListLLM(responses=["a"]), ASKED),
    "examples": lambda: (
        FewShotPromptTemplate(
            examples=[{"q": "x"}],
            example_prompt=PromptTemplate.from_template("Q: {q}"),
            suffix="{question}",
            input_variables=["question"],
        )
        | FakeListLLM(responses=["a"]),
        ASKED,
    ),
    "partial prompt": lambda: (PROMPT.partial(how="kind") | model() | StrOutputParser(), {"question": "Why?"}),
    "bound": lambda: (PROMPT | model().bind(stop=["x"]) | StrOutputParser(), ASKED),
    "tools": lambda: (PROMPT | model().bind_tools([TOOL], tool_choice="look") | StrOutputParser(), ASKED),
    "configured": lambda: ((PROMPT | model() | StrOutputParser()).with_config(tags=["t"], run_name="r"), ASKED),
    "parallel": lambda: (RunnableParallel(a=PROMPT | model() | StrOutputParser(), b=RunnablePassthrough()), ASKED),
    "assigned": lambda: (RunnablePassthrough.assign(a=PROMPT | model() | StrOutputParser()), ASKED),
    "picked": lambda: (RunnablePassthrough[Any]() | RunnablePick("how"), ASKED),
    "mapped": lambda: ((PROMPT | model() | StrOutputParser()).map(), [ASKED, ASKED]),
    "retried": lambda: (PROMPT | model().with_retry(stop_after_attempt=2) | StrOutputParser(), ASKED),
    "fallbacks": lambda: (PROMPT | model().with_fallbacks([model("c")]) | StrOutputParser(), ASKED),
    "branch": lambda: (RunnableBranch((RunnablePick("how"), PROMPT | model()), model("c")) | StrOutputParser(), ASKED),
    "router": lambda: (RouterRunnable({"a": PROMPT | model() | StrOutputParser()}), {"key": "a", "input": ASKED}),
}


@pytest.mark.parametrize("name", CHAINS)
async def test_a_chain_travels(name: str) -> None:
    """The copy is made of the same classes and answers the same, and writing it down gives the same again."""
    chain, asked = CHAINS[name]()
    written = dumps(chain)
    copy = loads(written)
    assert type(copy) is type(chain) and dumps(copy) == written
    assert await copy.ainvoke(asked) == await chain.ainvoke(asked)
    assert [chunk async for chunk in copy.astream(asked)] == [chunk async for chunk in chain.astream(asked)]


def test_models_keep_their_configuration() -> None:
    """Options, limits and policy travel; a key does so as a reference, and a profile is found again."""
    openai = ChatOpenAI(
        model="gpt-4o",
        api_key="sk-secret",
        temperature=0,
        tools=[TOOL],
        unsupported="drop",
        timeout=Timeout(total=3),
        retry=RetryPolicy(max_attempts=2),
    )
    chain = PROMPT | openai | StrOutputParser()
    assert "sk-secret" not in dumps(chain)
    copy = load(dumpd(chain), secrets_map={"OPENAI_API_KEY": "sk-secret"})
    assert copy.steps[1] == openai and copy.steps[1].profile == openai.profile is not None

    local = PROMPT | ChatLocal(temperature=0, n_ctx=512)
    assert load(dumpd(local)).steps[1] == local.steps[1]  # type: ignore[attr-defined]


CODE: dict[str, Callable[[], Runnable[Any, Any]]] = {
    "RunnableLambda": lambda: RunnableLambda(str),
    "ValueError": lambda: model().with_fallbacks([model()], exceptions_to_handle=(ValueError,)),
    "RunnableConfigurableFields": lambda: ChatLocal().configurable_fields(temperature=ConfigurableField("heat")),
}


@pytest.mark.parametrize("named", CODE)
def test_what_stays_behind(named: str) -> None:
    """Code, and what calls may choose, is not written down: to read it back is an error that names it and the way out."""
    with pytest.raises(LoadError, match=f"could not be written.*{named}.*ignore_unserializable_fields"):
        load(dumpd(PROMPT | CODE[named]()))
