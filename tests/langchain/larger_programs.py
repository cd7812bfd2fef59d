"""More programs, as in `tests.langchain.programs`: histories, tools and models inside of others, and what fails there."""

from typing import Any

from tests.langchain.programs import X, add, model, program, prompt

CALL = {"name": "add", "args": {"a": 1}, "id": "1", "type": "tool_call"}


def plus(n: Any) -> Any:
    return n.RunnableLambda(lambda x: x + 1, name="plus")


def own(n: Any, *chunks: Any) -> Any:
    """A model whose stream hook yields these chunks."""

    class Own(n.BaseChatModel):
        @property
        def _llm_type(self):
            return "own"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            raise NotImplementedError

        async def _astream(self, messages, stop=None, run_manager=None, **kwargs):
            for chunk in chunks:
                yield n.ChatGenerationChunk(message=chunk)

    return Own()


@program
def three_lambdas(n: Any) -> Any:
    def reverse(text):
        return text[::-1]

    step = n.RunnableLambda(reverse)
    return (
        step.with_config(run_name="1") | step.with_config(run_name="2") | step.with_config(run_name="3"),
        "hello",
        {},
    )


@program
def bound(n: Any) -> Any:
    return model(n).bind(stop=["x"]), "hi", {}


@program
def bound_in_chain(n: Any) -> Any:
    return prompt(n) | model(n).bind(stop=["x"]) | n.StrOutputParser(), X, {}


@program
def marked_chunks(n: Any) -> Any:
    return own(n, n.AIMessageChunk(content="a"), n.AIMessageChunk(content="b", chunk_position="last")), "hi", {}


@program
def unmarked_chunks(n: Any) -> Any:
    return own(n, n.AIMessageChunk(content="a"), n.AIMessageChunk(content="b")), "hi", {}


@program
def chunks_with_usage(n: Any) -> Any:
    usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
    return (
        own(
            n, n.AIMessageChunk(content="a"), n.AIMessageChunk(content="", usage_metadata=usage, chunk_position="last")
        ),
        "hi",
        {},
    )


@program
def chunks_of_a_call(n: Any) -> Any:
    pieces = [
        {"name": "add", "args": '{"a', "id": "1", "index": 0},
        {"name": None, "args": '": 1}', "id": None, "index": 0},
    ]
    chunks = [n.AIMessageChunk(content="", tool_call_chunks=[piece]) for piece in pieces]
    end = n.AIMessageChunk(content="", chunk_position="last")
    return own(n, *chunks, end), "hi", {}


@program
def call_parsed(n: Any) -> Any:
    pieces = [{"name": "add", "args": '{"a": 1}', "id": "1", "index": 0}]
    chunks = [
        n.AIMessageChunk(content="", tool_call_chunks=pieces),
        n.AIMessageChunk(content="", chunk_position="last"),
    ]
    return own(n, *chunks) | n.JsonOutputToolsParser(), "hi", {}


@program
def model_fails(n: Any) -> Any:
    class Failing(n.BaseChatModel):
        @property
        def _llm_type(self):
            return "failing"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            raise ValueError("no")

    return Failing(), "hi", {}


@program
def model_generates(n: Any) -> Any:
    class Whole(n.BaseChatModel):
        @property
        def _llm_type(self):
            return "whole"

        def _generate(self, messages, stop=None, run_manager=None, **kwargs):
            return n.ChatResult(generations=[n.ChatGeneration(message=n.AIMessage(content="ab"))])

    return Whole(), "hi", {}


@program
def tool_with_artifact(n: Any) -> Any:
    @n.tool(response_format="content_and_artifact")
    def find(x: str) -> tuple[str, list[int]]:
        "Find."
        return x, [1, 2]

    return find, {"name": "find", "args": {"x": "a"}, "id": "1", "type": "tool_call"}, {}


