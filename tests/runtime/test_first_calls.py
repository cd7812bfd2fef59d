"""The first calls of a process may come from many threads at once, as a server's do."""

import subprocess
import sys
import textwrap
import types

import pytest

from hocket import AsyncCallbackHandler
from hocket._metering import ambient
from hocket._runtime.cancellation import is_in_trio, running_asyncio_loop
from hocket._runtime.portal import holds_up_a_loop
from hocket.callbacks.base_manager import as_own_handler
from hocket.notebook.drawing import Terminal, find_output
from tests.measures.source import MODULES

VERBS = """
    import os, sys, threading, time, traceback, warnings
    from functools import partial

    warnings.simplefilter("error")

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name in ("asyncio.base_events", "asyncio.tasks", "trio._core"):
                time.sleep(0.1)  # whoever looks now finds a module that another thread is still importing

    sys.meta_path.insert(0, Slow())

    import hocket
    from hocket.agents import create_agent
    from hocket.embeddings import DeterministicFakeEmbedding
    from hocket.language_models import FakeListChatModel, FakeListLLM, SimpleChatModel
    from hocket.errors import ConnectionFailed
    from hocket.vectorstores import InMemoryVectorStore

    class Async(hocket.BaseChatModel):
        @property
        def _llm_type(self):
            return "async"
        async def _agenerate(self, messages, stop=None, run_manager=None, **kwargs):
            return hocket.ChatResult(generations=[hocket.ChatGeneration(message=hocket.AIMessage("yes"))])

    def run(verb, *args):
        import anyio
        backend = "trio" if threading.current_thread().name == "odd" else "asyncio"
        return anyio.run(verb, *args, backend=backend)

    async def read(stream):
        return [one async for one in stream]

    def refused():
        try:
            hocket.ChatOpenAI(model="x", base_url="http://127.0.0.1:9", api_key="none", retry=1).invoke("x")
        except ConnectionFailed:
            return
        raise AssertionError("somebody answered")

    def history():
        own = hocket.InMemoryChatMessageHistory()
        own.add_user_message("hi")
        return own.messages, hocket.Conversation(chat, history=own).send("hi")

    def store():
        own = InMemoryVectorStore(DeterministicFakeEmbedding(size=8))
        own.add_texts(["a", "b"])
        return own.similarity_search("a"), own.as_retriever().invoke("b"), own.as_retriever().batch(["b"])

    def use_tool():
        @hocket.tool
        def add(a: int, b: int) -> int:
            "Add."
            return a + b
        return add.invoke({"a": 1, "b": 2}), create_agent(chat, [add]).invoke("hi"), list(create_agent(chat).stream("hi"))

    def spend():
        with hocket.spending(tokens=1_000_000, unpriced="ignore"):
            chat.invoke("hi")

    def structured():
        from pydantic import BaseModel
        class Answer(BaseModel):
            n: int
        parser = hocket.PydanticOutputParser(pydantic_object=Answer)
        return (FakeListChatModel(responses=['{"n": 1}']) | parser).invoke("x")

    chat, llm, own = FakeListChatModel(responses=["yes"]), FakeListLLM(responses=["yes"]), Async()
    chain = hocket.ChatPromptTemplate.from_messages([("human", "{x}")]) | own | hocket.StrOutputParser()
    JOBS = [
        refused, history, store, use_tool, spend, structured,
        lambda: hocket.loads(hocket.dumps(hocket.AIMessage("hi"))).content_blocks,
        lambda: chat.get_num_tokens_from_messages([hocket.HumanMessage("hi")]),
        lambda: hocket.trim_messages([hocket.HumanMessage("hi")], max_tokens=9, token_counter=len),
        lambda: hocket.init_chat_model("fake:yes").invoke("hi").pretty_repr(),
        lambda: hocket.price_of("gpt-5.2", provider="openai"),
        lambda: run(lambda: read(chain.astream_events({"x": "hi"}))),
        lambda: chat.with_structured_output({"title": "A", "type": "object", "properties": {}}),
        lambda: chain.get_graph().draw_mermaid(),
    ]
    for one, given in ((own, "hi"), (llm, "hi"), (chat, "hi"), (chain, {"x": "hi"})):
        JOBS += [
            partial(one.invoke, given),
            partial(one.batch, [given, given]),
            lambda one=one, given=given: list(one.stream(given)),
            lambda one=one, given=given: list(one.batch_as_completed([given])),
            lambda one=one, given=given: run(one.ainvoke, given),
            lambda one=one, given=given: run(one.abatch, [given, given]),
            lambda one=one, given=given: run(lambda: read(one.astream(given))),
        ]

    failures = []

    def work(place):
        begun.wait()
        time.sleep(0.02 * place)
        start = place * 5 % len(JOBS)
        for job in JOBS[start:] + JOBS[:start]:
            try:
                job()
            except BaseException:
                failures.append(traceback.format_exc())

    begun = threading.Barrier(8)
    threads = [threading.Thread(target=work, args=(n,), name="odd" if n % 2 else "even") for n in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(len(failures), *failures[:3])
"""

