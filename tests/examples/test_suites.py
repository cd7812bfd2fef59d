"""The projects that are suites of tests: `own_provider` and `recorded_tests`."""

import tomllib

import pytest

from tests.examples.conftest import CopyProject, run

PYTEST = ("-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:langsmith_plugin")


@pytest.mark.nightly
def test_the_exam_of_an_own_provider(copy_project: CopyProject):
    """It passes, and the provider has a name once it is installed. (On asyncio: `tests/conformance` has both loops.)"""
    folder = copy_project("own_provider")
    assert " passed" in run(folder, *PYTEST, "-k", "not trio")
    # What `pip install -e .` leaves behind, by which an entry point is found.
    project = tomllib.loads((folder / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    [(name, target)] = project["entry-points"]["hocket.providers"].items()
    installed = folder / "hocket_lantern-0.1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: hocket-lantern\nVersion: 0.1.0\n")
    (installed / "entry_points.txt").write_text(f"[hocket.providers]\n{name} = {target}\n")
    program = "import hocket; print(type(hocket.init_chat_model('lantern:small', api_key='k')).__name__)"
    assert run(folder, "-c", program) == "ChatLantern\n"


def test_recorded_answers(copy_project: CopyProject):
    """Replayed without a key; what nobody asks for any more would fail, and no secret is in them."""
    folder = copy_project("recorded_tests")
    printed = run(folder, *PYTEST, "--hocket-strict", OPENAI_API_KEY="")
    assert "8 passed" in printed
    run(folder, "-m", "hocket", "cassette", "check", ".")  # its exit code tells
