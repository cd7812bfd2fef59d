"""One program rewritten: imports, names, arguments, texts; and what it says of the rest."""

import textwrap
from typing import Any

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket import Timeout
from hocket.errors import InvalidInput
from hocket.migration.rewrite import rewrite_program


def rewrite(code: str) -> str:
    """Return a program, rewritten."""
    return rewrite_program(textwrap.dedent(code).encode()).code.decode()


def findings(code: str) -> list[tuple[int, str, str]]:
    """Return line, kind and subject of what is said of a program."""
    return [(one.line, one.kind, one.what) for one in rewrite_program(textwrap.dedent(code).encode()).findings]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("from langchain_core.messages import HumanMessage\n", "from hocket.messages import HumanMessage\n"),
        ("from langchain_core.messages.human import HumanMessage as H\n", "from hocket.messages import HumanMessage as H\n"),
        ("from langchain_core.exceptions import ModelError\n", "from hocket.errors import LLMError as ModelError\n"),
        ("from langchain_core.exceptions import ModelError as E\n", "from hocket.errors import LLMError as E\n"),
        ("from langchain_core.exceptions import ModelError as LLMError\n", "from hocket.errors import LLMError\n"),
        ("from langchain_core import messages, prompts as p\n", "from hocket import messages, prompts as p\n"),
        ("import langchain_core.messages as m\nm.AIMessage()\n", "import hocket.messages as m\nm.AIMessage()\n"),
        (
            "import os, langchain_core.messages\nlangchain_core.messages.AIMessage()\n",
            "import os\nimport hocket.messages\nhocket.messages.AIMessage()\n",
        ),
        (
            "import langchain_core.messages.utils as m\nm.trim_messages(m.convert_to_messages([]))\n",
            "import hocket.messages as m\nm.trim_messages(m.convert_to_messages([]))\n",
        ),
        (
            "import langchain_core.utils.function_calling as f\nf.convert_to_openai_tool\nf.tool_example_to_messages\n",
            "import hocket.tools as f\nimport hocket.messages\nf.convert_to_openai_tool\n"
            "hocket.messages.tool_example_to_messages\n",
        ),
        (
            "from langchain.schema import Document, HumanMessage  # both\n",
            "from hocket.documents import Document\nfrom hocket.messages import HumanMessage  # both\n",
        ),
        (
            "from langchain_core.prompts import *\nx = PromptTemplate.from_template('a')\n",
            "from hocket.prompts import PromptTemplate\nx = PromptTemplate.from_template('a')\n",
        ),
        (
            "if TYPE_CHECKING: from langchain_core.tools import BaseTool\n",
            "if TYPE_CHECKING: from hocket.tools import BaseTool\n",
        ),
        (
            "from langchain_core.tools import tool; x = 1\n",
            "from hocket.tools import tool; x = 1\n",
        ),
        (
            "from langchain_core.utils import env_var_is_set; from langchain_core.tools import tool\n",
            "from langchain_core.utils import env_var_is_set; from hocket.tools import tool\n",
        ),
        ("from hocket.tools import tool\nx: 'tool'\n", "from hocket.tools import tool\nx: 'tool'\n"),
        ("from .langchain_core import x\n", "from .langchain_core import x\n"),
    ],
)  # fmt: skip
def test_imports(before: str, after: str) -> None:
    """Each form of an import is moved, and nothing else is."""
    assert rewrite(before) == after


def test_comments_and_layout_are_kept() -> None:
    """In brackets, names of another room move out, and the others stay as they were written."""
    before = """
        # first
        from langchain.schema import (
            HumanMessage,  # the user's
            Document,  # a piece
            AIMessage,
        )  # last
        try:
            from langchain_core.tools import tool  # new
        except ImportError:
            tool = None
    """
    after = """
        # first
        from hocket.messages import (
            HumanMessage,  # the user's
            AIMessage,
        )
        from hocket.documents import (
            Document,  # a piece
        )  # last
        try:
            from hocket.tools import tool  # new
        except ImportError:
            tool = None
    """
    assert rewrite(before) == textwrap.dedent(after)


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("ChatOpenAI(model_name='m', openai_api_key=k)", "ChatOpenAI(model='m', api_key=k)"),
        ("ChatOpenAI(**k, openai_api_base=u, default_headers=h)", "ChatOpenAI(**k, base_url=u, default_headers=h)"),
        ("ChatOpenAI(**k, max_retries=2)", "ChatOpenAI(**k, retry=3)"),
        ("ChatOpenAI(**k, max_retries=n)", "ChatOpenAI(**k, retry=n + 1)"),
        ("ChatOpenAI(**k, max_retries=n or 1)", "ChatOpenAI(**k, retry=(n or 1) + 1)"),
        ("ChatOpenAI(**k, model_kwargs={'top_p': 1, 'seed': 2}, n=1)", "ChatOpenAI(**k, top_p=1, seed=2, n=1)"),
        ("ChatOpenAI(model='m', model_kwargs={})", "ChatOpenAI(model='m')"),
        ("ChatOpenAI(**k, temperature=0)  # cold", "ChatOpenAI(**k, temperature=0)  # cold"),
        ("ChatOpenAI(**k).configurable_fields(model_name=f)", "ChatOpenAI(**k).configurable_fields(model=f)"),
        ("other(max_retries=2)", "other(max_retries=2)"),
    ],
)
def test_arguments(call: str, after: str) -> None:
    """An argument that means the same gets hocket's name; retries become attempts."""
    head = "from {}  import ChatOpenAI\n"
    assert (
        rewrite(head.format("langchain_openai") + call + "\n") == head.format("hocket.providers.openai") + after + "\n"
    )


