"""The floors of the house: who may import whom. The contracts stand in `pyproject.toml`."""

from pathlib import Path

import pytest
from importlinter.cli import EXIT_STATUS_SUCCESS, lint_imports

CONTRACTS = Path(__file__).parents[2] / "pyproject.toml"


def test_floors_import_only_downwards(capsys: pytest.CaptureFixture[str]) -> None:
    """No floor reaches up, no room into the next, no cycle anywhere; import-linter names the lines that do."""
    status = lint_imports(config_filename=str(CONTRACTS), no_cache=True)
    assert status == EXIT_STATUS_SUCCESS, capsys.readouterr().out
