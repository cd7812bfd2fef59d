"""Names that a package loads when they are asked for, and what it says of others."""

import subprocess
import sys

import pytest

import hocket
from hocket.runnables import function


def test_a_misspelt_name_gets_the_nearest() -> None:
    """As an option or a field does."""
    with pytest.raises(AttributeError, match="has no attribute 'init_chat_modle'; did you mean 'init_chat_model'"):
        _ = hocket.init_chat_modle  # type: ignore[attr-defined]


def test_a_model_of_a_provider_that_is_not_here_gets_the_way_to_it() -> None:
    """What LangChain's users look for at the top."""
    with pytest.raises(AttributeError, match=r"no attribute 'ChatTongyi'; init_chat_model\('provider:model'\)"):
        _ = hocket.ChatTongyi  # type: ignore[attr-defined]


def test_a_probe_costs_no_comparison() -> None:
    """Programs ask modules for names with underscores all the time: nothing is loaded for them."""
    code = "import sys, hocket; hasattr(hocket, '__wrapped__'); print('difflib' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["False"]
    assert function.RunnableLambda is hocket.RunnableLambda
