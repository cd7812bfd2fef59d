"""The bridge to LangChain: where langchain-core is missing its tests are left out, and `test_presence.py` says so."""

import warnings

import pytest

from tests.measures.source import HAS_LANGCHAIN

collect_ignore_glob = [] if HAS_LANGCHAIN else ["test_[!p]*.py", "oracle.py", "native.py"]

if HAS_LANGCHAIN:
    with warnings.catch_warnings():  # at its import pydantic's first version says that this Python is too new for it
        warnings.simplefilter("ignore")
        import langchain_core.language_models  # noqa: F401


@pytest.fixture(scope="session")
def langgraph() -> None:
    """Let a test run only where LangGraph and LangChain's agents are installed."""
    for name in ("langgraph", "langchain"):
        pytest.importorskip(name, reason="scripts/interop installs it")
