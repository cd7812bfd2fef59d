"""What runs on in hocket, and would do another thing in silence: written out, or told."""

import textwrap

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.migration.rewrite import rewrite_program

MODEL = "from langchain_core.language_models import BaseChatModel\n"
STORE = "from langchain_core.vectorstores import InMemoryVectorStore\ns = InMemoryVectorStore(e)\n"
FAISS = "from langchain_community.vectorstores import FAISS\n"
RUNNABLE = "from langchain_core.runnables import RunnableLambda\n"


def rewrite(code: str) -> str:
    """Return a program, rewritten."""
    return rewrite_program(code.encode()).code.decode()


def findings(code: str) -> list[tuple[int, str, str]]:
    """Return line, kind and subject of what is said of a program."""
    return [(one.line, one.kind, one.what) for one in rewrite_program(textwrap.dedent(code).encode()).findings]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.with_retry()", "x.with_retry(retry_if_exception_type=(Exception,))"),
        (
            "RunnableLambda(f).with_retry(stop_after_attempt=3)",
            "RunnableLambda(f).with_retry(retry_if_exception_type=(Exception,), stop_after_attempt=3)",
        ),
        ("x.with_retry(retry_if_exception_type=(E,))", "x.with_retry(retry_if_exception_type=(E,))"),
        ("x.with_retry(**given)", "x.with_retry(**given)"),
        ("x.with_retry(3)", "x.with_retry(3)"),
        ("x.with_retry(times=3)", "x.with_retry(times=3)"),
    ],
)
def test_retries(before: str, after: str) -> None:
    """LangChain's default tries everything again, hocket's what may help: the program gets LangChain's, once."""
    once = rewrite(f"{RUNNABLE}{before}\n")
    assert once.splitlines()[-1] == after
    assert rewrite(once) == once


def test_retries_of_what_is_not_langchains() -> None:
    """A program without LangChain is left alone."""
    assert rewrite("x.with_retry()\n") == "x.with_retry()\n"


def test_a_flaky_function_is_tried_as_often_as_in_langchain() -> None:
    """What is rewritten runs: three attempts at a ValueError."""
    code = """
        from langchain_core.runnables import RunnableLambda
        attempts = []
        def flaky(x):
            attempts.append(x)
            if len(attempts) < 3:
                raise ValueError("no")
            return "yes"
        answer = RunnableLambda(flaky).with_retry(stop_after_attempt=3, wait_exponential_jitter=False).invoke(1)
    """
    names: dict[str, object] = {}
    exec(compile(rewrite(textwrap.dedent(code)), "program.py", "exec"), names)
    assert (names["answer"], names["attempts"]) == ("yes", [1, 1, 1])


@pytest.mark.parametrize(
    ("code", "after"),
    [
        ("ChatOpenAI(**k).configurable_fields(model_name=f)", "ChatOpenAI(**k).configurable_fields(model=f)"),
        ("m = ChatOpenAI()\nm.configurable_fields(model_name=f)", "m.configurable_fields(model=f)"),
        ("m: X = ChatOpenAI()\nm.configurable_fields(model_name=f)", "m.configurable_fields(model=f)"),
        ("Desk().configurable_fields(model_name=f)", "Desk().configurable_fields(model_name=f)"),
        ("def g(m): m.configurable_fields(model_name=f)", "def g(m): m.configurable_fields(model_name=f)"),
    ],
)
def test_configurable_fields(code: str, after: str) -> None:
    """A field is renamed where it is of a class that has another name for it here, and not where it may be the user's."""
    assert rewrite(f"from langchain_openai import ChatOpenAI\n{code}\n").splitlines()[-1] == after


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"{RUNNABLE}for x in a.stream(y, stream_mode=['updates']): pass", [(2, "left", "stream(stream_mode=)")]),
        (f"{RUNNABLE}RunnableLambda(f).astream_log(1)", [(2, "left", "astream_log")]),
        (f"{STORE}s.similarity_search('x', filter=lambda d: True)", [(3, "left", "similarity_search(filter=)")]),
        (f"{STORE}def f(d): ...\nawait_(s.asimilarity_search('x', filter=f))", [(4, "left", "asimilarity_search(filter=)")]),
        (f"{STORE}s.as_retriever(search_kwargs={{'filter': lambda d: True}})", [(3, "left", "as_retriever(filter=)")]),
        (f"{STORE}s.similarity_search('x', filter={{'a': 1}})", []),
        (f"{STORE}s.similarity_search_with_score('x')", []),
        (f"{STORE}s.dump('x')", [(3, "left", "s.dump")]),
        (f"{STORE}InMemoryVectorStore.load('x', e)", [(3, "left", "InMemoryVectorStore.load")]),
        (
            f"{FAISS}s = FAISS.from_texts([], e)\ns.save_local('x')\ns.similarity_search_with_score('x')",
            [(1, "check", "langchain_community.vectorstores.FAISS"), (4, "check", "similarity_search_with_score")],
        ),
        (
            f"{FAISS}FAISS.load_local('x', e).as_retriever(search_type='similarity_score_threshold')",
            [(1, "check", "langchain_community.vectorstores.FAISS"), (2, "check", "score_threshold")],
        ),
        (f"{RUNNABLE}a.invoke(x, {{'recursion_limit': 5}})", [(2, "check", "recursion_limit")]),
        (f"{RUNNABLE}RunnableLambda(f).with_listeners(on_end=g)", [(2, "check", "with_listeners")]),
        (f"{RUNNABLE}self._call_with_config(f, x, c)", [(2, "left", "_call_with_config")]),
        (f"{RUNNABLE}a.with_config(recursion_limit=5)", [(2, "check", "recursion_limit")]),
        ("s.similarity_search_with_score('x')\nx.astream_log(1)", []),
    ],
)  # fmt: skip
def test_what_is_told_of_calls(code: str, said: list[tuple[int, str, str]]) -> None:
    """What hocket does not have in another room, and what means another thing there."""
    assert findings(f"{code}\n") == said


