"""Code as users write it passes the strict type checkers that they run."""

import tomllib

from tests.measures.source import ROOT

SNIPPETS = "tests/typing"


def test_the_checks_look_at_the_snippets_too() -> None:
    """Their `assert_type` lines say what users may rely on; `.ci/run` calls both checkers for all that is named here."""
    tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]
    assert tools["mypy"]["strict"] and SNIPPETS in tools["mypy"]["files"]
    assert tools["pyright"]["typeCheckingMode"] == "strict" and SNIPPETS in tools["pyright"]["include"]
    steps = (ROOT / ".ci" / "run").read_text()
    assert 'step mypy "$bin/mypy"\n' in steps
    assert 'step pyright "$bin/pyright" --pythonpath "$bin/python"\n' in steps
