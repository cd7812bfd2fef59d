"""The table of names answers for every public name of langchain-core, and promises none that is not there."""

import importlib
import json
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import hocket.migration.answers
from hocket.migration.answers import OTHER_MEANINGS, Absence, read_answers
from hocket.migration.rooms import ROOMS, read_names
from hocket.migration.table import Place, find_module, find_place, is_langchain
from tests.migration.record_names import list_names

RECORDED: dict[str, list[str]] = json.loads((Path(__file__).parent / "langchain_core_names.json").read_text())
"""Module → public names, of langchain-core 1.8.3."""

PUBLIC = [(module, name) for module, names in RECORDED.items() for name in names]


TABLES = Path(hocket.migration.answers.__file__).parent


def test_the_tables_wait_until_they_are_asked() -> None:
    """Who imports the room reads no file."""
    asked = "import hocket.migration.table as t; print(t.read_answers.cache_info()[3], t.read_names.cache_info()[3])"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, check=True, text=True).stdout == "0 0\n"


def test_an_answer_is_written_once() -> None:
    """Two answers for a name of one module would hide one of them, and a misspelt key would say nothing."""
    answers = tomllib.loads((TABLES / "answers.toml").read_text("utf-8"))["answer"]
    assert {key for answer in answers for key in answer} == {"why", "instead", "is_bridged", "names"}
    given = [(module, name) for one in answers for module, names in one["names"].items() for name in names.split()]
    assert sorted(given) == sorted(set(given))
    assert {module for module, _ in given if not is_langchain(module)} == {"*"}


def test_every_public_name_is_moved_or_answered() -> None:
    """No name falls through to the answer for everything."""
    rest = find_place("langchain_core", "NobodyKnowsIt")
    assert str(rest) == str(read_answers()["*"]["*"])
    assert [one for one in PUBLIC if find_place(*one) == rest] == []


def test_a_promised_name_is_there() -> None:
    """Also those that are moved to another name, and those of the other packages."""
    found = [find_place(*one) for one in PUBLIC]
    known = read_names()
    named = [*known["places"].values(), *known["places_of_files"].values()]
    moved = [*named, *(str(one) for one in found if isinstance(one, Place))]
    homes = [name.rpartition(".") for name in sorted(set(moved))]
    missing = [(room, name) for room, _, name in homes if not hasattr(importlib.import_module(room), name)]
    assert missing == []


def test_how_many_are_moved() -> None:
    """Most of the rest are type variables, inner parts, LangSmith's, and what nothing used."""
    moved = sum(isinstance(find_place(*one), Place) for one in PUBLIC)
    assert (len(PUBLIC), moved >= 613) == (871, True), moved


def test_another_meaning_is_not_moved() -> None:
    """A room offers the name, and for something else: whoever moves it would be misled."""
    for dotted in OTHER_MEANINGS:
        module, _, name = dotted.rpartition(".")
        assert isinstance(find_place(module, name), Absence)
        assert any(hasattr(importlib.import_module(f"hocket.{room}"), name) for room in ROOMS[module])


def test_a_way_out_names_what_is_there() -> None:
    """`hocket.room.name` in a reason or a way out can be imported."""
    pytest.importorskip("mcp", reason="the extra `mcp` is not installed")
    texts = [str(answer) for names in read_answers().values() for answer in names.values()]
    texts += read_names()["notes"].values()
    named = {name for text in texts for name in re.findall(r"\bhocket(?:\.\w+)+", text)}
    assert [name for name in sorted(named) if not is_there(name)] == []


def is_there(dotted: str) -> bool:
    """Whether a dotted name can be imported, or reached from what can be."""
    if dotted.startswith("hocket.interop"):  # another room's tests hold it
        return True
    module, _, name = dotted.rpartition(".")
    try:
        importlib.import_module(dotted)
    except ImportError:
        return hasattr(importlib.import_module(module), name)
    return True