def test_a_timeout_of_langchains_is_the_longest_silence() -> None:
    """A number is for each read of each attempt there, and here for all of a call: it would cut healthy streams."""
    code = (
        "import hocket\nfrom langchain_openai import ChatOpenAI\nm = ChatOpenAI(model='m', api_key='k', {}={}, n=1)\n"
    )
    names: dict[str, Any] = {}
    exec(rewrite(code.format("request_timeout", "2.5")), names)
    assert names["m"].timeout == Timeout(connect=2.5, first_token=2.5, idle=2.5, total=1200)
    assert findings(code.removeprefix("import hocket\n").format("timeout", "3000")) == [
        (2, "check", "ChatOpenAI(timeout=)")
    ]
    assert "total=3000)" in rewrite(code.format("timeout", "3000"))
    without = rewrite(code.removeprefix("import hocket\n").format("timeout", "2"))
    assert without.splitlines()[:2] == ["from hocket.providers.openai import ChatOpenAI", "import hocket"]


@pytest.mark.parametrize(
    ("value", "kind"),
    [("httpx.Timeout(10)", "left"), ("(3, 60)", "left"), ("seconds", "check"), ("float(x)", "check"), ("None", None)],
)
def test_a_timeout_that_is_no_number_is_told(value: str, kind: str | None) -> None:
    """What hocket would refuse is left to do; what may be a number is to be looked at."""
    code = f"from langchain_openai import ChatOpenAI\nChatOpenAI(model='m', request_timeout={value})\n"
    assert f"timeout={value})" in rewrite(code)
    assert findings(code) == ([(2, kind, "ChatOpenAI(request_timeout=)")] if kind else [])


@pytest.mark.parametrize(
    ("call", "after"),
    [
        ("langchain_openai.ChatOpenAI(temperature=0)", "ChatOpenAI(temperature=0, model='gpt-3.5-turbo')"),
        ("langchain_openai.OpenAIEmbeddings()", "OpenAIEmbeddings(model='text-embedding-ada-002')"),
        ("langchain_mistralai.ChatMistralAI()", "ChatMistralAI(model='mistral-small')"),
    ],
)
def test_the_model_that_langchain_asks_where_none_is_named(call: str, after: str) -> None:
    """It is written in, and said: hocket has none, or another, whose vectors would not fit the store's."""
    module, _, call = call.partition(".")
    code = f"from {module} import {call.partition('(')[0]}\n{call}\n"
    assert rewrite(code).splitlines()[1] == after.replace("'", '"')
    assert [(line, kind) for line, kind, _ in findings(code)] == [(2, "check")]
    assert findings("from langchain_cohere import ChatCohere\nChatCohere()\n") == [(2, "left", "ChatCohere(...)")]


