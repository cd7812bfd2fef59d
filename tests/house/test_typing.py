"""Code as users write it passes the strict type checkers that they run."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SNIPPETS = ROOT / "tests" / "typing"

CHECKERS = {
    "mypy": ["mypy", "--strict", "--no-error-summary"],
    "pyright": ["pyright", "--pythonpath", sys.executable],
}


@pytest.mark.timeout(300)
@pytest.mark.parametrize("checker", CHECKERS)
def test_snippets_have_the_types_that_they_claim(checker: str) -> None:
    """Neither checker has anything to say of the snippets, whose `assert_type` lines say what users may rely on."""
    command = [sys.executable, "-m", *CHECKERS[checker], str(SNIPPETS)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
