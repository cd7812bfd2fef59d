"""What the house tests walk through: one that takes `source_file`, `module_name` or `public_module` runs for each."""

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SRC = ROOT / "src"
FILES = sorted((SRC / "hocket").rglob("*.py"))


def name_of(path: Path) -> str:
    """Turn a file into the dotted name of its module."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


# `__main__` is for running, not for importing.
MODULES = {name_of(path): path for path in FILES if path.stem != "__main__"}


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "source_file" in metafunc.fixturenames:
        metafunc.parametrize("source_file", FILES, ids=lambda path: str(path.relative_to(SRC)))
    if "module_name" in metafunc.fixturenames:
        metafunc.parametrize("module_name", MODULES)
    if "public_module" in metafunc.fixturenames:
        public = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]
        metafunc.parametrize("public_module", public)


@pytest.fixture
def modules() -> dict[str, Path]:
    """All modules of hocket by name, with their files."""
    return MODULES
