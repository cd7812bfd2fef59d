"""`hocket ask`: a question about files, and where the answer stands."""

import json
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from hocket.cli.ask_index import AskIndex, WordsOnly
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import DocumentError

Run = Callable[..., subprocess.CompletedProcess[str]]

QUESTION = "When do I bleed the boiler?"
MODEL = ("--model", "fake:Every May [1].")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two files."""
    place = tmp_path / "handbook"
    place.mkdir()
    (place / "boiler.md").write_text("# Boiler\n\nThe boiler is red. Bleed the boiler every May, before its service.\n")
    (place / "kitchen.txt").write_text("The oven is cleaned on Fridays.\n")
    return place


@pytest.fixture
def ask(inside: Run, tmp_path: Path) -> Run:
    """Run the command in this process, where the embedding model is loaded once, with a cache folder of its own."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return inside("ask", *arguments, **{"XDG_CACHE_HOME": str(tmp_path / "cache"), **more})

    return run


@pytest.fixture
def ask_apart(hocket: Run, tmp_path: Path) -> Run:
    """Run it in a process of its own."""

    def run(*arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
        return hocket("ask", *arguments, **{"XDG_CACHE_HOME": str(tmp_path / "cache"), **more})

    return run


def test_an_answer_says_where_it_stands(ask_apart: Run, folder: Path) -> None:
    """The sentence that has the question's words, not the beginning of the file."""
    done = ask_apart(str(folder), QUESTION, *MODEL)
    assert (done.stderr, done.returncode) == ("", 0)
    assert done.stdout == (
        "Every May [1].\n\n[1] boiler.md, “Boiler”: “Bleed the boiler every May, before its service.”\n"
    )


def test_a_question_is_piped_in(ask_apart: Run, folder: Path) -> None:
    """As `-`, which stands last."""
    done = ask_apart(str(folder), "-", *MODEL, stdin=QUESTION)
    assert "Bleed the boiler every May" in done.stdout
    assert "the question is empty" in ask_apart(str(folder), "-", *MODEL, stdin="").stderr
    assert "and - comes last" in ask_apart("-", QUESTION, *MODEL, stdin="text").stderr


def test_a_number_that_names_nothing_is_told(ask: Run, folder: Path) -> None:
    done = ask(str(folder), QUESTION, "--model", "fake:Every May [7].")
    assert "the answer names [7], which it was not shown" in done.stderr


def test_passages_need_no_model(ask: Run, folder: Path) -> None:
    done = ask(str(folder / "kitchen.txt"), str(folder / "boiler.md"), QUESTION, "--no-answer", "-k", "1")
    assert done.stdout.splitlines() == ["[1] boiler.md, “Boiler”: “Bleed the boiler every May, before its service.”"]


def test_passages_are_shown_where_no_model_is_installed(inside: Run, folder: Path, tmp_path: Path) -> None:
    """And why there is no answer; a model that was asked for by its name is an error, as everywhere."""
    missing = {"HOCKET_LOCAL_MODEL": str(folder / "none.gguf"), "XDG_CACHE_HOME": str(tmp_path / "cache")}
    done = inside("ask", str(folder / "boiler.md"), QUESTION, **missing)
    assert done.stdout == "[1] boiler.md, “Boiler”: “Bleed the boiler every May, before its service.”\n"
    assert "nobody can answer; cannot read the model file" in done.stderr and done.returncode == 0
    told = json.loads(inside("ask", str(folder / "boiler.md"), QUESTION, "--json", **missing).stdout)
    assert told["answer"] is None and len(told["passages"]) == 1
    refused = inside("ask", str(folder / "boiler.md"), QUESTION, "--model", "local", **missing)
    assert refused.stdout == "" and refused.returncode == 1


def test_everything_as_data(ask: Run, folder: Path) -> None:
    done = ask(str(folder), QUESTION, "--json", *MODEL)
    told = json.loads(done.stdout)
    assert told["answer"] == "Every May [1]."
    assert told["citations"] == [{"number": 1, "start": 10, "end": 13}]
    assert told["unsupported"] == []
    assert [(one["number"], one["source"]) for one in told["passages"]] == [
        (1, str(folder / "boiler.md")),
        (2, str(folder / "kitchen.txt")),
    ]
    assert told["passages"][0]["score"] > told["passages"][1]["score"]


def test_data_lose_no_character(ask: Run, folder: Path) -> None:
    """What would steer a terminal is escaped there, not left out."""
    (folder / "boiler.md").write_text("Bleed the boiler \x9b31m in May \u202e.\n")
    told = json.loads(ask(str(folder / "boiler.md"), QUESTION, "--json", "--no-answer").stdout)
    assert "\x9b31m in May \u202e" in told["passages"][0]["text"]


def test_the_index_may_be_kept_elsewhere(ask: Run, folder: Path, tmp_path: Path) -> None:
    store = f"sqlite:///{tmp_path}/kept.sqlite"
    assert ask(str(folder), QUESTION, "--store", store, *MODEL).returncode == 0
    assert (tmp_path / "kept.sqlite").exists()
    other = tmp_path / "other.txt"
    other.write_text("Boilers are bled in June.")
    done = ask(str(other), QUESTION, "--store", store, "--no-answer")
    assert done.stdout.startswith("[1] other.txt"), "of the files that were named alone"
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.parametrize(
    ("arguments", "problem", "code"),
    [
        ([QUESTION], "there is no file", 2),
        (["{folder}", "{folder}/boiler.md"], "there is no question", 2),
        (["{folder}", " "], "the question is empty", 2),
        (["{folder}/none.md", QUESTION], "none.md", 2),
        (
            ["http://127.0.0.1:9/a.html", QUESTION],
            "http://127.0.0.1:9/a.html: it leads to this machine or a private network, and only public addresses are asked: "
            "what is there may be for you alone, and the address a stranger's; save the page, as with `curl -o page.html "
            "ADDRESS`, and name the file\n",
            2,
        ),
        (["{folder}", QUESTION, "--embed", "nobody:x"], "no provider of embedding models is called 'nobody'", 4),
    ],
    ids=["no file", "no question", "empty", "absent", "this machine", "embed"],
)
def test_what_cannot_be_asked(ask: Run, folder: Path, arguments: list[str], problem: str, code: int) -> None:
    done = ask(*(one.format(folder=folder) for one in arguments), *MODEL)
    assert problem in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert (done.returncode, done.stdout) == (code, "")


def test_a_bad_file_of_a_folder_is_passed_over(ask: Run, folder: Path) -> None:
    """One that was named is an error."""
    (folder / "bad.pdf").write_bytes(b"no PDF")
    done = ask(str(folder), QUESTION, *MODEL)
    assert done.returncode == 0
    assert "passed over" in done.stderr and "bad.pdf" in done.stderr
    assert ask(str(folder / "bad.pdf"), QUESTION, *MODEL).returncode == 2


def test_nothing_to_read_is_no_answer(ask: Run, tmp_path: Path) -> None:
    """An empty folder, one of which no file can be read, and one that is not there; the second question says so, too."""
    empty, bad = tmp_path / "empty", tmp_path / "bad"
    empty.mkdir()
    bad.mkdir()
    (bad / "a.txt").write_bytes(b"Caf\xe9")
    (bad / "b.pdf").write_bytes(b"no PDF")
    for place, problem in ((empty, "there is nothing in it to read"), (bad, "nothing could be read of its 2 files")):
        for _ in range(2):
            done = ask(str(place), QUESTION, "--no-answer")
            assert (done.returncode, done.stdout) == (2, "")
            assert problem in done.stderr.splitlines()[-1]
    assert ask(str(tmp_path / "gone"), QUESTION, "--no-answer").returncode == 2


def test_an_encoding_is_named(ask: Run, tmp_path: Path) -> None:
    """The error names the option, and the option helps."""
    cafe = tmp_path / "cafe.txt"
    cafe.write_bytes("The Café opens at nine.".encode("latin-1"))
    refused = ask(str(cafe), "When does the café open?", "--no-answer")
    assert refused.returncode == 2 and "name its encoding, as in --encoding cp1252" in refused.stderr
    done = ask(str(cafe), "When does the café open?", "--no-answer", "--encoding", "cp1252")
    assert "The Café opens at nine." in done.stdout


class Counting(DeterministicFakeEmbedding):
    """Writes down what it is asked for."""

    asked: list[str] = []  # noqa: RUF012  # pydantic copies it

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        self.asked.extend(texts)
        return await super().aembed_documents(texts)


@pytest.fixture
def index(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> AskIndex:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return AskIndex([str(folder)], Counting(size=8))


async def test_the_second_question_embeds_only_itself(index: AskIndex, folder: Path) -> None:
    """And a file that was changed its new passages."""
    assert isinstance(index.embedding, Counting)
    await index.search("first", 5)
    assert len(index.embedding.asked) == 3
    index.embedding.asked.clear()
    await index.search("second", 5)
    assert index.embedding.asked == ["second"]
    index.embedding.asked.clear()
    (folder / "kitchen.txt").write_text("The oven is cleaned on Mondays.\n")
    found = await index.search("third", 5)
    assert index.embedding.asked == ["The oven is cleaned on Mondays.", "third"]
    assert not any("Fridays" in document.page_content for document in found)


async def test_a_file_that_is_gone_is_not_found(index: AskIndex, folder: Path) -> None:
    await index.search("first", 5)
    (folder / "kitchen.txt").unlink()
    found = await index.search("second", 5)
    assert {document.metadata["source"] for document in found} == {str(folder / "boiler.md")}
    (folder / "boiler.md").unlink()
    with pytest.raises(DocumentError, match="there is nothing in it to read"):
        await index.search("third", 5)


async def test_an_index_that_was_thrown_away_is_made_again(index: AskIndex, tmp_path: Path) -> None:
    await index.search("first", 5)
    for file in (tmp_path / "cache").rglob("*.sqlite*"):
        file.unlink()
    assert len(await index.search("second", 5)) == 2


@pytest.mark.parametrize("text", ["", "[1]", "{", '{"a": 1}'])
async def test_a_damaged_list_of_files_is_made_again(index: AskIndex, tmp_path: Path, text: str) -> None:
    await index.search("first", 5)
    (stamps,) = (tmp_path / "cache").rglob("*.json")
    whole = stamps.read_text()
    stamps.write_text(text)
    assert len(await index.search("second", 5)) == 2
    assert stamps.read_text() == whole


async def test_words_alone_find_what_has_them(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without an embedding model; and nothing else."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    index = AskIndex([str(folder)], WordsOnly())
    (found,) = await index.search("Which oven?", 5)
    assert found.metadata["source"] == str(folder / "kitchen.txt")
    assert await index.search("unheard", 5) == []


async def test_a_file_that_is_named_must_be_there(index: AskIndex) -> None:
    index.paths = ["nowhere.md"]
    with pytest.raises(DocumentError, match=r"nowhere\.md"):
        await index.search("x", 5)


def test_a_full_disk_costs_no_answer(ask: Run, folder: Path, tmp_path: Path) -> None:
    """Where the list of files cannot be kept, the answer comes, and a word; where no index can be, it is one line."""
    ask(str(folder), QUESTION, *MODEL)
    (stamps,) = (tmp_path / "cache").rglob("*.json")
    stamps.unlink()
    (stamps / "in the way").mkdir(parents=True)
    done = ask(str(folder), QUESTION, *MODEL)
    assert done.stdout.startswith("Every May [1].") and done.returncode == 0
    assert f"{stamps} cannot be written" in done.stderr
    assert list(stamps.parent.glob(".*")) == []
    (tmp_path / "a file").touch()
    done = ask(str(folder), QUESTION, *MODEL, XDG_CACHE_HOME=str(tmp_path / "a file"))
    assert done.returncode == 1 and "Traceback" not in done.stderr
    assert "no index can be kept in" in done.stderr and "Not a directory" in done.stderr
