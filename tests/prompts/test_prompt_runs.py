"""Prompts as steps: both verbs in the caller's own thread, in chains, as data, and without Jinja2."""

import pickle
import subprocess
import sys
import threading
from typing import Any

import pytest

from hocket.errors import InvalidInput
from hocket.language_models import FakeListChatModel, ParrotFakeChatModel
from hocket.load import dumpd, load
from hocket.messages import HumanMessage, SystemMessage
from hocket.output_parsers import StrOutputParser
from hocket.prompts import (
    BaseChatPromptTemplate,
    ChatMessagePromptTemplate,
    ChatPromptTemplate,
    DictPromptTemplate,
    MessagesPlaceholder,
    PromptTemplate,
)
from tests.kit import Recorder

PROMPTS: list[Any] = [
    PromptTemplate.from_template("{a} {b}", partial_variables={"b": 1}),
    PromptTemplate.from_template("{{ a }}", template_format="jinja2"),
    ChatPromptTemplate(
        [
            SystemMessage("{s}"),
            ("ai", ["{a}", {"type": "image_url", "image_url": "{a}"}]),
            MessagesPlaceholder("past", optional=True, n_messages=3),
            ChatMessagePromptTemplate.from_template("{a}", role="judge"),
            ChatPromptTemplate(["{a}"]),
        ]
    ).partial(b=2),
    DictPromptTemplate(template={"a": ["{a}"]}),
]


class Here(BaseChatPromptTemplate):
    """A user's own: says in which thread it was asked."""

    def format_messages(self, /, **kwargs: Any) -> list[Any]:
        return [HumanMessage(str(threading.get_ident()))]


async def test_prompts_never_leave_the_thread() -> None:
    """Under a loop they run in the loop's, and in a batch, too."""
    here = str(threading.get_ident())
    values = [await Here().ainvoke({}), *await Here().abatch([{}, {}]), *[value async for value in Here().astream({})]]
    assert {value.to_messages()[0].text for value in values} == {here}
    assert await Here().aformat() == f"Human: {here}"


def test_sync_prompts_stay_in_the_callers_thread() -> None:
    """No loop is needed."""
    values = [Here().invoke({}), *Here().stream({})]
    assert {value.to_messages()[0].text for value in values} == {str(threading.get_ident())}
    assert Here().format() == f"Human: {threading.get_ident()}"


async def test_a_prompt_begins_a_chain() -> None:
    """It goes into a model, and the model's answer into a parser; arguments go to whom they concern."""
    chain = ChatPromptTemplate(["Say {x}"]) | ParrotFakeChatModel() | StrOutputParser()
    assert await chain.ainvoke({"x": "{y}"}) == "Say {y}"
    assert chain.invoke({"x": "{y}"}) == "Say {y}"
    streaming = PromptTemplate.from_template("{x}") | FakeListChatModel(responses=["abc"]) | StrOutputParser()
    assert [piece async for piece in streaming.astream({"x": 1})] == ["a", "b", "c"]


@pytest.mark.parametrize(
    "prompt",
    [
        PromptTemplate.from_template("{x}", tags=["own"], metadata={"version": "2"}),
        ChatPromptTemplate(["{x}"], tags=["own"], metadata={"version": "2"}),
    ],
    ids=lambda prompt: type(prompt).__name__,
)
async def test_handlers_hear_of_the_tags_and_metadata_of_a_prompt(prompt: Any) -> None:
    """Beside those of the call, at the start of each of its runs; runs beside it have theirs alone."""
    for chain in (prompt, prompt | ParrotFakeChatModel()):
        for streams in (False, True):
            recorder = Recorder("on_chain_start", "on_chat_model_start")
            config: Any = {"callbacks": [recorder], "tags": ["call"], "metadata": {"user": "a"}}
            _ = (
                [piece async for piece in chain.astream({"x": 1}, config)]
                if streams
                else chain.invoke({"x": 1}, config)
            )
            runs = [(event.details["tags"], event.details["metadata"]) for event in recorder.events]
            own = [(tags, metadata) for tags, metadata in runs if "own" in tags]
            assert len(own) == 1
            assert own[0][0][-2:] == (["call", "own"] if chain is prompt else ["seq:step:1", "own"])
            assert {"user": "a", "version": "2"}.items() <= own[0][1].items()
            assert all("version" not in metadata for tags, metadata in runs if "own" not in tags)


def test_arguments_that_change_nothing_are_refused() -> None:
    """A prompt has no use for any."""
    with pytest.raises(InvalidInput, match="stop"):
        PromptTemplate.from_template("x").invoke({}, stop=["y"])


@pytest.mark.parametrize("prompt", PROMPTS, ids=lambda prompt: type(prompt).__name__)
def test_prompts_travel(prompt: Any) -> None:
    """As data, as pickles and as copies, equal and in working order."""
    for copy in (load(dumpd(prompt)), pickle.loads(pickle.dumps(prompt)), prompt.model_copy(deep=True)):
        assert copy == prompt
        assert copy.invoke({"a": 1}) == prompt.invoke({"a": 1})


def test_damaged_data_is_refused() -> None:
    """A template that would be refused when it is written is refused when it is read."""
    data = dumpd(PromptTemplate.from_template("{a}"))
    data["kwargs"]["template"] = "{a.__class__}"
    with pytest.raises(ValueError, match="__class__"):
        load(data)


def test_without_jinja2_only_its_templates_fail() -> None:
    """And the error says what to install."""
    code = (
        "import sys; sys.modules['jinja2'] = None\n"
        "from hocket.errors import MissingDependency\n"
        "from hocket.prompts import PromptTemplate\n"
        "assert PromptTemplate.from_template('{a}').format(a=1) == '1'\n"
        "try: PromptTemplate.from_template('{{ a }}', template_format='jinja2')\n"
        "except MissingDependency as error: print(error)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert "hocket[jinja2]" in done.stdout, done.stderr
