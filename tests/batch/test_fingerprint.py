"""What stands for a chain in the file: all that changes its answers, in each process alike."""

import functools
import operator
import os
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel

from hocket.agents import create_agent
from hocket.batch import ResumeMismatch, arun_batch, read_batch
from hocket.batch.fingerprint import make_code_key, make_fingerprint
from hocket.language_models import FakeListChatModel, ScriptedChatModel
from hocket.output_parsers import JsonOutputParser, StrOutputParser
from hocket.prompts import ChatPromptTemplate
from hocket.providers.openai import ChatOpenAI
from hocket.runnables import Runnable, RunnableLambda
from hocket.tools import tool
from tests.kit.amount import leave_for_night


class Label(BaseModel):
    label: str


class LongLabel(BaseModel):
    label: str
    reason: str


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


def fake(answer: str) -> FakeListChatModel:
    return FakeListChatModel(responses=[answer])


def openai(model: str = "gpt-4.1", **options: Any) -> ChatOpenAI:
    return ChatOpenAI(model=model, api_key="a-key", **options)


def prompt(text: str = "{text}") -> ChatPromptTemplate:
    return ChatPromptTemplate.from_messages([("human", text)])


MODELS = {"A": fake("A"), "B": fake("B")}


def ask_a(row: str) -> object:
    return fake_a.invoke(row)


def ask_b(row: str) -> object:
    return fake_b.invoke(row)


fake_a, fake_b = MODELS["A"], MODELS["B"]


class Labeler:
    """Somebody's own, which counts its calls."""

    def __init__(self, model: Runnable[Any, Any]) -> None:
        self.model = model
        self.calls = 0

    def __call__(self, row: str) -> object:
        self.calls += 1
        return self.model.invoke(row)


def hold(model: Runnable[Any, Any]) -> Runnable[Any, Any]:
    def ask(row: str) -> object:
        return [model.invoke(part) for part in row.split()]

    return RunnableLambda(ask)


def join(function: Callable[..., object]) -> Runnable[Any, Any]:
    return RunnableLambda(function) | fake("A")


PAIRS: dict[str, tuple[Runnable[Any, Any], Runnable[Any, Any]]] = {
    "model": (prompt() | fake("A"), prompt() | fake("B")),
    "option": (prompt() | openai(temperature=0), prompt() | openai(temperature=1)),
    "prompt": (prompt() | fake("A"), prompt("Label: {text}") | fake("A")),
    "prompt's values": (
        prompt("{a}{b}").partial(a="1") | fake("A"),
        prompt("{a}{b}").partial(a="2") | fake("A"),
    ),
    "parser": (fake("1") | StrOutputParser(), fake("1") | JsonOutputParser()),
    "structured model": (openai("m").with_structured_output(Label), openai("n").with_structured_output(Label)),
    "schema": (openai().with_structured_output(Label), openai().with_structured_output(LongLabel)),
    "schema as data": (
        openai().with_structured_output({"title": "L", "type": "object", "properties": {"a": {"type": "string"}}}),
        openai().with_structured_output({"title": "L", "type": "object", "properties": {"a": {"type": "integer"}}}),
    ),
    "bound argument": (openai().bind(stop=["a"]), openai().bind(stop=["b"])),
    "tools": (openai().bind_tools([add]), openai().bind_tools([])),
    "fallback": (openai().with_fallbacks([fake("A")]), openai().with_fallbacks([fake("B")])),
    "branch": (prompt() | {"a": fake("A"), "b": fake("A")}, prompt() | {"a": fake("A"), "b": fake("B")}),
    "key": (join(operator.itemgetter("a")), join(operator.itemgetter("b"))),
    "function": (join(ask_a), join(Labeler)),
    "function of Python's own": (join(str.upper), join(str.lower)),
    "method of a text": (join("Label {}".format), join("Name {}".format)),
    "argument of a function": (join(functools.partial(max, "a")), join(functools.partial(max, "b"))),
    "model that a function uses": (RunnableLambda(ask_a), RunnableLambda(ask_b)),
    "model that a function holds": (hold(fake("A")), hold(fake("B"))),
    "model that an object holds": (RunnableLambda(Labeler(fake("A"))), RunnableLambda(Labeler(fake("B")))),
    "model of an agent": (create_agent(openai("m"), [add]), create_agent(openai("n"), [add])),
    "tools of an agent": (create_agent(openai(), [add]), create_agent(openai(), [])),
    "instructions of an agent": (
        create_agent(openai(), [], system_prompt="Be brief."),
        create_agent(openai(), [], system_prompt="Be kind."),
    ),
    "answer of an agent": (
        create_agent(openai(), [], response_format=Label),
        create_agent(openai(), [], response_format=LongLabel),
    ),
}


@pytest.mark.parametrize("pair", PAIRS.values(), ids=PAIRS)
def test_whatever_changes_an_answer_counts(pair: tuple[Runnable[Any, Any], Runnable[Any, Any]]) -> None:
    """In each place of a chain."""
    one, other = pair
    assert make_fingerprint(one) != make_fingerprint(other)


