"""Methods that LangChain has given up: rewritten as the verbs that do the same, where it is known what is called."""

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.migration.rewrite import rewrite_program

HEAD = """
from langchain.agents import AgentExecutor
from langchain.chains import ConversationChain, LLMChain, RetrievalQA
from langchain_openai import ChatOpenAI, OpenAI
chat = ChatOpenAI()
llm = OpenAI()
chain = LLMChain(llm=llm, prompt=p)
named = LLMChain(llm=llm, prompt=p, output_key="answer")
talk = ConversationChain(llm=chat)
self.qa = RetrievalQA.from_chain_type(llm, retriever=r)
agent = AgentExecutor(agent=a, tools=[])
either = LLMChain(llm, p) if x else None
"""


def rewrite(line: str) -> tuple[str, list[str]]:
    """Return a line behind the head, rewritten, and what is said of it."""
    done = rewrite_program(f"{HEAD}{line}\n".encode())
    return done.code.decode().splitlines()[-1], [one.what for one in done.findings if one.kind == "left"]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("chain.run('x')  # ask", "chain.invoke('x')[\"text\"]  # ask"),
        ("chain.run({'a': 1}, callbacks=[h])", "chain.invoke({'a': 1}, {\"callbacks\": [h]})[\"text\"]"),
        ("chain.run(a=1, b=f(chain.run(x)))", 'chain.invoke({"a": 1, "b": f(chain.invoke(x)["text"])})["text"]'),
        ("chain.predict(**given)", 'chain.invoke({**given})["text"]'),
        ("named.run(x)", 'named.invoke(x)["answer"]'),
        ("talk.predict(input=x).strip()", 'talk.invoke({"input": x})["response"].strip()'),
        ("self.qa.run(x)", 'self.qa.invoke(x)["result"]'),
        ("self.qa({'query': x})['result']", "self.qa.invoke({'query': x})['result']"),
        ("agent.run(x)", 'agent.invoke(x)["output"]'),
        ("agent({'input': x})", "agent.invoke({'input': x})"),
        ("chat.predict(x)", "chat.invoke(x).text"),
        ("chat(messages, stop=['a'])", "chat.invoke(messages, stop=['a'])"),
        ("chat.predict_messages([m])", "chat.invoke([m])"),
        ("llm(x)", "llm.invoke(x)"),
        ("llm.predict(x)", "llm.invoke(x)"),
        ("store.as_retriever().get_relevant_documents(x)", "store.as_retriever().get_relevant_documents(x)"),
        ("retriever.get_relevant_documents(x)", "retriever.invoke(x)"),
        ("async def f(): return await chain.arun(x)", 'async def f(): return (await chain.ainvoke(x))["text"]'),
        ("async def f(): return await chain.acall(x)", "async def f(): return await chain.ainvoke(x)"),
        ("async def f(): g(retriever.aget_relevant_documents(x))", "async def f(): g(retriever.ainvoke(x))"),
        ("other.run(x), subprocess.run(x), chain(), print(x)", "other.run(x), subprocess.run(x), chain(), print(x)"),
    ],
)  # fmt: skip
def test_a_method(before: str, after: str) -> None:
    """Is the verb, with its value looked into; of what is not known nothing is changed."""
    new, _ = rewrite(before)
    assert new == after
    assert rewrite(after)[0] == after


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("chain.run('a', 'b')", "chain.run"),
        ("chain.run(*given)", "chain.run"),
        ("gather(chain.arun(x))", "chain.arun"),
        ("chain.apply([x])", "chain.apply"),
        ("chain()", "chain(...)"),
        ("agent({'input': x}, return_only_outputs=True)", "agent(...)"),
    ],
)
def test_what_stays_is_told(line: str, what: str) -> None:
    """A call whose arguments are not understood, and one that is awaited elsewhere."""
    new, said = rewrite(line)
    assert (new, said) == (line, [what])


def test_what_is_rewritten_runs() -> None:
    """With a fake model: each gives what it gave in LangChain."""
    code = """
from langchain.chains import ConversationChain, LLMChain
from langchain.prompts import PromptTemplate
from langchain_core.language_models import FakeListChatModel
chat = FakeListChatModel(responses=["Oslo."])
chain = LLMChain(llm=chat, prompt=PromptTemplate.from_template("{q}"))
talk = ConversationChain(llm=chat)
said = [chain.run("x"), chain.run(q="x"), chain({"q": "x"})["text"], talk.predict(input="x"), chat.predict("x")]
"""
    names: dict[str, object] = {}
    exec(compile(rewrite_program(code.encode()).code, "program.py", "exec"), names)
    assert names["said"] == ["Oslo."] * 5