def test_a_store_that_is_written_to_a_file_has_a_way_out() -> None:
    """The advice names hocket's store for it."""
    texts = [
        one.text for one in rewrite_program(f"{STORE}s.dump('x')\nInMemoryVectorStore.load('x', e)\n".encode()).findings
    ]
    assert ["SQLiteVectorStore" in text for text in texts] == [True, True]


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        ("def before_model(self, state, runtime): ...", [(3, "left", "Filter.before_model")]),
        ("async def aafter_agent(self, state, runtime): ...", [(3, "left", "Filter.aafter_agent")]),
        ("async def awrap_tool_call(self, request, handler): ...", [(3, "left", "Filter.awrap_tool_call")]),
        ("tools = [search]", [(3, "left", "Filter.tools")]),
        ("def __init__(self): self.tools = []", [(3, "left", "Filter.tools")]),
        ("def wrap_model_call(self, request, handler): tools = []", []),
        ("def wrap_model_call(self, request, handler): ...", []),
        ("def wrap_model_call(self, request, handler): return request.state", [(3, "left", "request.state")]),
        ("def wrap_model_call(self, r, handler): return handler(r.override(messages=r.messages))", []),
        (
            "def wrap_tool_call(self, r, handler): return r.runtime, r.tool_call, other.state",
            [],
        ),
    ],
)
def test_a_middleware(hook: str, said: list[tuple[int, str, str]]) -> None:
    """A hook that hocket never calls is told with what to write instead, in a class of a class, too."""
    head = "from langchain.agents.middleware import AgentMiddleware\n"
    assert findings(f"{head}class Filter(AgentMiddleware):\n    {hook}\n") == said
    below = [(line + 1, kind, what) for line, kind, what in said]
    code = f"{head}class Base(AgentMiddleware[S, C]): ...\nclass Filter(Base):\n    {hook}\n"
    assert findings(code) == below


@pytest.mark.parametrize(
    ("decorator", "advice"),
    [
        ("wrap_tool_call", "a subclass of hocket.agents.AgentMiddleware that has this method"),
        ("before_model", "whose wrap_model_call does it before or after"),
        ("HumanInTheLoopMiddleware", "interrupt_on="),
    ],
)
def test_middleware_that_is_langchains(decorator: str, advice: str) -> None:
    """It stays where it is, without a bridge that could do nothing for it, and the way out is a class of hocket's."""
    code = f"from langchain.agents.middleware import {decorator}\n@{decorator}\ndef f(request, handler): ...\n"
    done = rewrite_program(code.encode())
    assert done.code.decode() == code
    assert [(one.line, one.kind) for one in done.findings] == [(1, "left")]
    assert advice in done.findings[0].text