async def test_another_models_labels_are_not_taken_for_its_own(tmp_path: Path) -> None:
    """A chain with another model, into the same file; the way on that the error names."""
    out = tmp_path / "labels.jsonl"
    await arun_batch(prompt() | fake("A"), [{"text": "x"}], out)
    with pytest.raises(ResumeMismatch, match="another model, server, prompt or schema") as refused:
        await arun_batch(prompt() | fake("B"), [{"text": "x"}], out)
    version = str(refused.value).split("version='")[1].split("'")[0]
    report = await arun_batch(prompt() | fake("B"), [{"text": "x"}, {"text": "y"}], out, version=version)
    assert report.skipped == 1
    assert [row.output for row in read_batch(out)] == ["A", "B"]


def test_how_a_call_is_made_does_not_count() -> None:
    """Its name and tags, its patience, its key."""
    named = prompt() | openai(timeout=3, name="n").bind(timeout=5).with_config(tags=["a"], run_name="b")
    other = prompt() | openai(timeout=4, tags=["t"]).bind(timeout=9).with_config(metadata={"c": 1})
    assert make_fingerprint(named) == make_fingerprint(other)


async def test_what_was_asked_meanwhile_does_not_count() -> None:
    """Of a chain, somebody's own object, an agent."""
    labeler = Labeler(fake("A"))
    runnables: list[Runnable[Any, Any]] = [
        prompt() | fake("A"),
        RunnableLambda(labeler),
        create_agent(ScriptedChatModel(script=["a"]), [add]),
    ]
    before = [make_fingerprint(one) for one in runnables]
    for one in runnables:
        await one.ainvoke("x")
    assert [make_fingerprint(one) for one in runnables] == before
    assert labeler.calls == 1


SOURCE = """
import functools, itertools
import hocket
LIMIT = 5
PROMPT = "Label it."
ASKED = []
count = 0

def clean(text): return text.strip()

class Bot:
    prompt = "x"
    def ask(self, text): return self.tidy(text)
    @staticmethod
    def tidy(text): return text.lower()

bot = Bot()

def make(limit):
    def held(text): return text[:limit]
    return held

def target(text, *, end="."):
    global count
    count += 1
    ASKED.append(text)
    return [PROMPT, clean(text)[:LIMIT], bot.ask(text), text in {"a", "b", "c"}, "yes" if text else "no", end]

held = make(3)
cached = functools.cache(clean)
"""


def read_code(source: str = SOURCE, name: str = "target") -> str:
    held: dict[str, Any] = {"__name__": "somebodys"}
    exec(compile(source, "somebodys.py", "exec"), held)  # as a file of the user's
    return make_code_key(RunnableLambda(held[name]))


@pytest.mark.parametrize(
    ("old", "new", "name"),
    [
        ('"yes" if text else "no"', '"no" if text else "yes"', "target"),
        ("count += 1", "count += 2", "target"),
        ("LIMIT = 5", "LIMIT = 6", "target"),
        ("Label it.", "Name it.", "target"),
        ("text.strip()", "text.lstrip()", "target"),
        ("text.lower()", "text.upper()", "target"),
        ('end="."', 'end="!"', "target"),
        ('"c"}', '"d"}', "target"),
        ("make(3)", "make(4)", "held"),
        ("text[:limit]", "text[limit:]", "held"),
        ("text.strip()", "text.lstrip()", "cached"),
    ],
)
def test_the_code_of_functions_is_told_apart(old: str, new: str, name: str) -> None:
    """With all that they name: functions, methods, texts and numbers; wherever the code stands."""
    assert SOURCE.count(old) == 1
    here = read_code(SOURCE, name)
    assert here and here == read_code(f"# a comment\n{SOURCE}", name)
    assert here != read_code(SOURCE.replace(old, new), name)


def test_what_code_has_counted_does_not_count() -> None:
    """Nor is there code in a model of hocket's, or in a function of Python's own."""
    held: dict[str, Any] = {"__name__": "somebodys"}
    exec(compile(SOURCE, "somebodys.py", "exec"), held)
    before = make_code_key(held["target"])
    held["target"]("x")
    assert held["count"] == 1 and held["ASKED"] == ["x"]
    assert make_code_key(held["target"]) == before
    assert make_code_key(prompt() | fake("A") | StrOutputParser()) == make_code_key(RunnableLambda(str.upper)) == ""


@pytest.mark.parametrize("seed", ["1", *leave_for_night("2")])
def test_each_process_says_the_same(seed: str) -> None:
    """Whatever the seed of its hashes is, and wherever its objects lie."""
    code = """
    from tests.batch.test_fingerprint import PAIRS, make_fingerprint, read_code
    print([make_fingerprint(one) for pair in PAIRS.values() for one in pair], read_code())
    """
    here = [make_fingerprint(one) for pair in PAIRS.values() for one in pair]
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, "PYTHONHASHSEED": seed},
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    assert done.stdout == f"{here} {read_code()}\n"


def test_a_class_that_changes_as_it_is_read() -> None:
    """Of pydantic's, some parts are made when something of them is asked for, and put into the class (2.7)."""

    class Late:
        def __getattr__(self, name: str) -> Any:
            Kind.made = 1  # type: ignore[attr-defined]
            raise AttributeError(name)

    class Kind:
        late = Late()

    def find(question: str) -> str:
        return f"{Kind.late} {question}"

    assert make_code_key(RunnableLambda(find))