def test_models_of_the_clouds_move_with_what_they_are_given() -> None:
    """Of Amazon's and Google's packages, and of their modules; the older chat model of Amazon's asks Converse now."""
    before = """\
        from langchain_aws import ChatAnthropicBedrock, ChatBedrock, ChatBedrockConverse
        from langchain_aws.embeddings import BedrockEmbeddings
        from langchain_google_vertexai import ChatVertexAI, VertexAIEmbeddings
        from langchain_google_vertexai.model_garden import ChatAnthropicVertex
        from langchain_community.chat_models import BedrockChat
        ChatBedrockConverse(model_id="m", region_name="eu-west-1", credentials_profile_name="shop", endpoint_url="u")
        ChatBedrock(model_id="m", model_kwargs={"temperature": 0}, max_retries=2)
        BedrockEmbeddings(model_id="m")
        ChatAnthropicVertex(model_name="m", project="p", location="l")
    """
    after = """\
        from hocket.providers.anthropic import ChatAnthropicBedrock
        from hocket.providers.bedrock import ChatBedrockConverse as ChatBedrock, ChatBedrockConverse
        from hocket.providers.bedrock import BedrockEmbeddings
        from hocket.providers.google import ChatVertexAI, VertexAIEmbeddings
        from hocket.providers.anthropic import ChatAnthropicVertex
        from hocket.providers.bedrock import ChatBedrockConverse as BedrockChat
        ChatBedrockConverse(model="m", region_name="eu-west-1", credentials_profile_name="shop", base_url="u")
        ChatBedrock(model="m", temperature=0, retry=3)
        BedrockEmbeddings(model="m")
        ChatAnthropicVertex(model="m", project="p", location="l")
    """
    assert rewrite(before) == textwrap.dedent(after)
    assert findings(before) == []
    assert findings("from langchain_aws import BedrockLLM\n") == [(1, "left", "langchain_aws.BedrockLLM")]


def test_azure_is_a_dialect() -> None:
    """Its embeddings and text models are OpenAI's here; a version of the API goes into each request's query."""
    arguments = (
        "azure_deployment='d', api_version='2024-05-01', azure_endpoint='https://x.openai.azure.com', api_key='k'"
    )
    code = f"from langchain_openai import AzureOpenAIEmbeddings\ne = AzureOpenAIEmbeddings({arguments})\n"
    namespace: dict[str, Any] = {}
    exec(rewrite(code), namespace)
    made = namespace["e"]
    assert (made.model, made.dialect, made.base_url) == ("d", "azure", "https://x.openai.azure.com")
    assert made.default_query == {"api-version": "2024-05-01"}


@pytest.mark.parametrize(
    ("code", "said"),
    [
        ("from langchain_core.utils import env_var_is_set", [(1, "left", "langchain_core.utils.env_var_is_set")]),
        ("from langchain_ollama import OllamaLLM", [(1, "left", "langchain_ollama.OllamaLLM")]),
        ("from langchain import hub", [(1, "check", "hub")]),
        ("import langchain\nlangchain.verbose = True", [(2, "left", "langchain.verbose")]),
        ("import langchain_nobody.things", [(1, "left", "langchain_nobody.things")]),
        (
            "from langchain_openai import ChatOpenAI\n\nChatOpenAI(model=m, temprature=1)",
            [(3, "left", "ChatOpenAI(temprature=)")],
        ),
        (
            "from langchain_openai import ChatOpenAI\nChatOpenAI(model_kwargs=given)",
            [(2, "left", "ChatOpenAI(model_kwargs=)")],
        ),
        ("from langchain_openai import ChatOpenAI\nm = ChatOpenAI(**k)\nm.imagine('x')", [(3, "left", "m.imagine")]),
        (
            "from langchain_core.prompts import ChatPromptTemplate\nChatPromptTemplate.from_nothing()",
            [(2, "left", "ChatPromptTemplate.from_nothing")],
        ),
        ("from langchain_core.messages import *\n", [(1, "left", "langchain_core.messages.*")]),
        (
            "import importlib\nimportlib.import_module('langchain_core.messages')",
            [(2, "check", "langchain_core.messages")],
        ),
        (
            "import importlib\nimportlib.import_module(f'langchain_core.{x}')",
            [(2, "left", "langchain_core. …")],
        ),
        ("__import__('langchain_nobody.x')", [(1, "left", "langchain_nobody.x")]),
        ("patch('langchain_core.utils.env_var_is_set')", [(1, "left", "langchain_core.utils.env_var_is_set")]),
        ("log('langchain_core.messages')", [(1, "check", "langchain_core.messages")]),
        (
            "from langgraph.graph import StateGraph\nfrom langchain_core.messages import AIMessage",
            [(1, "left", "langgraph.graph")],
        ),
        ("from langgraph.graph import StateGraph", []),
        ("x = 'langchain is a word'", []),
        ("from langchain.agents import create_agent", [(1, "check", "create_agent")]),
        ("from langchain_core.vectorstores import InMemoryVectorStore", []),
        ("from langchain_core.runnables import RunnablePassthrough\nRunnablePassthrough.assign(x=f)", []),
        ("from langchain_core.messages import trim_messages\ntrim_messages(max_tokens=4, token_counter=len)", []),
        ("from langchain_core.runnables import RunnableLambda\nRunnableLambda()", [(2, "left", "RunnableLambda(...)")]),
        (
            "import openai\nfrom anthropic import NotFoundError as Gone\nfrom langchain_openai import ChatOpenAI\n"
            "try: pass\nexcept (openai.RateLimitError, KeyError): pass\nexcept Gone: pass\nexcept: pass\n",
            [(5, "check", "openai.RateLimitError"), (6, "check", "Gone")],
        ),
        ("import openai\ntry: pass\nexcept openai.RateLimitError: pass\n", []),
        (
            "from langchain_chroma import Chroma\nChroma(collection_name='a')\n",
            [(1, "check", "langchain_chroma.Chroma")],
        ),
        (
            "from langchain_chroma import Chroma\nChroma(collection_name='a', embedding_function=e)\n",
            [
                (1, "check", "Chroma, now InMemoryVectorStore"),
                (2, "check", "InMemoryVectorStore(collection_name=)"),
            ],
        ),
    ],
)
def test_what_is_said(code: str, said: list[tuple[int, str, str]]) -> None:
    """What cannot be moved is told with its line; what was moved and may mean another thing, too."""
    assert findings(code) == said


