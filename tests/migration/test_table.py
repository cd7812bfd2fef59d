"""The table of names answers for every public name of langchain-core, and promises none that is not there."""

import importlib
import json
import re
from pathlib import Path

import pytest

from hocket.migration.answers import ANSWERS, PACKAGE_ANSWERS
from hocket.migration.core_answers import OTHER_MEANINGS
from hocket.migration.rooms import KEPT_NAMES, NAMES, NOTES, ROOMS
from hocket.migration.table import Absence, Place, find_module, find_place, is_langchain
from tests.migration.record_names import list_names

RECORDED: dict[str, list[str]] = json.loads((Path(__file__).parent / "langchain_core_names.json").read_text())
"""Module → public names, of langchain-core 1.7.2."""

PUBLIC = [(module, name) for module, names in RECORDED.items() for name in names]


def test_every_public_name_is_moved_or_answered() -> None:
    """No name falls through to the answer for everything."""
    rest = Absence(*PACKAGE_ANSWERS["*"])
    assert [one for one in PUBLIC if find_place(*one) == rest] == []


def test_a_promised_name_is_there() -> None:
    """Also those that are moved to another name, and those of the other packages."""
    found = [find_place(*one) for one in PUBLIC]
    moved = [*NAMES.values(), *KEPT_NAMES.values(), *(str(one) for one in found if isinstance(one, Place))]
    homes = [name.rpartition(".") for name in sorted(set(moved))]
    missing = [(room, name) for room, _, name in homes if not hasattr(importlib.import_module(room), name)]
    assert missing == []


def test_how_many_are_moved() -> None:
    """Most of the rest are type variables, inner parts, LangSmith's, and what nothing used."""
    moved = sum(isinstance(find_place(*one), Place) for one in PUBLIC)
    assert (len(PUBLIC), moved >= 613) == (834, True), moved


def test_another_meaning_is_not_moved() -> None:
    """A room offers the name, and for something else: whoever moves it would be misled."""
    for dotted in OTHER_MEANINGS:
        module, _, name = dotted.rpartition(".")
        assert isinstance(find_place(module, name), Absence)
        assert any(hasattr(importlib.import_module(f"hocket.{room}"), name) for room in ROOMS[module])


def test_a_way_out_names_what_is_there() -> None:
    """`hocket.room.name` in a reason or a way out can be imported."""
    texts = [text for group in ANSWERS.values() for _, answer in group for text in answer]
    texts += [text for answer in PACKAGE_ANSWERS.values() for text in answer] + list(NOTES.values())
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


def test_the_recorded_names_are_langchains() -> None:
    """Where langchain-core 1.7.2 is installed, the record is compared with it."""
    version = pytest.importorskip("langchain_core.version", reason="langchain-core is not installed")
    if version.VERSION != "1.7.2":
        pytest.skip(f"langchain-core {version.VERSION} is installed, and 1.7.2 is recorded")
    assert list_names("langchain_core") == RECORDED
