"""In a real kernel: what a cell shows, and what help says."""

import re
from pathlib import Path
from typing import Any

import pytest

from tests.kit.notebooks import run_cells

CELLS = {
    "ashow": """
from hocket import ChatOpenAI, Conversation, ScriptedChatModel, Turn, get_usage_metadata_callback
from hocket.errors import StreamTruncated
from hocket.notebook import ashow, show

usage = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
model = ScriptedChatModel(script=[Turn(text=["**Light** ", "scatters."], usage=usage)] * 20)
await ashow(model.astream("Why is the sky blue?"))
""",
    "show": "show(model.stream('Why?'))",
    "broken": """
broken = ScriptedChatModel(script=[Turn(text="half an answer", error=StreamTruncated("cut"), error_after=2)])
try:
    await ashow(broken.astream("Why?"))
except StreamTruncated:
    pass
""",
    "message": "model.invoke('Why?')",
    "conversation": """
conversation = Conversation(model)
await ashow(conversation.astream("I am <b>Ada</b>."))
conversation
""",
    "usage": """
with get_usage_metadata_callback() as counted:
    model.invoke("Why?")
counted
""",
    "help": "print(get_ipython().object_inspect_text('ChatOpenAI'))",  # what Shift-Tab and ? show
    "drawn": """
from IPython.display import publish_display_data
import hocket.notebook.drawing as output

sent = []
real, output.Cell.pause = output.Cell.update, 0.0
output.Cell.update = lambda cell, view, told: (sent.append(view.text), real(cell, view, told))[1]
await ashow(model.astream("Why?"))
print(sent)
""",
}


@pytest.fixture(scope="module")
def shown(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[dict[str, Any]]]:
    return dict(zip(CELLS, run_cells(list(CELLS.values()), tmp_path_factory.mktemp("notebook")), strict=True))


@pytest.mark.parametrize("name", ["ashow", "show"])
def test_a_stream_is_one_output(shown: dict[str, list[dict[str, Any]]], name: str):
    """Drawn anew as it grows: at the end it is the whole answer, once."""
    (output,) = shown[name]
    assert output["output_type"] == "display_data"
    assert output["data"]["text/plain"] == "**Light** scatters."
    assert "<strong>Light</strong> scatters." in output["data"]["text/html"]


def test_it_is_drawn_while_it_comes(shown: dict[str, list[dict[str, Any]]]):
    """Each drawing has all that has come."""
    *_, printed = shown["drawn"]
    assert printed["text"].startswith("['**Light** ', '**Light** scatters.'")
    assert shown["drawn"][0]["data"]["text/plain"] == "**Light** scatters."


def test_what_has_come_of_a_broken_stream_stays(shown: dict[str, list[dict[str, Any]]]):
    """With a word on why there is no more."""
    (output,) = shown["broken"]
    assert "half an" in output["data"]["text/html"] and "StreamTruncated" in output["data"]["text/html"]


def test_what_shows_itself(shown: dict[str, list[dict[str, Any]]]):
    """A message, a conversation, counted usage; what a user says is text, whatever it looks like."""
    assert "1 + 2 tokens" in shown["message"][0]["data"]["text/html"]
    told = shown["conversation"][1]["data"]["text/html"]
    assert "I am &lt;b&gt;Ada&lt;/b&gt;." in told and "<strong>Light</strong>" in told
    assert "<td>scripted</td><td>1</td><td>2</td><td>3</td>" in shown["usage"][0]["data"]["text/html"]


def test_help_shows_every_field(shown: dict[str, list[dict[str, Any]]]):
    """With its type, its default and its meaning."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", shown["help"][0]["text"])
    assert "temperature: float | None = None" in text and "temperature: 0 takes the likeliest token" in text


def test_the_kernel_keeps_its_files_to_itself(tmp_path: Path):
    """What the kit promises: a cell runs in the folder that it is given."""
    ((output,),) = run_cells(["from pathlib import Path; print(Path.cwd())"], tmp_path)
    assert Path(output["text"].strip()).resolve() == tmp_path.resolve()