def test_names_in_texts_are_moved_where_they_are_imported() -> None:
    """The paths of `patch` and `import_module`; any other text stays."""
    before = (
        'patch("langchain_openai.ChatOpenAI.invoke")\nimport_module("langchain_core.messages")\n"langchain_core.x"\n'
    )
    after = 'patch("hocket.providers.openai.ChatOpenAI.invoke")\nimport_module("hocket.messages")\n"langchain_core.x"\n'
    assert rewrite(before) == after


def test_a_program_of_langgraph_stays() -> None:
    """Its messages are LangChain's: half a move would break it."""
    code = "from langgraph.graph import StateGraph\nfrom langchain_core.messages import AIMessage\n"
    assert rewrite(code) == code


def test_the_fields_of_a_subclass_are_annotated() -> None:
    """Of a class of pydantic's, where the value says what it is."""
    before = """
        from langchain_core.tools import BaseTool
        class Search(BaseTool):
            # what it is called
            name = "search"  # short
            description = ("a"
                           "b")
            other = "x"
    """
    after = """
        from hocket.tools import BaseTool
        class Search(BaseTool):
            # what it is called
            name: str = "search"  # short
            description: str = ("a"
                           "b")
            other = "x"
    """
    assert rewrite(before) == textwrap.dedent(after)


def test_a_method_that_is_an_attribute_here() -> None:
    """Messages of a history are read, not called for."""
    code = "from langchain_community.chat_message_histories import SQLChatMessageHistory as H\n"
    code += "h = H(session_id='a', connection=u)\n"
    assert rewrite(f"{code}h.get_messages()\n").endswith("\nh.messages\n")
    assert [kind for _, kind, _ in findings(f"{code}h.get_messages()\n")] == ["check"]


def test_a_name_that_is_bound_anew_is_left_alone() -> None:
    """`chain` is the decorator first, and a chain of the program's own later."""
    code = "from langchain_core.runnables import chain\nchain = prompt | model\nchain.invoke('x')\n"
    assert findings(code) == []


def test_a_rewritten_program_is_left_alone() -> None:
    """What is moved is not moved again, and nothing is said of it."""
    code = """
        import langchain_core.messages as m
        from langchain_core.exceptions import ModelError
        from langchain_openai import ChatOpenAI
        from langchain_chroma import Chroma
        model = ChatOpenAI(model_name="m", max_retries=1)
        store = Chroma.from_documents([], None, persist_directory="x")
    """
    once = rewrite(code)
    assert "langchain" not in once and "path=" in once
    assert (rewrite(once), findings(once)) == (once, [])


def test_what_is_rewritten_runs() -> None:
    """A chain with a fake model, from LangChain's imports to its answer."""
    code = """
        from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
        from langchain_core.messages import AIMessage
        from langchain_core.output_parsers import StrOutputParser
        from langchain_core.prompts import ChatPromptTemplate
        chain = ChatPromptTemplate.from_messages([("human", "{q}")]) | GenericFakeChatModel(
            messages=iter([AIMessage("yes")])
        ) | StrOutputParser()
        answer = chain.invoke({"q": "?"})
    """
    names: dict[str, object] = {}
    exec(compile(rewrite(code), "program.py", "exec"), names)
    assert names["answer"] == "yes"


@pytest.mark.parametrize("code", [b"print 'x'\n", b"def f(:\n", b"x = '\xff'\n", b"\x00"])
def test_what_is_no_python(code: bytes) -> None:
    """Is refused with one line that says where."""
    with pytest.raises(InvalidInput, match="it is no Python"):
        rewrite_program(code)


