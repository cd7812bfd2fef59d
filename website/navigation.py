"""The table of contents: what ``mkdocs.yml`` says, with the lists that nobody should have to keep by hand."""

import re
from collections.abc import Iterable, Mapping
from pathlib import Path

from website.pages import ROOT

SETTINGS = ROOT / "mkdocs.yml"


def write_settings(to: Path, lists: Mapping[str, Iterable[str]]) -> None:
    """Write the settings of the generator: those of mkdocs.yml, with the entries of each folder after its index."""
    text = SETTINGS.read_text()
    for folder, entries in lists.items():
        index = f"      - {folder}/index.md\n"
        assert index in text, f"mkdocs.yml has no line {index!r}"
        text = text.replace(index, index + "".join(f"      - {entry}\n" for entry in entries))
    to.write_text(text)


def list_entries() -> list[str]:
    """Return the pages that mkdocs.yml names."""
    _, _, nav = SETTINGS.read_text().partition("\nnav:\n")
    return re.findall(r"[\w./-]+\.md$", nav, re.MULTILINE)
