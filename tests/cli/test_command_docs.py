"""The sessions shown in docs/command-line.md are what a shell prints."""

import doctest
import re
import subprocess
import sys
from pathlib import Path

import pytest

from hocket.cli.exits import EXIT_CODES

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()
SESSIONS = re.findall(r"^```console\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.mark.one_of(3)
@pytest.mark.parametrize("session", SESSIONS, ids=lambda session: session.splitlines()[0])
def test_a_shown_session(session: str, environ: dict[str, str], tmp_path: Path) -> None:
    """Commands come after `$`; what they print follows, `...` standing for anything."""
    path = f"{Path(sys.executable).parent}:{environ['PATH']}"
    commands = "\n".join(re.findall(r"^\$ (.*)", session, re.MULTILINE))
    expected = re.sub(r"^\$ .*\n", "", session, flags=re.MULTILINE)
    shell = subprocess.run(
        ["sh", "-c", f"exec 2>&1 </dev/null\n{commands}"],
        env={**environ, "PATH": path, "PYTHONPATH": ""},
        cwd=tmp_path,
        capture_output=True,
        text=True,
    )
    assert doctest.OutputChecker().check_output(expected, shell.stdout, doctest.ELLIPSIS), shell.stdout


def test_the_table_of_exit_codes() -> None:
    """Is the one that the command goes by."""
    rows = re.findall(r"^\| (\d+) \| (.*) \|$", PAGE, re.MULTILINE)
    assert {int(code): meaning for code, meaning in rows} == EXIT_CODES