@pytest.mark.parametrize("ending", ["\r\n", "\n"])
def test_line_ends_and_encoding_are_kept(ending: str) -> None:
    """A program of Windows, and one in another encoding."""
    lines = ["# coding: latin-1", "from langchain_core.tools import tool", "x = 'ä'", ""]
    code = rewrite_program(ending.join(lines).encode("latin-1")).code
    assert code == ending.join(lines).replace("langchain_core", "hocket").encode("latin-1")


def test_what_counts_tokens_of_embeddings_is_left_out() -> None:
    """hocket's model sends texts, and says so; the header has another name."""
    code = """
        from langchain_openai import OpenAIEmbeddings
        model = OpenAIEmbeddings(model="m", check_embedding_ctx_length=False, tiktoken_enabled=False, headers={"a": "b"})
    """
    assert rewrite(code).splitlines()[-1] == 'model = OpenAIEmbeddings(model="m", default_headers={"a": "b"})'
    names = ("check_embedding_ctx_length", "tiktoken_enabled")
    assert findings(code) == [(3, "check", f"OpenAIEmbeddings({name}=)") for name in names]


def test_what_parsers_and_prompts_do_anyway_is_left_out() -> None:
    """One reader of XML is always safe, and the variables of a prompt are always found."""
    code = """
        from langchain_core.output_parsers import XMLOutputParser
        from langchain_core.prompts import FewShotPromptTemplate
        parser = XMLOutputParser(parser="xml", tags=["a"])
        prompt = FewShotPromptTemplate(examples=[], example_prompt=one, suffix="", validate_template=True)
    """
    *_, parser, prompt = rewrite(code).splitlines()
    assert parser == 'parser = XMLOutputParser(tags=["a"])'
    assert prompt == 'prompt = FewShotPromptTemplate(examples=[], example_prompt=one, suffix="")'
    arguments = ("XMLOutputParser(parser=)", "FewShotPromptTemplate(validate_template=)")
    assert findings(code) == [(line, "check", argument) for line, argument in enumerate(arguments, 4)]


def test_a_handler_that_reads_langchains_fields_of_a_model_is_told() -> None:
    """What is handed to it has hocket's fields."""
    code = """
        from langchain_core.callbacks import BaseCallbackHandler
        class Log(BaseCallbackHandler):
            def on_llm_start(self, serialized, prompts, **kwargs):
                print(serialized.get("kwargs", {}).get("model_name", "?"))
            def on_llm_end(self, response, **kwargs):
                print(response.llm_output["model_name"])
    """
    assert findings(code) == [(5, "check", "on_llm_start")]


def test_what_every_chain_of_langchains_takes() -> None:
    """``verbose`` is left out, handlers are told, and a function of `TransformChain` has another name."""
    code = """
        from langchain.chains import LLMChain, RetrievalQA, TransformChain
        LLMChain(llm=m, prompt=p, verbose=True)
        RetrievalQA.from_chain_type(llm=m, retriever=r, verbose=True)
        LLMChain(llm=m, prompt=p, callbacks=[h])
        TransformChain(input_variables=[], output_variables=[], transform=f)
    """
    assert rewrite(code).splitlines()[2:] == [
        "LLMChain(llm=m, prompt=p)",
        "RetrievalQA.from_chain_type(llm=m, retriever=r)",
        "LLMChain(llm=m, prompt=p, callbacks=[h])",
        "TransformChain(input_variables=[], output_variables=[], transform_cb=f)",
    ]
    assert findings(code) == [
        (3, "check", "LLMChain(verbose=)"),
        (4, "check", "RetrievalQA.from_chain_type(verbose=)"),
        (5, "left", "LLMChain(callbacks=)"),
    ]


def test_the_file_of_a_cache() -> None:
    """It has another name here."""
    code = "from langchain_community.cache import SQLiteCache\nSQLiteCache(database_path='x')\n"
    assert rewrite(code) == "from hocket.caches import SQLiteCache\nSQLiteCache(path='x')\n"


def test_a_parser_that_asks_a_model_to_mend_is_told() -> None:
    """It would ask hocket's parser for what only LangChain's have; hocket's models ask again by themselves."""
    code = "from langchain.output_parsers import OutputFixingParser\nOutputFixingParser.from_llm(llm=m, parser=p)\n"
    done = rewrite_program(code.encode())
    assert (done.code.decode(), [one.line for one in done.findings]) == (code, [1])
    assert "reask=2" in done.findings[0].text