@program
def tool_fails_in_a_call(n: Any) -> Any:
    @n.tool
    def fail(x: int) -> int:
        "Fail."
        raise ValueError("no")

    return fail, {"name": "fail", "args": {"x": 1}, "id": "1", "type": "tool_call"}, {}


@program
def tool_refuses(n: Any) -> Any:
    @n.tool
    def fail(x: int) -> int:
        "Fail."
        raise n.ToolException("not now")

    fail.handle_tool_error = True
    return fail, {"name": "fail", "args": {"x": 1}, "id": "1", "type": "tool_call"}, {}


@program
def tool_in_chain(n: Any) -> Any:
    return n.RunnableLambda(lambda x: {"a": x}, name="args") | add(n), 1, {}


@program
def tool_then_lambda(n: Any) -> Any:
    return add(n) | plus(n), {"a": 1}, {}


@program
def tool_with_a_custom_event(n: Any) -> Any:
    @n.tool
    async def tell(x: int, config: n.RunnableConfig) -> int:
        "Tell."
        await n.adispatch_custom_event("seen", {"x": x}, config=config)
        return x

    return tell, {"x": 1}, {}


@program
def model_streamed_in_tool(n: Any) -> Any:
    answers = model(n, "a")

    @n.tool
    async def ask(x: str, config: n.RunnableConfig) -> str:
        "Ask."
        return "".join([chunk.content async for chunk in answers.astream(x, config)])

    return ask, {"x": "hi"}, {}


@program
def chain_in_lambda(n: Any) -> Any:
    chain = plus(n) | plus(n)

    async def call(x, config):
        return await chain.ainvoke(x, config)

    return n.RunnableLambda(call), 1, {}


@program
def chain_streamed_in_lambda(n: Any) -> Any:
    inner = plus(n)

    async def call(x, config):
        async for piece in inner.astream(x, config):
            yield piece

    return n.RunnableLambda(call), 1, {}


@program
def lambda_in_lambda_by_context(n: Any) -> Any:
    inner = plus(n)

    async def call(x):
        return await inner.ainvoke(x)

    return n.RunnableLambda(call), 1, {}


@program
def assign_model(n: Any) -> Any:
    return n.RunnablePassthrough.assign(said=prompt(n) | model(n, "a") | n.StrOutputParser()), X, {}


@program
def chain_pick(n: Any) -> Any:
    return n.RunnablePassthrough.assign(y=n.RunnableLambda(lambda d: d["x"], name="y")).pick("y"), X, {}


@program
def branch_default(n: Any) -> Any:
    condition = n.RunnableLambda(lambda x: x > 5, name="c")
    return n.RunnableBranch((condition, plus(n)), n.RunnableLambda(lambda x: -x, name="minus")), 1, {}


@program
def router(n: Any) -> Any:
    return n.RouterRunnable({"a": plus(n)}), {"key": "a", "input": 1}, {}


@program
def generator_step(n: Any) -> Any:
    async def shout(pieces):
        async for piece in pieces:
            yield piece.upper()

    return model(n) | n.StrOutputParser() | n.RunnableGenerator(shout), "hi", {}


@program
def fallback_model(n: Any) -> Any:
    def fail(x):
        raise ValueError("no")

    first = n.RunnableLambda(fail, name="fail")
    return prompt(n) | first.with_fallbacks([model(n, "a")]) | n.StrOutputParser(), X, {}


@program
def retried_step(n: Any) -> Any:
    return n.RunnablePassthrough() | plus(n).with_retry(), 1, {}


@program
def configured(n: Any) -> Any:
    answers = model(n, "a").configurable_fields(responses=n.ConfigurableField(id="responses"))
    return answers.with_config(configurable={"responses": ["b"]}), "hi", {}


