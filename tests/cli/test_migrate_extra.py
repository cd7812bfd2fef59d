"""`hocket migrate` without its extra."""

import subprocess
import sys
from pathlib import Path

HIDDEN = """
import sys
sys.modules["libcst"] = None
from hocket.cli import main
sys.exit(main(["migrate", "."]))
"""


def test_a_missing_extra_names_its_install_line(tmp_path: Path) -> None:
    """One line, not a traceback."""
    done = subprocess.run([sys.executable, "-c", HIDDEN], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 1
    assert done.stderr == "hocket: rewriting programs needs a package; run `pip install 'hocket[migrate]'`\n"
