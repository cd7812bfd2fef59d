"""A notebook is what somebody wrote into it."""

import json
from pathlib import Path

import pytest

from hocket.document_loaders import open_documents
from hocket.errors import DocumentError
from tests.document_loaders.files import write

CELLS = [
    {"cell_type": "markdown", "source": ["# Boilers\n", "\n", "Bleed them in May.\n"]},
    {
        "cell_type": "code",
        "source": "# no heading\nplot(pressure)",
        "outputs": [{"data": {"image/png": "iVBORw0KGgo="}, "output_type": "display_data"}],
    },
    {"cell_type": "code", "source": [], "outputs": []},
    {"cell_type": "raw", "source": "As it stands."},
]


def test_a_notebook_is_its_cells_without_their_outputs(tmp_path: Path) -> None:
    path = write(tmp_path / "book.ipynb", json.dumps({"cells": CELLS, "metadata": {}, "nbformat": 4}))
    (document,) = open_documents(path).load()
    assert document.page_content == (
        "# Boilers\n\nBleed them in May.\n\n```\n# no heading\nplot(pressure)\n```\n\nAs it stands."
    )
    assert document.metadata == {"source": path, "title": "Boilers"}
    path = write(tmp_path / "code.ipynb", json.dumps({"cells": CELLS[1:2]}))
    assert open_documents(path).load()[0].metadata["title"] == "code"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('{"worksheets": []}', r"cells: it is no notebook of format 4 \(Field required\); open it in Jupyter"),
        ('{"cells": [{"cell_type": "code", "source": 7}]}', "cells.0.source"),
        ('{"cells": [', "Invalid JSON"),
        ('{"cells": [{"cell_type": "code", "source": "\\ud800"}]}', "Invalid JSON"),
        ("[" * 10_000, "Invalid JSON"),
        ('{"cells": []}', "none of its cells has a text"),
    ],
)
def test_what_is_no_notebook_is_refused(tmp_path: Path, text: str, problem: str) -> None:
    with pytest.raises(DocumentError, match=problem):
        open_documents(write(tmp_path / "book.ipynb", text)).load()
