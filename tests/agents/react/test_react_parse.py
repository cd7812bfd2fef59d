"""Replies in text are read by fixed rules, whatever the text, in time that grows with it and no faster."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.agents import ReActFormat
from hocket.agents.react import ReActReply
from tests.kit import assert_linear
from tests.kit.amount import leave_for_night

FORMAT = ReActFormat()
CASES: list[dict[str, Any]] = json.loads((Path(__file__).parent / "reply_cases.json").read_text(encoding="utf-8"))


def call(tool: str, input: object, **args: object) -> dict[str, Any]:
    """A call as `parse` tells it; arguments are those written with their names."""
    return {"tool": tool, "input": input, **({"args": args} if args else {})}


def act(*calls: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "action", "calls": list(calls), **more}


def finish(output: str, **more: Any) -> dict[str, Any]:
    return {"kind": "finish", "output": output, **more}


def fail(code: str, **more: Any) -> dict[str, Any]:
    return {"kind": "error", "code": code, **more}


def assert_reads(text: str, expected: dict[str, Any]) -> None:
    reply = FORMAT.parse(text)
    assert {key: getattr(reply, key) for key in expected} == expected
    assert reply.kind == "error" or reply.code is None


@pytest.mark.parametrize("case", CASES, ids=lambda case: case["name"])
def test_each_case_of_the_table_is_read_as_it_says(case: dict[str, Any]) -> None:
    expected = dict(case["expect"])
    calls = expected.pop("calls", None)
    reply = FORMAT.parse(case["text"])
    assert {key: getattr(reply, key) for key in expected} == expected
    if calls is not None:
        assert [{"tool": one["tool"], "input": one["input"]} for one in reply.calls] == calls


LABELS = [
    # P1: labels in both languages; text before the first one is a thought; thoughts are joined
    ("推理：先查\n动作：search(a)", act(call("search", "a"), thought="先查")),
    ("动作：search\n动作输入：a b", act(call("search", "a b"))),
    ("行动：search\n行动输入：a", act(call("search", "a"))),
    ("行动：search(a)\n观察结果：b\n回答：c", act(call("search", "a"))),
    ("One.\nThought: two\nThought: three\nAction: a\nAction Input: b", act(call("a", "b"), thought="One.\ntwo\nthree")),
    ("The final answer is: 84", finish("84")),
    ("最终回答：好", finish("好")),
    # P2: case, colons, blanks, numbers, decoration
    ("ACTION: a\naction INPUT: b", act(call("a", "b"))),
    ("Action\u3000：\u3000a\nAction Input：b", act(call("a", "b"))),
    ("**Action**: a\n__Action Input__: b", act(call("a", "b"))),
    ("- Action: a\n- Action Input: b", act(call("a", "b"))),
    ("1. Thought: t\n2. Action: a\n3. Action Input: b", act(call("a", "b"), thought="t")),
    ("`Action:` a\n`Action Input:` b", act(call("a", "b"))),
    ("**Action: a**\n**Action Input: b**", act(call("a", "b"))),
    ("Action 2: a\nAction 2 Input: b", act(call("a", "b"))),
    ("思考1：t\n行动1：search(a)", act(call("search", "a"), thought="t")),
    ("Action: a\r\nAction Input: b\r\n", act(call("a", "b"))),
    ("Actions: a\nAction Input: b", fail("missing_action")),
    ("###### > 1. **Final Answer:** 84", finish("84")),
    # P3: only at the start of a line, but for two fallbacks
    ("Thought: we need it. Action: tides Action Input: Brest", act(call("tides", "Brest"))),
    ("行动：search 行动输入：北京", act(call("search", "北京"))),
    ("I know it now. Final Answer: 84", finish("84", thought="I know it now.")),
    ("我知道了，最终答案：42", finish("42")),
    ("Not yet. Final Answer: none\nAction: a\nAction Input: b", act(call("a", "b"))),
    ("Action: search(what is Final Answer: about)", act(call("search", "what is Final Answer: about"))),
    ("Action: a\nAction Input: say Final Answer: 84", act(call("a", "say Final Answer: 84"))),
    ("Reaction: a\nAction Input: b", fail("missing_action")),
]

ORDER = [
    # P4: what follows an observation that the model made up is not looked at
    ("Action: a(1)\nObservation: 2\nFinal Answer: 2", act(call("a", "1"))),
    ('{"action": "a", "action_input": "b"}\nObservation: 2\nFinal Answer: 2', act(call("a", "b"))),
    ("Observation: 2\nThought: t\nAction: a(1)", act(call("a", "1"))),
    ("Action: Finish[84]\nObservation: Episode finished", finish("84")),
    ("Action: none\nObservation: nothing\nFinal Answer: 84", finish("84")),
    ("Action: a\nAction Input: b\n\tObservation: c", act(call("a", "b"))),
    # P5: an answer and an action in one reply
    ("Final Answer: 84\nThought: done\nAction: a\nAction Input: b", finish("84")),
    ("Final Answer: 84\nThought: that was easy", finish("84\nThought: that was easy")),
    ('{"action": "a", "action_input": "b"}\nFinal Answer: 84', fail("action_and_final")),
    ("Action: a\nFinal Answer: 84", fail("action_and_final")),
    ("Action: Final Answer: 84", finish("84")),
    ("Action: Final Answer\nAction Input: 84", finish("84")),
    ("Action Input: 84\nFinal Answer: 84", finish("84")),
    # P6: several actions
    (
        "Action: a\nAction Input: 1\nThought: and\nAction: b\nAction Input: 2",
        act(call("a", "1"), call("b", "2"), thought="and"),
    ),
    ("Action: a(1)\nAction: b", fail("missing_action_input", detail="b")),
    # P12, P13, P14, P18
    ("Action: clock\nAction Input:", act(call("clock", ""))),
    ("Action:\nAction Input: b", fail("missing_action")),
    ("Action: ``\nAction Input: b", fail("missing_action")),
    ("", fail("empty")),
    ("\ufeff \u3000\n", fail("missing_action")),
    ("<think>all of it</think>\n", fail("empty")),
    ("Action: N/A\nAction Input: None", fail("missing_action")),
    ("Action: None\nAction Input: None\nFinal Answer: 84", finish("84")),
    ("行动：不需要\n回答：好", finish("好")),
    ("行动：无需。\n回答：好", finish("好")),
]

INPUTS = [
    # P7: quotes
    ('Action: a\nAction Input: "b c"', act(call("a", "b c"))),
    ("Action: a\nAction Input: 'b c'", act(call("a", "b c"))),
    ('Action: a\nAction Input: "b" or "c"', act(call("a", '"b" or "c"'))),
    ("Action: a\nAction Input: \"b'", act(call("a", "\"b'"))),
    ('Action: a\nAction Input: "', act(call("a", '"'))),
    # P8: fences
    ('Action: a\nAction Input:\n```json\n{"b": 1}\n```', act(call("a", {"b": 1}))),
    ('Action: a\nAction Input:\n```\n{"b": 1}\n```', act(call("a", {"b": 1}))),
    ("Action: a\nAction Input:\n```json\n[1, 2]\n```", act(call("a", "```json\n[1, 2]\n```"))),
    (
        "Action: run\nAction Input:\n```python\n# Observation: one\nprint(1)\n```\nObservation: 1",
        act(call("run", "```python\n# Observation: one\nprint(1)\n```")),
    ),
    ("```\nThought: t\nAction: a\nAction Input: b\n```", act(call("a", "b"), thought="t")),
    (
        "Final Answer: write\n```\nAction: a\nAction Input: b\n```",
        finish("write\n```\nAction: a\nAction Input: b\n```"),
    ),
    # P9, inputs: an object is decoded, anything else stays as it is
    ("Action: a\nAction Input: [1, 2]", act(call("a", "[1, 2]"))),
    ("Action: a\nAction Input: {'b': 1}", act(call("a", "{'b': 1}"))),
    ("Action: a\nAction Input: '{\"b\": 1}'", act(call("a", {"b": 1}))),
    ('Action: a\nAction Input: {"b": "two\nlines"}', act(call("a", {"b": "two\nlines"}))),
    ('Action: a\nAction Input: {"b": NaN}', act(call("a", '{"b": NaN}'))),
    # P10: call syntax
    ('Action: weather(city="Oslo", days=2)', act(call("weather", 'city="Oslo", days=2', city="Oslo", days=2))),
    ("Action: weather(city=Oslo)", act(call("weather", "city=Oslo", city="Oslo"))),
    ("行动：weather(城市='北京'，明天=True)", act(call("weather", "城市='北京'，明天=True", 城市="北京", 明天=True))),
    ('Action: a("x)y")', act(call("a", "x)y"))),
    ("Action: say(what's up)", act(call("say", "what's up"))),
    ('Action: cut(12" pipe)', act(call("cut", '12" pipe'))),
    ("Action: search[a[1]]", act(call("search", "a[1]"))),
    ("Action: search【北京】", act(call("search", "北京"))),
    ('Action: book({"room": "B2)"})', act(call("book", {"room": "B2)"}))),
    ('Action: book({"room": "B2', fail("missing_action_input")),
    ("Action: search(Volga", fail("missing_action_input")),
    ("Action: search(Volga).", act(call("search", "Volga"))),
    ("Action: search (Volga)", act(call("search", "Volga"))),
    ("Action: search(query)\nAction Input: Volga", act(call("search", "Volga"))),
    ("Action: finish(answer='84')", finish("84")),
    ("Action: a(x == y)", act(call("a", "x == y"))),
    # P11: names
    ("Action: `search`\nAction Input: a", act(call("search", "a"))),
    ("Action: [search]\nAction Input: a", act(call("search", "a"))),
    ("Action: **search**\nAction Input: a", act(call("search", "a"))),
    ('Action: "search".\nAction Input: a', act(call("search", "a"))),
    ("Action: sea-level_2\nAction Input: a", act(call("sea-level_2", "a"))),
    ("Action:\nsearch\nAction Input: a", act(call("search", "a"))),
]

FORMS = [
    # P9: actions in JSON
    ('I call {"tool": "a", "tool_input": {"b": 1}} now.', act(call("a", {"b": 1}), thought="I call")),
    ('[{"name": "a", "args": {"b": 1}}, {"name": "c", "parameters": "d"}]', act(call("a", {"b": 1}), call("c", "d"))),
    ('{"行动": "search", "参数": "北京"}', act(call("search", "北京"))),
    ('{"tool_name": "a", "input": 5}', act(call("a", "5"))),
    ('{"action": "clock"}', act(call("clock", ""))),
    ('{"action": "a", "action_input": "two\nlines"}', act(call("a", "two\nlines"))),
    ('{"action": "finish", "action_input": {"answer": "84"}}', finish("84")),
    ('{"action": "最终答案", "action_input": "好"}', finish("好")),
    ('{"action": "search", "action_input": "Vol', fail("invalid_json")),
    ('{"thought": "t", "action": "sea', fail("invalid_json")),
    ('[{"action": "a", "action_input": "b"}, {"action":', fail("invalid_json")),
    ('{"name": "Bob"}', fail("missing_action")),
    ('{"action": 5}', fail("missing_action")),
    ('{"action": ""}', fail("missing_action")),
    ('{"action": null}\nFinal Answer: 84', finish("84")),
    ('{"action": "wrong", "action_input": "x"}\nAction: a\nAction Input: b', act(call("a", "b"))),
    ('Action: {"action": "a", "action_input": "b"}', act(call("a", "b"))),
    ('Action: create({"name": "Bob", "args": 1})', act(call("create", {"name": "Bob", "args": 1}))),
    ('A set {"x"} and then {"action": "a", "action_input": "b"}', act(call("a", "b"))),
    # P15: thinking aloud
    ("<THINKING>Action: x(1)</thinking>Action: a(1)", act(call("a", "1"))),
    ("Final Answer: 84<think>or is it", finish("84")),
    ("<think>Final Answer: 84", fail("empty")),
    # P16: XML
    ("<tool>a</tool>\n<tool_input>b", act(call("a", "b"))),
    ('<tool>a</tool><tool_input>{"b": 1}</tool_input><observation>1</observation>', act(call("a", {"b": 1}))),
    ("<final_answer>84</final_answer>", finish("84")),
    ("Done. <final_answer>84", finish("84", thought="Done.")),
    ('<tool_call>\n{"name": "clock"}\n</tool_call>', act(call("clock", ""))),
    ('<tool_call>{"name": "a", "argu', fail("invalid_json")),
    ("<tool>a</tool>", fail("missing_action")),
    # P17: the Chinese sentence
    ("使用工具 search 参数是 北京\n使用工具 clock 参数是 无", act(call("search", "北京"), call("clock", "无"))),
    ("我使用工具search，参数是：北京\n然后回答", act(call("search", "北京"))),
    # Langchaingo's vectors of its first parser
    ("Action:  foo Action Input: bar", act(call("foo", "bar"))),
    ("Action: foo\nAction Input:\nbar\nbaz", act(call("foo", "bar\nbaz"))),
]


@pytest.mark.parametrize(("text", "expected"), [*LABELS, *ORDER, *INPUTS, *FORMS])
def test_replies_are_read_by_the_rules(text: str, expected: dict[str, Any]) -> None:
    assert_reads(text, expected)


def test_deep_json_is_an_error_and_never_a_recursion() -> None:
    """What no message could hold is refused, at 129 levels as at 100,000; 100 are fine."""
    for depth, kind in ((100, "action"), (129, "error"), (1_000, "error"), (100_000, "error")):
        text = '{"action": "a", "action_input": ' + '{"b":' * depth + "1" + "}" * depth + "}"
        assert FORMAT.parse(text).kind == kind
        FORMAT.parse("Action: a\nAction Input: " + '{"b":' * depth)


def test_half_of_a_surrogate_pair_is_no_json() -> None:
    assert FORMAT.parse('{"action": "a", "action_input": {"b": "\\ud800"}}').code == "invalid_json"
    assert FORMAT.parse('{"action": "a", "action_input": {"b": "\\ud83d\\ude00"}}').calls == [call("a", {"b": "😀"})]


def test_a_json_error_says_where_it_is() -> None:
    reply = FORMAT.parse('Thought: t\n```json\n{\n  "action": tides\n}\n```')
    assert reply.detail == "Expecting value, at line 2, column 13 of it"


def test_the_words_of_the_parser_are_those_of_every_language() -> None:
    for text in ("Action: a\nAction Input: b", "行动：a(b)"):
        assert ReActFormat("zh").parse(text) == ReActFormat("en").parse(text)


PIECES = st.sampled_from(
    [
        *("Action:", "Action Input:", "Final Answer:", "Thought:", "Observation:", "Answer:", "The answer is:"),
        *("行动：", "行动输入：", "回答：", "思考：", "观察：", "使用工具 a 参数是 b", "无", "none", "finish"),
        *(
            "```",
            "```json\n",
            "<think>",
            "</think>",
            "<tool>",
            "</tool>",
            "<tool_input>",
            "<tool_call>",
            "</tool_call>",
        ),
        *("<final_answer>", "<observation>", '{"action": "a", "action_input": "b"}', '{"name": "a", "arguments": {}}'),
        *(
            "\n",
            "\n\n",
            " ",
            "x",
            "a",
            "(",
            ")",
            "（",
            "）",
            "[",
            "]",
            "{",
            "}",
            '"',
            "'",
            "\\",
            ",",
            "=",
            "*",
            "**",
            "`",
        ),
        *("1.", "- ", "#", "a=1", "\r\n", "\u3000"),
    ]
)
MIXTURES = st.lists(PIECES, max_size=25).map("".join)


@given(st.one_of(st.text(), MIXTURES))
def test_any_text_is_read_and_always_alike(text: str) -> None:
    """No text raises; what is told of it hangs together."""
    reply = FORMAT.parse(text)
    assert reply == FORMAT.parse(text)
    assert (reply.kind == "error") == (reply.code is not None)
    assert bool(reply.calls) == (reply.kind == "action")
    assert all(one["tool"] and one["tool"] == one["tool"].strip() for one in reply.calls)
    assert isinstance(reply, ReActReply)


UNITS = [
    *("*", "a", "\n", " ", "`", "```\n", "Action:", "Action: a\n", "Action: a\nAction Input: b\n", "Action Input: x\n"),
    *(
        "Final Answer: x\n",
        "Final Answer: ",
        'Thought: {"a\n',
        '{"a":',
        '[{"',
        '{"action":',
        "Action: f(",
        "Action: f('",
    ),
    *("<think>", "<think></think>", "<tool>", "<tool>a</tool><tool_input>", "<tool_call>{}", "<final_answer>"),
    *(
        "使用工具 ",
        "使用工具 a 参数是",
        "action: ",
        "Action: a Action Input: ",
        "1. ",
        "Observation: a\n",
        "，",
        "a=1,",
    ),
    *('Action: f({"a": [', "Action: x Final Answer: ", "\\", '"', "("),
]


@pytest.mark.parametrize("before", ["Action: a\nAction Input: ", "Final Answer: ", *leave_for_night("", "Action: f(")])
def test_anything_is_read_in_linear_time(before: str) -> None:
    """Each of many texts that make careless patterns slow."""
    for unit in UNITS:
        assert_linear(lambda count, unit=unit: FORMAT.parse(before + unit * count), 40_000 // len(unit))  # type: ignore[misc]
