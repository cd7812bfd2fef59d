"""What stays LangChain's in a program that moves: where the bridge goes around it, and what is said of it."""

import importlib.util
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.migration.rewrite import rewrite_program
from hocket.migration.staying import find_home

BRIDGE = "from hocket.interop.langchain import from_langchain\n"
RETRIEVER = "from langchain_community.retrievers import BM25Retriever"


def rewrite(code: str) -> str:
    """Return a program, rewritten."""
    return rewrite_program(code.encode()).code.decode()


def findings(code: str) -> list[tuple[int, str, str]]:
    """Return line, kind and subject of what is said of a program."""
    return [(one.line, one.kind, one.what) for one in rewrite_program(code.encode()).findings]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (f"{RETRIEVER}  # words\nr = BM25Retriever(k=3)  # three\n",
         f"{BRIDGE}{RETRIEVER}  # words\nr = from_langchain(BM25Retriever)(k=3)  # three\n"),
        (f"{RETRIEVER} as B\nB.from_texts(\n    ['a'],  # one\n)\n",
         f"{BRIDGE}{RETRIEVER} as B\nfrom_langchain(B.from_texts)(\n    ['a'],  # one\n)\n"),
        ("import langchain_community.retrievers as r\nr.BM25Retriever()\n",
         f"{BRIDGE}import langchain_community.retrievers as r\nfrom_langchain(r.BM25Retriever)()\n"),
        ("import langchain_nobody\nlangchain_nobody.Thing()\n",
         f"{BRIDGE}import langchain_nobody\nfrom_langchain(langchain_nobody.Thing)()\n"),
        ("from langchain import hub\nhub.pull('hwchase17/react')\n",
         "from hocket.prompts import hub\nhub.pull('hwchase17/react')\n"),
        ("from langchain import hub\nhub.pull('a/b')\n",
         f"{BRIDGE}from langchain_classic import hub\nfrom_langchain(hub.pull)('a/b')\n"),
        ("from langchain.agents import load_tools, AgentExecutor\nload_tools([])\n",
         f"{BRIDGE}from langchain_classic.agents import load_tools\n"
         "from hocket.classic.agents import AgentExecutor\nfrom_langchain(load_tools)([])\n"),
        ("from langchain_community.document_loaders import DirectoryLoader, PythonLoader\n"
         "DirectoryLoader('.', loader_cls=PythonLoader).load()\n",
         f"{BRIDGE}from hocket.document_loaders import DirectoryLoader\n"
         "from langchain_community.document_loaders import PythonLoader\n"
         "DirectoryLoader('.', loader_cls=from_langchain(PythonLoader)).load()\n"),
        ("from langchain_nobody import Splitter\ns = Splitter()\ns.split_documents(docs)\nSplitter().create_documents([])\n",
         f"{BRIDGE}from langchain_nobody import Splitter\ns = from_langchain(Splitter)()\n"
         "from_langchain(s.split_documents)(docs)\nfrom_langchain(from_langchain(Splitter)().create_documents)([])\n"),
        (f"def f():\n    {RETRIEVER}\n    return BM25Retriever()\ndef g():\n    {RETRIEVER}\n    return BM25Retriever()\n",
         f"def f():\n    {BRIDGE}    {RETRIEVER}\n    return from_langchain(BM25Retriever)()\n"
         f"def g():\n    {BRIDGE}    {RETRIEVER}\n    return from_langchain(BM25Retriever)()\n"),
        ("from langchain_chroma import Chroma\nChroma.from_texts([], e, persist_directory='a')\nChroma.from_texts([], e)\n",
         f"{BRIDGE}from langchain_chroma import Chroma\n"
         "from_langchain(Chroma.from_texts)([], e, persist_directory='a')\nfrom_langchain(Chroma.from_texts)([], e)\n"),
        ("from langchain_community.vectorstores import FAISS\nx = FAISS.from_texts([], e)\nx.save_local('a')\n",
         f"{BRIDGE}from langchain_community.vectorstores import FAISS\n"
         "x = from_langchain(FAISS.from_texts)([], e)\nx.save_local('a')\n"),
        (f"{RETRIEVER}\nfrom langchain_nobody import Thing\nThing(BM25Retriever())\n",
         f"{BRIDGE}{RETRIEVER}\nfrom langchain_nobody import Thing\n"
         "from_langchain(Thing)(from_langchain(BM25Retriever)())\n"),
        ("from langchain_nobody import tool\n@tool\ndef f(a: int):\n    return a\n",
         f"{BRIDGE}from langchain_nobody import tool\n@from_langchain(tool)\ndef f(a: int):\n    return a\n"),
        ("from langchain_nobody import tools\n@tools.tool('f', x=1)\ndef f(a: int):\n    return a\n",
         f"{BRIDGE}from langchain_nobody import tools\n@from_langchain(from_langchain(tools.tool)('f', x=1))\n"
         "def f(a: int):\n    return a\n"),
        ("from langchain_nobody import Client\nasync def f():\n    async with Client({}) as c, other() as d:\n"
         "        return await c.get_tools(), d.get_tools()\n",
         f"{BRIDGE}from langchain_nobody import Client\nasync def f():\n"
         "    async with from_langchain(Client)({}) as c, other() as d:\n"
         "        return await from_langchain(c.get_tools)(), d.get_tools()\n"),
        ("from langchain_nobody import Kit\nk: Kit = Kit()\nk.get_tools()\n",
         f"{BRIDGE}from langchain_nobody import Kit\nk: Kit = from_langchain(Kit)()\nfrom_langchain(k.get_tools)()\n"),
    ],
)  # fmt: skip
def test_where_the_bridge_goes(before: str, after: str) -> None:
    """Around what is called, and what is handed to something that moved; a second time nothing changes."""
    assert rewrite(before) == after
    assert rewrite(after) == after
    assert findings(after) == []