@pytest.mark.parametrize(
    ("module", "name", "place"),
    [
        ("langchain_core.messages", "HumanMessage", "hocket.messages.HumanMessage"),
        ("langchain_core.messages.utils", "trim_messages", "hocket.messages.trim_messages"),
        ("langchain_core.language_models.fake", "FakeListLLM", "hocket.language_models.FakeListLLM"),
        ("langchain_core.exceptions", "OutputParserException", "hocket.errors.OutputParserException"),
        ("langchain_core.exceptions", "ModelRateLimitError", "hocket.errors.RateLimitError"),
        ("langchain_core.utils.function_calling", "convert_to_openai_tool", "hocket.tools.convert_to_openai_tool"),
        ("langchain_classic.chains", "RetrievalQA", "hocket.classic.chains.RetrievalQA"),
        ("langchain.chains.retrieval_qa.base", "RetrievalQA", "hocket.classic.chains.RetrievalQA"),
        ("langchain.schema", "Document", "hocket.documents.Document"),
        ("langchain.chat_models", "init_chat_model", "hocket.language_models.init_chat_model"),
        ("langchain.agents", "create_agent", "hocket.agents.create_agent"),
        ("langchain.agents", "AgentExecutor", "hocket.classic.agents.AgentExecutor"),
        ("langchain_openai.chat_models.base", "ChatOpenAI", "hocket.providers.openai.ChatOpenAI"),
        ("langchain_community.document_loaders.csv_loader", "CSVLoader", "hocket.document_loaders.CSVLoader"),
        ("langchain_community.tools", "tool", "hocket.tools.tool"),
        ("langchain_community.vectorstores.faiss", "FAISS", "hocket.vectorstores.InMemoryVectorStore"),
        ("langchain_text_splitters.character", "CharacterTextSplitter", "hocket.text_splitters.CharacterTextSplitter"),
    ],
)  # fmt: skip
def test_where_a_name_is(module: str, name: str, place: str) -> None:
    """By rule, by the list of exceptions, and from submodules alike."""
    assert str(find_place(module, name)) == place


def test_a_store_on_the_disk() -> None:
    """Chroma is one in memory, or a file, as the program says."""
    assert find_place("langchain_chroma", "Chroma") == Place("hocket.vectorstores", "InMemoryVectorStore")
    assert find_place("langchain_chroma", "Chroma", keeps_files=True) == Place(
        "hocket.vectorstores", "SQLiteVectorStore"
    )


def test_what_another_package_has_is_answered() -> None:
    """A package that nobody has heard of as well."""
    assert isinstance(find_place("langchain_nobody", "Whatever"), Absence)
    assert is_langchain("langchain_nobody.sub")
    assert not is_langchain("langchainer")
    assert find_module("langchain_nobody") is None


@pytest.mark.parametrize(
    ("module", "room"),
    [
        ("langchain_core.messages.utils", "hocket.messages"),
        ("langchain.text_splitter", "hocket.text_splitters"),
        ("langchain_openai.chat_models", "hocket.providers.openai"),
        ("langchain.chains", "hocket.chains"),
        ("langchain", "hocket.chains"),
        ("langchain.hub", None),
        ("langchain.nothing", None),
        ("langchain_core.nothing", None),
        ("langchain_core", None),
    ],
)
def test_which_room_stands_for_a_module(module: str, room: str | None) -> None:
    """What is known of a whole package says nothing of a module in it."""
    assert find_module(module) == room


@pytest.mark.filterwarnings("ignore:ast:DeprecationWarning")  # modules of LangChain's, all of which are imported
def test_the_recorded_names_are_langchains() -> None:
    """Where langchain-core 1.8.3 is installed, the record is compared with it."""
    version = pytest.importorskip("langchain_core.version", reason="langchain-core is not installed")
    if version.VERSION != "1.8.3":
        pytest.skip(f"langchain-core {version.VERSION} is installed, and 1.8.3 is recorded")
    assert list_names("langchain_core") == RECORDED
