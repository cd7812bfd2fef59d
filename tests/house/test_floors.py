"""The floors of the house: who may import whom. The contracts stand in `pyproject.toml`."""

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
LINT = "import sys; from importlinter.cli import lint_imports; sys.exit(lint_imports(no_cache=True))"


def test_floors_import_only_downwards() -> None:
    """No floor reaches up, no room into the next, no cycle anywhere; import-linter names the lines that do."""
    # In a process of its own: import-linter sets up logging anew, which would silence every logger made before.
    done = subprocess.run([sys.executable, "-c", LINT], cwd=ROOT, capture_output=True, text=True, timeout=50)

    assert done.returncode == 0, done.stdout + done.stderr