@pytest.mark.parametrize(
    ("code", "said"),
    [
        (f"{RETRIEVER}\nBM25Retriever()\nBM25Retriever()\n", [(1, "check")]),
        (f"{RETRIEVER}\nx: BM25Retriever = BM25Retriever()\n", [(1, "check")]),
        (f"{RETRIEVER}\nclass Mine(BM25Retriever):\n    pass\n", [(2, "left")]),
        (f"{RETRIEVER}\nBM25Retriever()\nisinstance(x, BM25Retriever)\n", [(1, "check"), (3, "left")]),
        (f"{RETRIEVER}\n", [(1, "left")]),
    ],
)
def test_what_is_said(code: str, said: list[tuple[int, str]]) -> None:
    """One line where the bridge goes; a line for each use that it cannot go around, and for a name that nobody calls."""
    found = rewrite_program(code.encode()).findings
    assert [(one.line, one.kind) for one in found] == said
    assert all("hocket has no such retriever" in one.text and "hocket.retrievers" in one.text for one in found)


def test_what_hocket_has_and_would_refuse_stays() -> None:
    """A class of hocket's stands for one of another vendor where it takes what the program gives; else that one stays."""
    code = "from langchain_community.document_loaders import JSONLoader\nJSONLoader('a', jq_schema='.[]').load()\n"
    [found] = rewrite_program(code.encode()).findings
    assert (found.line, found.kind) == (1, "check")
    assert "would not take line 2 (hocket takes no such argument; " in found.text
    plain = "from langchain_community.document_loaders import TextLoader\nTextLoader('a').load()\n"
    assert rewrite(plain) == plain.replace("langchain_community", "hocket")


@pytest.mark.parametrize(
    ("code", "subject"),
    [
        ("from langchain_core.utils import env_var_is_set\nenv_var_is_set('A')\n", "langchain_core.utils.env_var_is_set"),
        ("from langchain_community.callbacks import get_openai_callback\nget_openai_callback()\n",
         "langchain_community.callbacks.get_openai_callback"),
    ],
)  # fmt: skip
def test_what_is_not_bridged(code: str, subject: str) -> None:
    """Inner parts of LangChain, and what would be told nothing beside hocket's objects."""
    assert findings(code) == [(1, "left", subject)]
    assert rewrite(code) == code