COUNTING = """
{model}class Desk(BaseChatModel):
    calls: int = 0
    seen: list[str] = []
    _hidden: int = PrivateAttr(default=0)
    left_out: int = Field(default=0, exclude=True)
    shared: ClassVar[int] = 0
    name_of: str = "x"

    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.name_of = "y"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        self._hidden += 1
        self.left_out += 1
        self.shared += 1
        answer: str = "x"
        self.answer = answer
        {line}
"""


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("self.calls += 1", "Desk.calls"),
        ("self.calls = self.calls + 1", "Desk.calls"),
        ("self.seen.append('x')", "Desk.seen"),
        ("self.seen[0] = 'x'", "Desk.seen"),
        ("x = self.calls + len(self.seen)", None),
    ],
)
def test_a_field_that_changes_with_each_call(line: str, what: str | None) -> None:
    """It is in the key of the cache, so that no answer would ever be found there."""
    code = COUNTING.format(model=MODEL, line=line)
    assert findings(code) == ([(21, "check", what)] if what else [])


def test_a_counter_switches_the_cache_off() -> None:
    """What is told is so: with a counter as a field the model is asked twice, with a private one once."""
    from pydantic import PrivateAttr

    from hocket.caches import InMemoryCache
    from hocket.language_models import SimpleChatModel

    class Base(SimpleChatModel):
        @property
        def _llm_type(self) -> str:
            return "counting"

    class Field(Base):
        calls: int = 0

        def _call(self, messages: object, stop: object = None, run_manager: object = None, **kwargs: object) -> str:
            self.calls += 1
            return str(self.calls)

    class Private(Base):
        _calls: int = PrivateAttr(default=0)

        def _call(self, messages: object, stop: object = None, run_manager: object = None, **kwargs: object) -> str:
            self._calls += 1
            return str(self._calls)

    answers = [
        [model.invoke("x").text for _ in range(2)]
        for model in (Field(cache=InMemoryCache()), Private(cache=InMemoryCache()))
    ]
    assert answers == [["1", "2"], ["1", "1"]]


def test_events_of_the_first_version_are_told() -> None:
    """hocket refuses to write them."""
    code = f"{RUNNABLE}x.astream_events(1, version='v1')\nx.astream_events(1, version='v2')\n"
    assert findings(code) == [(2, "left", "astream_events(version='v1')")]


def test_a_temperature_that_the_model_refuses_is_told() -> None:
    """LangChain's leaves it out; here the first call would raise."""
    head = "from langchain_openai import ChatOpenAI\nfrom langchain.chat_models import init_chat_model\n"
    told = [(3, "check", "ChatOpenAI(temperature=)")]
    assert findings(f"{head}ChatOpenAI(model='gpt-5-mini', temperature=0)\n") == told
    assert findings(f"{head}ChatOpenAI(model='gpt-4o', temperature=0)\n") == []
    assert findings(f"{head}ChatOpenAI(model='gpt-5-mini', temperature=None)\n") == []
    assert findings(f"{head}ChatOpenAI(model='gpt-5-mini')\n") == []
    told = [(3, "check", "init_chat_model(temperature=)")]
    assert findings(f"{head}init_chat_model('openai:gpt-5-mini', temperature=0)\n") == told


@pytest.mark.parametrize(("verb", "count"), [("with_structured_output", 1), ("bind_tools", 0)])
def test_a_handler_of_pydantics_error_is_told_where_a_model_is_asked_for_objects(verb: str, count: int) -> None:
    """An answer that does not fit raises another error here, so the handler would never run."""
    code = f"""
        from langchain_openai import ChatOpenAI
        from pydantic import ValidationError
        try:
            ChatOpenAI(model="m").{verb}(T).invoke("x")
        except (KeyError, ValidationError):
            pass
    """
    assert findings(code) == [(6, "check", "ValidationError")] * count


def test_threads_and_states_of_an_agent_are_told() -> None:
    """An agent of hocket's has histories; a chain with a history may have a key of that name."""
    code = """
        from langchain.agents import create_agent
        agent = create_agent(model, tools)
        agent.invoke(x, {"configurable": {"thread_id": "1"}})
        agent.get_state({"configurable": {}})
        agent.bind(model=other).batch
    """
    assert findings(code)[1:] == [(4, "check", "thread_id"), (5, "left", "agent.get_state")]
    history = "from langchain_core.runnables.history import RunnableWithMessageHistory\nx = {'thread_id': 1}\n"
    assert findings(history) == []
