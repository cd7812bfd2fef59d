"""Whether the tests of this folder run, and what the bridge says without LangChain."""

import importlib.util
import os
import subprocess
import sys

import pytest

from tests.kit import warm
from tests.measures.source import HAS_LANGCHAIN


def test_langchain_is_here() -> None:
    """In CI the bridge's tests have to run."""
    if not HAS_LANGCHAIN and os.environ.get("CI") == "true":
        pytest.fail(
            "langchain-core is not installed, and CI runs the bridge's tests: `pip install 'hocket[langchain]'`"
        )
    if not HAS_LANGCHAIN:
        pytest.skip("langchain-core is not installed: `pip install 'hocket[langchain]'` runs the bridge's tests")


def test_all_that_is_bridged_to_is_here() -> None:
    """Where `scripts/interop` runs these tests, none is skipped for a package that is missing."""
    if os.environ.get("HOCKET_INTEROP") != "all":
        pytest.skip("scripts/interop runs the tests with LangChain's agents, LangGraph, its suites and tracers")
    names = "langchain", "langchain_openai", "langchain_tests", "langfuse", "langgraph", "langsmith", "openinference"
    assert [name for name in names if importlib.util.find_spec(name) is None] == []


def test_without_langchain_the_error_names_the_install_line() -> None:
    code = """
import sys
sys.modules["langchain_core"] = None
try:
    import hocket.interop.langchain
except ImportError as error:
    print(type(error).__name__, error)
"""
    done = warm.run("-c", code, capture_output=True, check=True)
    assert done.stdout.startswith("MissingDependency")
    assert "pip install 'hocket[langchain]'" in done.stdout


def test_hocket_loads_nothing_of_it() -> None:
    """Neither the bridge nor LangChain, whatever of hocket a program uses."""
    code = """
import sys, hocket, hocket.agents, hocket.chains, hocket.vectorstores, hocket.callbacks.manager
hocket.ScriptedChatModel(script=["a"]).invoke("q")
print([name for name in sys.modules if name.startswith(("langchain", "hocket.interop"))])
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
