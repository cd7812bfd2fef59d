"""Small programs that run with hocket and with LangChain alike: what they make, and what it is called with.

Each takes the names of a package as attributes of one object, and returns a runnable, its input, and arguments for
``astream_events``.
"""

import importlib
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

from pydantic import BaseModel

__all__ = ["PROGRAMS", "make_names"]

ROOMS = ("runnables", "prompts", "language_models", "output_parsers", "messages", "outputs", "tools", "documents")
LONE = {  # names that LangChain does not list, or has elsewhere
    "adispatch_custom_event": "callbacks",
    "BaseRetriever": "retrievers",
    "InMemoryChatMessageHistory": "chat_history",
    "RunnableWithMessageHistory": "runnables.history",
}
PROGRAMS: dict[str, Callable[[Any], tuple[Any, Any, dict[str, Any]]]] = {}
X = {"x": "hi"}


def make_names(package: str) -> SimpleNamespace:
    """Return the public names of a package, as far as the programs use them."""
    rooms = [importlib.import_module(f"{package}.{room}") for room in ROOMS]
    names = {name: getattr(room, name) for room in rooms for name in room.__all__}
    names |= {name: getattr(importlib.import_module(f"{package}.{room}"), name) for name, room in LONE.items()}
    return SimpleNamespace(**names)


