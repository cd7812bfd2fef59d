"""The page of `examples/chat_service` in a real browser: what people do with it, and what must not happen to them.

Where there is no browser, the tests are skipped (`tests.kit.browser`).
"""

import re
import shutil
import threading
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from hocket.testing import OpenAIFormat, Reply, Stream, serve
from hocket.testing.server import ReceivedRequest, Server
from hocket.testing.server.format import Format
from hocket.testing.server.wire import Step, Wait, WireAnswer
from tests.examples.conftest import EXAMPLES, WITHIN, Service
from tests.kit.browser import use_browser
from tests.kit.notebooks import require_packages
from tests.kit.stores import postgres_schema

SCRIPT = Path(__file__).with_name("chat_page.mjs")
NUMBERS = "one two three four five six seven"
ATTACK = '<img src=x onerror=alert(1)><script>alert(2)</script> <a href="javascript:alert(3)">\u2028: data: here</a>'
GOES_ON = threading.Event()


class HalfWay(Stream):
    """Numbers, which wait behind the third until somebody has the model go on."""

    def answer(self, request: ReceivedRequest, format: Format) -> WireAnswer:
        GOES_ON.clear()
        answer = super().answer(request, format)
        return replace(answer, steps=self._wait_in_the_middle(answer.steps))

    def _wait_in_the_middle(self, steps: Iterable[Step]) -> Iterator[Step]:
        for step in steps:
            yield step
            while isinstance(step, bytes) and b"three" in step and not GOES_ON.is_set():
                yield Wait(0.02)


HALF_WAY = HalfWay(NUMBERS)
ARGS = {"people": 4, "time": "19:00"}
ANSWERS: dict[str, str | Reply] = {
    "I am Ada.": "Hello, Ada!",
    "Count.": HALF_WAY,
    "Go on.": "Gone on.",
    "Talk on.": Stream("Light is scattered by the air", every=0.02, then="ping"),  # and then pings, for ever
    "Attack me.": ATTACK,
    "Be wide.": "w" * 500 + "\n" + "long words " * 80,
    "Approve a table.": Reply(tool_calls=[{"name": "book_table", "args": ARGS, "id": "call_1"}]),
    "Book, and count.": Reply(tool_calls=[{"name": "book_table", "args": ARGS | {"people": 17}, "id": "call_3"}]),
    "A table for 17 at 19:00 is booked.": HALF_WAY,
    "Reject a table.": Reply(tool_calls=[{"name": "book_table", "args": ARGS, "id": "call_2"}]),
}


def answer(request: Any) -> str | Reply:
    last = request.json["messages"][-1]
    if last["content"] == "Go on.":
        GOES_ON.set()
    if last["role"] == "tool" and last["content"] not in ANSWERS:
        return "It is booked." if last["content"] == "A table for 4 at 19:00 is booked." else "I book nothing."
    return ANSWERS[last["content"]]


@pytest.fixture(scope="module")
def provider() -> Iterator[Server]:
    """The model's server, which answers each question in its way."""
    with serve(OpenAIFormat(), answer) as server:
        yield server


@pytest.fixture
def service(provider: Server, start_service: Callable[..., Service]) -> Iterator[Service]:
    require_packages("fastapi")
    with postgres_schema() as database:
        yield start_service(
            EXAMPLES / "chat_service",
            "service:app",
            CHAT_DATABASE=database,
            HOCKET_MODEL="openai:small",
            OPENAI_BASE_URL=provider.url,
            OPENAI_API_KEY="a-key",
        )


def play(service: Service, scene: str) -> Any:
    """Have a person do something with the page, in a browser; return what was seen, and skip where there is no browser."""
    seen = use_browser(SCRIPT, service.url, scene, within=WITHIN)
    assert len(seen.pop("hosts")) == 1
    assert [one for one in seen.pop("said") if not re.search("400|409|net::ERR_", one)] == []
    return seen


@pytest.mark.nightly
def test_an_answer_is_there_again(service: Service):
    """Asked, read, and the same after a reload; then deleted."""
    seen = play(service, "asks")
    assert seen["texts"] == seen["again"] == ["I am Ada.", "Hello, Ada!"]


def test_a_reload_in_the_middle(service: Service, provider: Server):
    """The answer goes on, to the same end, also in a second tab; the model is asked once."""
    count = len(provider.requests)
    seen = play(service, "reloads")
    assert seen["wasRunning"] and seen["half"] == ["Count.", "one two three"]
    assert seen["texts"] == seen["others"] == seen["kept"] == ["Count.", NUMBERS]
    assert len(provider.requests) == count + 2  # with that to go on


