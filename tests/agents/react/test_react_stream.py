"""Of a reply that streams, only the final answer is shown, as early as it is certain, wherever the pieces are cut."""

import pytest
from hypothesis import given, strategies as st

from hocket.agents import ReActFormat
from tests.agents.react.test_react_parse import CASES, MIXTURES, UNITS
from tests.kit import assert_linear
from tests.kit.amount import RUNS_ALL

FORMAT = ReActFormat()


def show(pieces: list[str]) -> list[str]:
    """What each piece adds, and the close."""
    answer = FORMAT.stream_filter()
    return [*(answer.feed(piece) for piece in pieces), answer.close()]


def test_the_answer_is_shown_piece_by_piece() -> None:
    pieces = ["Thou", "ght: I kn", "ow.\nFinal An", "swer", ":", " Eighty", "-four", " is\n", "it.", "\n"]
    assert show(pieces) == ["", "", "", "", "", "Eighty", "-four", " is", "\nit.", "", ""]


def test_only_the_beginning_of_a_label_waits() -> None:
    assert show(["Final Answer: a\nAct", "ually b\nObs", "erve\n- c", "\n- Thou"]) == [
        "a",
        "\nActually b",
        "\nObserve\n- c",
        "",
        "\n- Thou",
    ]


@pytest.mark.parametrize(
    "text",
    [
        "Thought: Final Answer: 1\nAction: a(1)",
        "Action: a(1)\nFinal Answer: 84",
        "Action: a(1)\nObservation: 2\nFinal Answer: 2",
        '{"action": "a", "action_input": "b"}\nFinal Answer: 84',
        "<think>\nFinal Answer: 84\n</think>\nAction: a(1)",
        "no label at all",
    ],
)
def test_what_is_no_answer_is_never_shown(text: str) -> None:
    assert "".join(show(list(text))) == ""


@pytest.mark.parametrize(
    "text",
    [
        '{"action": "Final Answer", "action_input": "84"}',
        "Action: Finish[84]",
        "<final_answer>84</final_answer>",
        "So. The answer is: 84",
        "行动：无\n回答：84",
        "**Final Answer:** 84",
        "<think>\nFinal Answer: 1\n</think>\nFinal Answer: 84\nAction: a(1)",
    ],
)
def test_an_answer_of_any_form_is_shown_whole(text: str) -> None:
    assert "".join(show(list(text))) == "84"


def test_a_second_answer_follows_the_first() -> None:
    """What was shown cannot be taken back; the output is the last one."""
    assert "".join(show(list("Final Answer: a draft\nFinal Answer: 84"))) == "a draft\n84"


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_case_of_the_table_is_shown_as_it_is_parsed(case: dict[str, str]) -> None:
    reply = FORMAT.parse(case["text"])
    for size in (1, 2, 3, 7, 1000):
        pieces = [case["text"][place : place + size] for place in range(0, len(case["text"]), size)]
        assert "".join(show(pieces)).split("\n")[-1] == reply.output.split("\n")[-1]


@given(MIXTURES | st.text(), st.lists(st.integers(1, 9), min_size=1, max_size=8))
def test_cuts_make_no_difference_and_the_parser_agrees(text: str, sizes: list[int]) -> None:
    pieces: list[str] = []
    place = 0
    while place < len(text):
        pieces.append(text[place : place + sizes[len(pieces) % len(sizes)]])
        place += len(pieces[-1])
    shown = "".join(show(pieces))
    reply = FORMAT.parse(text)
    assert shown == "".join(show([text]))
    assert shown == "" if reply.kind != "finish" else shown.endswith(reply.output) or shown.startswith(reply.output)


def test_small_pieces_of_anything_are_shown_in_linear_time() -> None:
    """Each of many texts."""
    for unit in UNITS if RUNS_ALL else UNITS[::4]:
        assert_linear(lambda count, unit=unit: show(["Final Answer: ", *[unit] * count]), 40_000 // len(unit))  # type: ignore[misc]
