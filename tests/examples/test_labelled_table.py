"""`examples/labelled_table`, in a kernel of its own, with a model's server that fails now and then."""

import csv
import json

import pytest

from hocket.testing import OpenAIFormat, Status, serve
from hocket.testing.server import Behaviour, ReceivedRequest
from tests.examples.conftest import CopyProject
from tests.kit.amount import RUNS_ALL
from tests.kit.notebooks import read_cells, require_packages, run_cells


def answer(request: ReceivedRequest) -> Behaviour | str:
    """Label a review; refuse one, and answer another with what does not fit."""
    text = request.json["messages"][-1]["content"]
    if "response_format" not in request.json:
        return "They complain about **broken** things."
    if "postage" in text.lower():
        return Status(400, message="The text is not to the server's taste.")
    sentiment = "angry" if "rude" in text else "negative" if "broke" in text else "positive"
    return json.dumps({"sentiment": sentiment, "topic": "quality", "reason": text[:20]})


def test_a_table_is_labelled_and_gone_on_with(copy_project: CopyProject):
    """Three rows fail, each with its reason; a second run asks for these alone."""
    require_packages("tqdm")
    folder = copy_project("labelled_table")
    cells = read_cells(folder / "label.ipynb")
    first_is_over = folder / "first-is-over"
    asked_again: list[bool] = []

    def count(request: ReceivedRequest) -> Behaviour | str:
        asked_again.append(first_is_over.exists())
        return answer(request)

    with serve(OpenAIFormat(), count) as server:
        variables = {"HOCKET_MODEL": "openai:gpt-5-mini", "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "a-key"}
        if RUNS_ALL:  # each run is a new kernel
            shown = run_cells(cells, folder, **variables)
            first_is_over.touch()
            again = run_cells(cells[:3], folder, **variables)
        else:
            between = f"open({str(first_is_over)!r}, 'w').close()"
            shown = run_cells([*cells, between, *cells[:3]], folder, **variables)
            shown, again = shown[: len(cells)], shown[len(cells) + 1 :]
        assert sum(asked_again) == 1 + 2  # a try of the chain, and of the rows that failed at the server
        if RUNS_ALL:
            with pytest.raises(AssertionError, match="ResumeMismatch"):
                run_cells(cells[:3], folder, **variables | {"HOCKET_MODEL": "openai:gpt-5-nano"})
    _, _, (*bar, report), failures, (cost,), (table,), (words,) = shown
    assert "20/20" in str(bar) and "failed=3" in str(bar)
    assert "<td>17</td><td>3</td>" in report["data"]["text/html"]
    lines = "".join(part["text"] for part in failures).splitlines()  # a busy kernel prints in parts
    assert "r09: ValueError: the review is empty" in lines
    assert sorted(line.split(":")[0] for line in lines) == ["r09", "r12", "r19"]
    assert cost["text"].startswith("484 tokens, cost $0.0004") and "0 rows without a price" in cost["text"], cost
    assert "'positive': 15" in table["text"] and "'negative': 2" in table["text"]
    assert "<strong>broken</strong>" in words["data"]["text/html"]
    assert "<td>17</td><td>3</td><td>17</td>" in again[2][-1]["data"]["text/html"]
    with open(folder / "labelled.csv", newline="", encoding="utf-8") as file:
        labelled = {row["id"]: row for row in csv.DictReader(file)}
    assert labelled["r08"]["sentiment"] == "negative" and labelled["r12"]["sentiment"] == ""
