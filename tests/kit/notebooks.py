"""Notebooks, run by a kernel of their own in another process, as Jupyter runs them."""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

__all__ = ["read_cells", "require_packages", "run_cells"]

_RUN = """
import json, sys
import nbclient, nbformat

cells = [nbformat.v4.new_code_cell(source) for source in json.load(sys.stdin)]
book = nbformat.v4.new_notebook(cells=cells)
nbclient.NotebookClient(book, timeout=60, kernel_name="python3").execute()
print("\\n" + json.dumps([cell.outputs for cell in book.cells]))
"""


def require_packages(*names: str) -> None:
    """Skip the test if a package is not installed; in CI that is a failure."""
    if missing := [name for name in names if importlib.util.find_spec(name) is None]:
        reason = f"{', '.join(missing)} is not installed: `scripts/setup dev` brings it"
        pytest.fail(reason) if os.environ.get("CI") == "true" else pytest.skip(reason)


def read_cells(path: Path) -> list[str]:
    """Return the code of a notebook, cell by cell."""
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]


def run_cells(sources: Sequence[str], folder: Path, **variables: str) -> list[list[dict[str, Any]]]:
    """Run cells, and return the outputs of each.

    Args:
        sources: their code.
        folder: that the kernel runs in.
        variables: of its environment, beside this process's.
    """
    require_packages("ipykernel", "nbclient")
    done = subprocess.run(
        [sys.executable, "-c", _RUN],
        input=json.dumps(list(sources)),
        capture_output=True,
        text=True,
        timeout=120,
        cwd=folder,
        env={**os.environ, "IPYTHONDIR": str(folder / ".ipython"), **variables},
    )
    assert done.returncode == 0, done.stderr
    outputs: list[list[dict[str, Any]]] = json.loads(done.stdout.splitlines()[-1])
    return outputs