@program
def history(n: Any) -> Any:
    store: dict[str, Any] = {}

    def find(session_id):
        return store.setdefault(session_id, n.InMemoryChatMessageHistory())

    chain = n.ChatPromptTemplate.from_messages([n.MessagesPlaceholder("history"), ("human", "{x}")]) | model(n, "a")
    kept = n.RunnableWithMessageHistory(chain, find, input_messages_key="x", history_messages_key="history")
    return kept.with_config(configurable={"session_id": "s"}), X, {}


@program
def retriever_fails(n: Any) -> Any:
    class Notes(n.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            raise ValueError("no")

    return Notes(), "tea", {}


@program
def retriever_assigned(n: Any) -> Any:
    class Notes(n.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [n.Document(page_content=query)]

    chain = n.RunnableLambda(lambda d: d["x"], name="query") | Notes()
    return n.RunnablePassthrough.assign(found=chain), X, {}


@program
def exclude_names(n: Any) -> Any:
    return prompt(n) | model(n, "a") | n.StrOutputParser(), X, {"exclude_names": ["ChatPromptTemplate"]}


@program
def exclude_tags(n: Any) -> Any:
    return prompt(n) | model(n, "a").with_config(tags=["t"]) | n.StrOutputParser(), X, {"exclude_tags": ["t"]}


@program
def custom_event_in_chain(n: Any) -> Any:
    async def tell(x, config):
        await n.adispatch_custom_event("seen", x, config=config)
        return x

    return prompt(n) | n.RunnableLambda(tell) | model(n, "a"), X, {}


@program
def numbered_list(n: Any) -> Any:
    return model(n, "1. a\n2. b") | n.NumberedListOutputParser(), "hi", {}


@program
def model_asked_to_stream(n: Any) -> Any:
    answers = own(n, n.AIMessageChunk(content="a"), n.AIMessageChunk(content="b", chunk_position="last"))

    async def ask(x, config):
        return (await answers.ainvoke(x, config, stream=True)).content

    return n.RunnableLambda(ask), "hi", {}


@program
def calls_answered(n: Any) -> Any:
    """A turn of an agent: a call, its tool, the result."""
    pieces = [{"name": "add", "args": '{"a": 1}', "id": "1", "index": 0}]
    answers = own(
        n, n.AIMessageChunk(content="", tool_call_chunks=pieces), n.AIMessageChunk(content="", chunk_position="last")
    )

    async def act(message, config):
        return [await add(n).ainvoke(call, config) for call in message.tool_calls]

    return answers | n.RunnableLambda(act), "hi", {}


@program
def summary_of_a_history(n: Any) -> Any:
    chain = n.ChatPromptTemplate.from_messages([n.MessagesPlaceholder("h"), ("human", "Sum up.")]) | model(n, "ab")
    return chain | n.StrOutputParser(), {"h": [n.HumanMessage(content="a"), n.AIMessage(content="b")]}, {}


@program
def few_shots(n: Any) -> Any:
    shown = n.PromptTemplate.from_template("{q}: {a}")
    examples = [{"q": "1", "a": "2"}]
    shots = n.FewShotPromptTemplate(
        examples=examples, example_prompt=shown, suffix="{x}", input_variables=["x"], example_separator="\n"
    )
    return shots | model(n, "a"), X, {}


@program
def retriever_in_prompt(n: Any) -> Any:
    class Notes(n.BaseRetriever):
        def _get_relevant_documents(self, query, *, run_manager):
            return [n.Document(page_content=query)]

    def join(documents):
        return " ".join(one.page_content for one in documents)

    return Notes() | n.RunnableLambda(join) | n.PromptTemplate.from_template("{text}").partial(), "tea", {}


@program
def bound_config(n: Any) -> Any:
    chain = prompt(n) | model(n, "a")
    return chain.with_config(tags=["outer"], metadata={"m": 1}, run_name="talk"), X, {}


@program
def lambda_with_a_dict(n: Any) -> Any:
    return n.RunnableLambda(lambda x: {"x": x}, name="make") | prompt(n) | model(n, "a") | n.StrOutputParser(), "hi", {}