NAMES = """
    import importlib, sys, threading, traceback
    failures = []

    def work():
        begun.wait()
        for door in sys.argv[1:]:
            try:
                module = importlib.import_module(door)
                for name in getattr(module, "__all__", ()):
                    getattr(module, name)
            except BaseException:
                failures.append(traceback.format_exc())

    begun = threading.Barrier(8)
    threads = [threading.Thread(target=work) for _ in range(8)]
    for one in threads:
        one.start()
    for one in threads:
        one.join()
    print(len(failures), *failures[:3])
"""

ROOM_AND_DOOR = """
    import importlib, sys, threading, time

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "hocket._runtime":
                held.set()  # by whichever thread has the lock of what is below it

    def note(event, arguments):
        if event == "exec" and arguments[0].co_filename.endswith("hocket/__init__.py") and not begun.is_set():
            begun.set()
            held.wait(5)
            time.sleep(0.2)  # the other one waits for this file now

    def import_room():
        begun.wait()
        importlib.import_module("hocket.remote")
        print("room")

    begun, held = threading.Event(), threading.Event()
    sys.meta_path.insert(0, Slow())
    sys.addaudithook(note)
    other = threading.Thread(target=import_room)
    other.start()
    import hocket
    assert hocket.AIMessage("hi").text == "hi"
    other.join()
    print("door")
"""

PACKAGE_AND_MODULE = """
    import importlib, sys, threading, time
    import hocket

    class Slow:
        def find_spec(self, name, path=None, target=None):
            if name == "hocket.callbacks.background" and not begun.is_set():
                begun.set()  # the package has its lock, and asks for its first module
                time.sleep(0.3)

    def import_package():
        importlib.import_module("hocket.callbacks")
        print("package")

    begun = threading.Event()
    sys.meta_path.insert(0, Slow())
    other = threading.Thread(target=import_package)
    other.start()
    begun.wait()
    hocket.AsyncCallbackHandler
    other.join()
    print("name")
"""


def run(script: str, *arguments: str) -> str:
    """Run a script in a fresh process and return what it printed."""
    command = [sys.executable, "-c", textwrap.dedent(script), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_every_verb_may_be_called_first_by_eight_threads() -> None:
    """Sync and async, on both loops, while the event loops' modules are half imported."""
    assert run(VERBS) == "0"


def test_every_name_may_be_asked_for_first_by_eight_threads() -> None:
    """Of every room's door; those of the command and for tests are opened by one thread."""
    rooms = {name for name, path in MODULES.items() if path.name == "__init__.py" and name.count(".") < 2}
    doors = sorted(name for name in rooms - {"hocket.cli", "hocket.testing", "hocket.migration"} if "._" not in name)
    assert run(NAMES, *doors) == "0"


def test_a_name_and_its_package_are_imported_at_once() -> None:
    """Each thread would hold what the other one waits for: the package, and the module that it asks for next."""
    assert run(PACKAGE_AND_MODULE).split() == ["package", "name"]


def test_a_room_and_hocket_are_imported_at_once() -> None:
    """Python lets the second thread into a package whose own file the first one still reads."""
    assert sorted(run(ROOM_AND_DOOR).split()) == ["door", "room"]


@pytest.mark.parametrize("name", ["asyncio", "trio", "IPython", "langchain_core.callbacks.base"])
def test_a_module_that_another_thread_still_imports_counts_as_none(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is there, with none of its names yet."""
    monkeypatch.setitem(sys.modules, name, types.ModuleType(name))
    handler = AsyncCallbackHandler()
    assert running_asyncio_loop() is None
    assert not is_in_trio()
    assert not holds_up_a_loop()
    assert as_own_handler(handler) is handler
    assert isinstance(find_output(), Terminal)


def test_what_is_added_twice_counts_once() -> None:
    """Two threads that open their first budget at once do not have every call booked twice."""

    def source() -> tuple[()]:
        return ()

    before = len(ambient.sources)
    ambient.add_source(source)
    ambient.add_source(source)
    try:
        assert len(ambient.sources) == before + 1
    finally:
        del ambient.sources[source]