def program(function: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """List a program."""
    PROGRAMS[function.__name__] = function
    return function


class City(BaseModel):
    """What a parser reads."""

    name: str


def prompt(n: Any) -> Any:
    return n.ChatPromptTemplate.from_messages([("system", "S"), ("human", "{x}")])


def model(n: Any, *t: str) -> Any:
    return n.FakeListChatModel(responses=list(t) or ["ab"])


def generic(n: Any, *m: Any) -> Any:
    return n.GenericFakeChatModel(messages=iter(m or [n.AIMessage(content="hello world")]))


@program
def lambda_sync(n: Any) -> Any:
    return n.RunnableLambda(lambda x: x + 1, name="f"), 1, {}


@program
def lambda_named(n: Any) -> Any:
    def plus(x):
        return x + 1

    return n.RunnableLambda(plus), 1, {}


@program
def lambda_async(n: Any) -> Any:
    async def plus(x):
        return x + 1

    return n.RunnableLambda(plus), 1, {}


@program
def lambda_dict(n: Any) -> Any:
    return n.RunnableLambda(lambda x: {"a": x}, name="f"), {"b": 1}, {}


@program
def lambda_gen(n: Any) -> Any:
    async def g(x):
        for c in x:
            yield c

    return n.RunnableLambda(g, name="g"), "abc", {}


@program
def generator(n: Any) -> Any:
    async def g(it):
        async for x in it:
            yield x * 2

    return n.RunnableGenerator(g), "ab", {}


@program
def lambda_config(n: Any) -> Any:
    return n.RunnableLambda(lambda x: x, name="f").with_config(tags=["t"], metadata={"m": 1}, run_name="r"), 1, {}


@program
def two_lambdas(n: Any) -> Any:
    return n.RunnableLambda(lambda x: x + 1, name="a") | n.RunnableLambda(lambda x: x * 2, name="b"), 1, {}


@program
def passthrough(n: Any) -> Any:
    return n.RunnablePassthrough(), 1, {}


@program
def assign(n: Any) -> Any:
    return n.RunnablePassthrough.assign(y=n.RunnableLambda(lambda d: d["x"] + "!", name="f")), X, {}


@program
def parallel_one(n: Any) -> Any:
    return n.RunnableParallel(a=n.RunnableLambda(lambda x: x + 1, name="f")), 1, {}


@program
def pick(n: Any) -> Any:
    return n.RunnablePassthrough() | n.RunnableLambda(lambda d: d, name="id") | n.RunnablePassthrough().pick("x"), X, {}


@program
def branch(n: Any) -> Any:
    return (
        n.RunnableBranch(
            (n.RunnableLambda(lambda x: x > 0, name="c"), n.RunnableLambda(lambda x: "pos", name="p")),
            n.RunnableLambda(lambda x: "neg", name="d"),
        ),
        1,
        {},
    )


@program
def map_one(n: Any) -> Any:
    return n.RunnableLambda(lambda x: x + 1, name="f").map(), [1], {}


@program
def prompt_alone(n: Any) -> Any:
    return prompt(n), X, {}


@program
def string_prompt(n: Any) -> Any:
    return n.PromptTemplate.from_template("{x}"), X, {}


@program
def chat_model(n: Any) -> Any:
    return model(n), "hi", {}


@program
def chat_model_messages(n: Any) -> Any:
    return model(n), [n.SystemMessage(content="s"), n.HumanMessage(content="hi")], {}


@program
def chat_generic(n: Any) -> Any:
    return generic(n), "hi", {}


@program
def chat_config(n: Any) -> Any:
    return model(n).with_config(tags=["t"], metadata={"m": 1}, run_name="my"), "hi", {}


@program
def text_model(n: Any) -> Any:
    return n.FakeStreamingListLLM(responses=["ab"]), "hi", {}


@program
def text_model_plain(n: Any) -> Any:
    return n.FakeListLLM(responses=["ab"]), "hi", {}


@program
def str_parser(n: Any) -> Any:
    return n.StrOutputParser(), "hi", {}


@program
def str_parser_message(n: Any) -> Any:
    return n.StrOutputParser(), n.AIMessage(content="hi"), {}


@program
def json_parser(n: Any) -> Any:
    return n.JsonOutputParser(), '{"a": 1}', {}


@program
def prompt_model(n: Any) -> Any:
    return prompt(n) | model(n), X, {}


@program
def prompt_model_str(n: Any) -> Any:
    return prompt(n) | model(n) | n.StrOutputParser(), X, {}


@program
def prompt_generic_str(n: Any) -> Any:
    return prompt(n) | generic(n) | n.StrOutputParser(), X, {}


@program
def model_json(n: Any) -> Any:
    return model(n, '{"a": 12}') | n.JsonOutputParser(), "hi", {}


@program
def model_list(n: Any) -> Any:
    return model(n, "a, b") | n.CommaSeparatedListOutputParser(), "hi", {}


@program
def model_pydantic(n: Any) -> Any:
    return (
        model(n, '{"name": "Rome"}')
        | n.PydanticOutputParser(pydantic_object=City)
        | n.RunnableLambda(lambda c: c.name, name="f"),
        "hi",
        {},
    )


@program
def text_chain(n: Any) -> Any:
    return n.PromptTemplate.from_template("{x}") | n.FakeStreamingListLLM(responses=["ab"]) | n.StrOutputParser(), X, {}


@program
def rag(n: Any) -> Any:
    return (
        {"x": n.RunnableLambda(lambda q: q.upper(), name="find")} | prompt(n) | model(n) | n.StrOutputParser(),
        "hi",
        {},
    )


@program
def retriever(n: Any) -> Any:
    class Notes(n.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [n.Document(page_content=query, metadata={"a": 1})]

    return Notes(), "tea", {}


@program
def retriever_chain(n: Any) -> Any:
    class Notes(n.BaseRetriever):
        async def _aget_relevant_documents(self, query, *, run_manager):
            return [n.Document(page_content=query)]

        def _get_relevant_documents(self, query, *, run_manager):
            return [n.Document(page_content=query)]

    return Notes() | n.RunnableLambda(lambda ds: ds[0].page_content, name="f"), "tea", {}


def add(n: Any) -> Any:
    @n.tool
    def add(a: int, b: int = 2) -> int:
        "Add."
        return a + b

    return add


@program
def tool_args(n: Any) -> Any:
    return add(n), {"a": 1}, {}


@program
def tool_call(n: Any) -> Any:
    return add(n), {"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"}, {}


@program
def tool_text(n: Any) -> Any:
    @n.tool
    async def shout(text: str) -> str:
        "Shout."
        return text.upper()

    return shout, "hi", {}


@program
def tool_none(n: Any) -> Any:
    @n.tool
    def now() -> str:
        "Now."
        return "noon"

    return now, {}, {}


@program
def tool_fails(n: Any) -> Any:
    @n.tool
    def fail(x: int) -> int:
        "Fail."
        raise ValueError("no")

    return fail, {"x": 1}, {}


@program
def tool_in_lambda(n: Any) -> Any:
    t = add(n)

    async def f(x, config):
        return await t.ainvoke({"a": x}, config)

    return n.RunnableLambda(f, name="f"), 1, {}


@program
def model_in_lambda(n: Any) -> Any:
    m = model(n)

    async def f(x, config):
        return (await m.ainvoke(x, config)).content

    return n.RunnableLambda(f, name="f"), "hi", {}


@program
def model_streamed_in_lambda(n: Any) -> Any:
    m = model(n)

    async def f(x, config):
        async for c in m.astream(x, config):
            yield c.content

    return n.RunnableLambda(f, name="f"), "hi", {}


@program
def lambda_returns_chain(n: Any) -> Any:
    c = prompt(n) | model(n)
    return n.RunnableLambda(lambda x: c, name="f"), X, {}


@program
def custom_event(n: Any) -> Any:
    async def f(x, config):
        await n.adispatch_custom_event("seen", {"x": x}, config=config)
        return x

    return n.RunnableLambda(f, name="f"), 1, {}


@program
def lambda_fails(n: Any) -> Any:
    def f(x):
        raise ValueError("no")

    return n.RunnableLambda(f, name="f"), 1, {}


@program
def chain_fails(n: Any) -> Any:
    def f(x):
        raise ValueError("no")

    return prompt(n) | n.RunnableLambda(f, name="f"), X, {}


@program
def retry(n: Any) -> Any:
    return n.RunnableLambda(lambda x: x, name="f").with_retry(), 1, {}


@program
def fallbacks(n: Any) -> Any:
    def f(x):
        raise ValueError("no")

    return n.RunnableLambda(f, name="f").with_fallbacks([n.RunnableLambda(lambda x: x, name="g")]), 1, {}


@program
def include_types(n: Any) -> Any:
    return prompt(n) | model(n) | n.StrOutputParser(), X, {"include_types": ["chat_model"]}


@program
def include_names(n: Any) -> Any:
    return prompt(n) | model(n).with_config(run_name="m") | n.StrOutputParser(), X, {"include_names": ["m"]}


@program
def include_tags(n: Any) -> Any:
    return prompt(n) | model(n).with_config(tags=["t"]) | n.StrOutputParser(), X, {"include_tags": ["t"]}


@program
def exclude_types(n: Any) -> Any:
    return prompt(n) | model(n) | n.StrOutputParser(), X, {"exclude_types": ["chat_model", "prompt"]}


@program
def tools_model(n: Any) -> Any:
    call = n.AIMessage(content="", tool_calls=[{"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"}])
    return (
        n.FakeMessagesListChatModel(responses=[call]) | n.RunnableLambda(lambda m: m.tool_calls[0]["args"], name="f"),
        "hi",
        {},
    )


@program
def history_messages(n: Any) -> Any:
    return (
        n.ChatPromptTemplate.from_messages([("placeholder", "{h}"), ("human", "{x}")]) | model(n),
        {"x": "hi", "h": [n.HumanMessage(content="a"), n.AIMessage(content="b")]},
        {},
    )


@program
def nested_names(n: Any) -> Any:
    return (prompt(n) | model(n)).with_config(run_name="inner") | n.RunnableLambda(lambda m: m.content, name="f"), X, {}


@program
def metadata_inherited(n: Any) -> Any:
    return (
        (n.RunnableLambda(lambda x: x, name="a") | n.RunnableLambda(lambda x: x, name="b")).with_config(
            tags=["t"], metadata={"m": 1}
        ),
        1,
        {},
    )
