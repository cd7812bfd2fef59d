"""Three users' programs for LangChain (tools, history, retrieval) after `hocket migrate --write`, and nothing else."""

import os
from collections.abc import Mapping
from pathlib import Path

import pytest

pytest.importorskip("libcst", reason="the extra `migrate` is not installed")

from hocket.cli import main
from tests.kit import warm
from tests.migration.agency import serve_agency

PROGRAMS = Path(__file__).parent / "programs"  # as their users wrote them: no linter reads them
SUPPORT_DESK, TRAVEL_GUIDE = PROGRAMS / "support_desk.py.txt", PROGRAMS / "travel_guide.py.txt"
BICYCLE_SHOP = PROGRAMS / "bicycle_shop.py.txt"
PRINTED = (PROGRAMS / "travel_guide.printed.txt").read_text(encoding="utf-8").splitlines()
SHOP_PRINTED = (PROGRAMS / "bicycle_shop.printed.txt").read_text(encoding="utf-8").splitlines()
"""What the second and the third print with LangChain."""

HIDE = """
import runpy, sys
class Hide:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0].startswith("langchain"):
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Hide())
runpy.run_path(sys.argv[1], run_name="__main__")
"""


def run(*arguments: str, environment: Mapping[str, str] | None = None) -> list[str]:
    """Run Python, and return what it printed."""
    env = {**os.environ, **(environment or {})}
    done = warm.run("-W", "ignore", *arguments, capture_output=True, env=env)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_program_prints_the_same_without_langchain(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command has nothing to say of it, and LangChain cannot be imported where it runs."""
    pytest.importorskip("langchain_core", reason="langchain-core is not installed")
    before, moved = tmp_path / "before.py", tmp_path / "support_desk.py"
    before.write_bytes(SUPPORT_DESK.read_bytes())
    moved.write_bytes(SUPPORT_DESK.read_bytes())
    assert main(["migrate", "--write", str(moved)]) == 0
    assert capsys.readouterr().err.endswith("0 left to do, 0 to look at\n")
    printed = run(str(before))
    assert len(printed) > 25
    assert run("-c", HIDE, str(moved)) == printed


def test_a_program_that_asks_a_provider_prints_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The command says one thing of it, that an argument of the embeddings was left out; LangChain cannot be imported."""
    moved = tmp_path / "travel_guide.py"
    moved.write_bytes(TRAVEL_GUIDE.read_bytes())
    assert main(["migrate", "--write", str(moved)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert "check_embedding_ctx_length=): it was left out" in said[0]
    assert said[-1].endswith("0 left to do, 1 to look at")
    with serve_agency() as environment:
        assert run("-c", HIDE, str(moved), environment=environment) == PRINTED


def test_a_program_of_chains_and_memories_prints_the_same(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Retrievers, parsers, tools, batches, caches and chains of langchain_classic; one argument was left out."""
    moved = tmp_path / "bicycle_shop.py"
    moved.write_bytes(BICYCLE_SHOP.read_bytes())
    assert main(["migrate", "--write", str(moved)]) == 0
    said = capsys.readouterr().err.splitlines()
    assert "ConversationChain(verbose=): it was left out" in said[0]
    assert said[-1].endswith("0 left to do, 1 to look at")
    assert run("-c", HIDE, str(moved)) == SHOP_PRINTED


def test_langchain_prints_what_was_written_down(tmp_path: Path) -> None:
    """The program that asks a provider, as its user wrote it."""
    for name in ("langchain_openai", "langchain_text_splitters"):
        pytest.importorskip(name, reason="scripts/interop installs it")
    before = tmp_path / "before.py"
    before.write_bytes(TRAVEL_GUIDE.read_bytes())
    with serve_agency() as environment:
        assert run(str(before), environment=environment) == PRINTED


def test_langchain_prints_what_was_written_down_of_the_third(tmp_path: Path) -> None:
    """The one of chains and memories."""
    for name in ("langchain_classic", "langchain_text_splitters"):
        pytest.importorskip(name, reason="LangChain is not installed")
    before = tmp_path / "before.py"
    before.write_bytes(BICYCLE_SHOP.read_bytes())
    assert run(str(before)) == SHOP_PRINTED