def test_a_bridged_program_runs(tmp_path: Path) -> None:
    """A retriever, a toolkit, decorators and a client of some package, in a program that moved."""
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    (tmp_path / "langchain_nobody.py").write_text(
        textwrap.dedent("""
            from langchain_core.documents import Document
            from langchain_core.retrievers import BaseRetriever
            from langchain_core.tools import tool

            class Shelf(BaseRetriever):
                documents: list[Document]

                @classmethod
                def from_documents(cls, documents):
                    return cls(documents=documents)

                def _get_relevant_documents(self, query, *, run_manager):
                    return [one for one in self.documents if query in one.page_content]

            def name_tool(name):
                def decorate(function):
                    return tool(name)(function)
                return decorate

            class Client:
                async def __aenter__(self):
                    return self

                async def __aexit__(self, *error):
                    print("closed")

                async def get_tools(self):
                    return Toolkit().get_tools()

            class Toolkit:
                def get_tools(self):
                    @tool
                    def add(a: int, b: int) -> int:
                        "Add."
                        return a + b
                    return [add]
        """)
    )
    program = """
        import asyncio
        import warnings
        warnings.simplefilter("ignore")
        from langchain_core.documents import Document
        from langchain_core.tools import BaseTool
        from langchain_core.runnables import RunnableLambda
        from langchain_nobody import Client, Shelf, Toolkit, name_tool, tool
        shelf = Shelf.from_documents([Document("a boiler"), Document("a cat")])
        chain = shelf | RunnableLambda(lambda found: [one.page_content for one in found])
        print(chain.invoke("boil"))
        toolkit = Toolkit()
        [add] = toolkit.get_tools()
        print(type(add).__mro__[1].__module__, add.invoke({"a": 1, "b": 2}))

        @tool
        def double(a: int) -> int:
            "Double."
            return 2 * a

        @name_tool("thrice")
        def triple(a: int) -> int:
            "Triple."
            return 3 * a

        print(double.invoke({"a": 2}), triple.name, triple.invoke({"a": 2}), isinstance(triple, BaseTool))

        async def main():
            async with Client() as client:
                [add] = await client.get_tools()
                print(await add.ainvoke({"a": 1, "b": 2}), isinstance(add, BaseTool))

        asyncio.run(main())
    """
    (tmp_path / "program.py").write_text(rewrite(textwrap.dedent(program)))
    done = subprocess.run([sys.executable, "program.py"], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (
        "['a boiler']\nhocket.tools.base 3\n4 thrice 6 True\n3 True\nclosed\n",
        "",
    )


@pytest.mark.parametrize(
    ("module", "name", "home"),
    [
        ("langchain.retrievers", "EnsembleRetriever", "langchain_classic.retrievers"),
        ("langchain.agents.react.base", "DocstoreExplorer", "langchain_classic.agents.react.base"),
        ("langchain.agents", "load_tools", "langchain_classic.agents"),
        ("langchain.agents", "AgentState", "langchain.agents"),
        ("langchain.agents.middleware", "wrap_tool_call", "langchain.agents.middleware"),
        ("langchain.agents.middleware.types", "wrap_tool_call", "langchain.agents.middleware.types"),
        ("langchain.agents.structured_output", "ToolStrategy", "langchain.agents.structured_output"),
        ("langchain.tools.tool_node", "ToolNode", "langchain.tools.tool_node"),
        ("langchain.messages", "Thing", "langchain.messages"),
        ("langchain.nothing", "Thing", "langchain.nothing"),
        ("langchain", "verbose", "langchain_classic"),
        ("langchain_community.tools", "Thing", "langchain_community.tools"),
    ],
)
@pytest.mark.filterwarnings("ignore:.langchain-community. is being sunset:DeprecationWarning")  # which we read alone
def test_the_home_of_what_stays(module: str, name: str, home: str) -> None:
    """What LangChain had before its version 1 is in langchain_classic; what came with it, or is nowhere, is not."""
    assert find_home(module, name) == home
    if home.startswith("langchain_classic"):
        pytest.importorskip("langchain_classic", reason="LangChain is not installed")
        assert importlib.util.find_spec(home) is not None
