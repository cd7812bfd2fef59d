"""`hocket` itself offers what a newcomer uses: what README and the tutorials import comes from there."""

import re
import subprocess
import sys

import pytest

import hocket
from tests.measures.source import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs" / "tutorials").glob("*.md"))]
IMPORT = re.compile(r"^ *from (hocket[\w.]*) import (?:\(([^)]*)\)|([\w, ]+))$", re.MULTILINE)

# What a page imports from a room all the same, and why.
FROM_ROOMS = {
    "hocket.agents": "what is around an agent, such as the calls that wait for a person; agents themselves are at the door",
    "hocket.durable": "what is around a run that survives, which takes a package more",
    "hocket.evaluation": "what judges answers, beside the program that gives them; thirty names that it alone needs",
    "hocket.serving": "what stands behind a page and behind clients, of which a program uses one; `sse` is at the door",
    "hocket.errors": "thirty classes of one tree, which its room shows together; the two above all others are at the door",
    "hocket.testing": "for tests, which have a room of their own",
}

HIDDEN = {"FakeChatModel", "FakeMessagesListChatModel", "FakeStreamingListLLM", "GenericFakeChatModel"} | {
    "ParrotFakeChatModel",
    "Turn",
}


def test_readme_and_tutorials_import_from_the_door() -> None:
    """Or from a room that has a reason."""
    others = {
        (page.name, room, name.strip())
        for page in PAGES
        for room, many, few in IMPORT.findall(page.read_text())
        for name in (many or few).split(",")
        if name.strip() and (room not in FROM_ROOMS if room != "hocket" else name.strip() not in hocket.__all__)
    }
    assert others == set()


def test_what_a_room_offers_for_a_reason_is_used() -> None:
    """A reason that is no longer needed is taken off the list."""
    assert FROM_ROOMS.keys() <= {room for page in PAGES for room, *_ in IMPORT.findall(page.read_text())}


@pytest.mark.parametrize("name", sorted(HIDDEN))
def test_other_fakes_are_imported_and_not_shown(name: str) -> None:
    """LangChain's programs import them; a newcomer need not read past them. Also once they have been loaded."""
    assert getattr(hocket, name).__name__ == name
    assert name not in dir(hocket)
    assert name not in hocket.__all__


def test_the_door_loads_only_what_is_used() -> None:
    """Neither agents nor stores nor the rest, for a name of another room."""
    code = "import sys, hocket; hocket.Document; print(*(one for one in sys.modules if one.startswith('hocket.')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    rooms = {one.split(".")[1] for one in done.stdout.split()}
    assert rooms.isdisjoint({"agents", "batch", "chains", "vectorstores", "text_splitters", "providers", "serving"})