@pytest.mark.nightly
def test_a_lost_connection(service: Service):
    """The page goes on from the last event that it has seen."""
    seen = play(service, "loses its connection")
    assert seen["texts"] == ["Count.", NUMBERS]
    assert len(seen["asked"]) >= 2 and all(seen["asked"])


@pytest.mark.nightly
def test_stop_in_another_tab(service: Service, provider: Server):
    """It ends the call of the model, and both tabs say so; the half is kept."""
    seen = play(service, "stops elsewhere")
    provider.block_for(lambda server: server.open_connections == 0, within=60)
    question, half = seen["texts"]
    assert (question, half) == ("Talk on.", "Light is scattered by the air\n\nStopped.")
    assert seen["others"] == seen["texts"]
    assert seen["kept"] == [question, half.replace("Stopped.", "Not finished.")]


def test_a_person_decides(service: Service):
    """About a call that waits, also after a reload; the tool runs only if it was approved."""
    seen = play(service, "decides")
    assert "waits" not in seen["Approve"] and "A table for 4 at 19:00 is booked." in seen["Approve"]
    assert "Rejected." in seen["Reject"]
    for texts in (seen["texts"], seen["kept"]):
        assert [text.partition("\n")[0] for text in texts] == [
            *("Approve a table.", "book_table", "It is booked."),
            *("Reject a table.", "book_table", "I book nothing."),
        ]


@pytest.mark.nightly
def test_a_reload_after_a_decision(service: Service):
    """Shows everything once; who decides in another tab, later, is told so, and sees what came of it."""
    check_reload_after_decision(play(service, "decides, and comes back"))


def check_reload_after_decision(seen: Any) -> None:
    *before, half = seen["half"]
    assert seen["wasRunning"] and half == "one two three"
    assert before == ["Book, and count.", "book_table\n\nA table for 17 at 19:00 is booked."]
    assert seen["texts"] == seen["others"] == [*before, NUMBERS]
    assert seen["notice"] == "That was decided already."


@pytest.mark.nightly
def test_what_a_model_says_is_text(service: Service):
    """Never markup, and the policy of the page is not even asked."""
    seen = play(service, "is attacked")
    assert seen == {"texts": ["Attack me.", ATTACK], "kept": ["Attack me.", ATTACK], "images": 0}


@pytest.mark.nightly
def test_a_second_question_meanwhile(service: Service):
    """Is told so in words, and kept in its box; the tab shows the answer that is running."""
    seen = play(service, "is busy")
    assert "answered already" in seen["notice"] and seen["box"] == "Count."
    assert seen["texts"][0] == "Talk on." and "Light is scattered" in seen["texts"][1]


@pytest.mark.nightly
def test_a_small_screen(service: Service):
    """Nothing has to be pushed aside, on a phone of 360 pixels either."""
    assert play(service, "is narrow") == {"360": 360, "1200": 1200, "call": 360}


@pytest.mark.nightly
def test_the_keyboard_is_enough(service: Service):
    """To ask, and to approve."""
    assert play(service, "uses the keyboard")["found"][-1] == "Approve"


TUTORIAL = EXAMPLES.parent / "docs" / "tutorials" / "chat-service.md"
PAGE = EXAMPLES / "chat_service" / "page.html"


def test_the_tutorial_shows_pieces_of_the_page():
    """As they stand there."""
    pieces = re.findall("```js\n(.*?)```", TUTORIAL.read_text(encoding="utf-8"), re.DOTALL)
    assert pieces and [piece for piece in pieces if piece not in PAGE.read_text(encoding="utf-8")] == []


@pytest.mark.nightly
def test_the_service_of_the_tutorial(provider: Server, start_service: Callable[..., Service], tmp_path: Path):
    """Serves the same page."""
    require_packages("fastapi")
    code = TUTORIAL.read_text(encoding="utf-8").partition('title="service.py"\n')[2].partition("```")[0]
    (tmp_path / "service.py").write_text(code, encoding="utf-8")
    shutil.copy(PAGE, tmp_path)
    service = start_service(tmp_path, "service:app", OPENAI_BASE_URL=provider.url, OPENAI_API_KEY="a-key")
    check_reload_after_decision(play(service, "decides, and comes back"))
