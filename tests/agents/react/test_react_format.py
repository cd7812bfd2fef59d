"""One format writes prompts and reads replies: what it shows is what it takes, in both languages."""

import pickle
from typing import Any, Literal

import pytest
from hypothesis import given, strategies as st

from hocket.agents import ReActFormat
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.tools import BaseTool, StructuredTool, tool


@tool
def search(query: str) -> str:
    """Search the archive."""
    return query


@tool
def weather(city: str, days: int = 1) -> str:
    """Tell the weather."""
    return f"{city} {days}"


@tool
def clock() -> str:
    """Tell the time."""
    return "3 pm"


@tool
def double(number: int) -> int:
    """Double a number."""
    return 2 * number


TOOLS: list[BaseTool] = [search, weather, clock, double]
LANGUAGES: tuple[Literal["en", "zh"], ...] = ("en", "zh")
EXCHANGES: list[BaseMessage] = [
    HumanMessage("What is 3 pm in China in New York?"),
    AIMessage("I need both.", tool_calls=[{"name": "search", "args": {"query": "time zones"}, "id": "1"}]),
    ToolMessage("12 hours", tool_call_id="1"),
    AIMessage(
        "",
        tool_calls=[
            {"name": "weather", "args": {"city": "Oslo", "days": 2}, "id": "2"},
            {"name": "clock", "args": {}, "id": "3"},
        ],
    ),
    ToolMessage("3 pm", tool_call_id="3"),
    ToolMessage("rain", tool_call_id="2"),
]


def render(format: ReActFormat, messages: list[BaseMessage], tools: list[BaseTool] = TOOLS) -> str:
    """The text of the one message that is sent beside the system's."""
    return format.render(messages, tools)[-1].text


def read(text: str, tools: list[BaseTool] = TOOLS) -> list[tuple[str, dict[str, Any]]]:
    """The calls of a reply, as the message has them."""
    answer = ReActFormat().read(AIMessage(text), tools)
    assert answer.code is None, answer
    return [(call["name"], call["args"]) for call in answer.message.tool_calls]


# -- what is sent


def test_the_english_prompt_has_all_parts_in_order() -> None:
    text = render(ReActFormat(), EXCHANGES, [search, weather, clock])
    parts = [
        "- search: Search the archive.\n  Parameters: query (string)\n",
        "- weather: Tell the weather.\n  Parameters: city (string); days (integer, optional)\n",
        "- clock: Tell the time.\n  Parameters: none\n",
        'Action: search\nAction Input: {"query": "..."}\n',
        "Final Answer: the whole answer to the question\n",
        "Question: What is 3 pm in China in New York?\n\n",
        "Thought: I need both.\nAction: search\nAction Input: time zones\nObservation: 12 hours\n\n",
        'Action 1: weather\nAction Input 1: {"city": "Oslo", "days": 2}\nAction 2: clock\nAction Input 2: \n'
        "Observation 1: rain\nObservation 2: 3 pm\n\n",
        "Begin with your thought:",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.endswith(parts[-1])


def test_the_chinese_prompt_has_all_parts_in_order() -> None:
    """The list of tools, the question, what was done with name and arguments in brackets, and the invitation."""
    messages: list[BaseMessage] = [
        HumanMessage("中国下午3点是美国几点?"),
        AIMessage("需要查询时差", tool_calls=[{"name": "search", "args": {"query": "中国 美国 时差"}, "id": "1"}]),
        ToolMessage("12小时", tool_call_id="1"),
    ]
    text = render(ReActFormat("zh"), messages, [search])
    parts = [
        "- search: Search the archive.\n  参数: query (string)\n",
        '行动：search({"query": "..."})\n',
        "回答：对问题的完整回答\n",
        "问题：中国下午3点是美国几点?\n\n",
        "思考：需要查询时差\n行动：search(中国 美国 时差)\n观察：12小时\n\n",
        "请开始您的思考:",
    ]
    places = [text.index(part) for part in parts]
    assert places == sorted(places)
    assert text.endswith(parts[-1])


@pytest.mark.parametrize("language", LANGUAGES)
def test_without_exchanges_the_question_stands_before_the_invitation(language: Literal["en", "zh"]) -> None:
    text = render(ReActFormat(language), [HumanMessage("Why?")])
    begin = "Begin with your thought:" if language == "en" else "请开始您的思考:"
    assert text.endswith(f"Why?\n\n{begin}")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("one", TOOLS, ids=lambda one: one.name)
def test_every_example_of_the_instructions_is_read_as_what_it_says(
    language: Literal["en", "zh"], one: BaseTool
) -> None:
    """Each paragraph of the prompt that begins with a thought is a reply: one calls the tool, one answers."""
    format = ReActFormat(language)
    thought = "Thought: " if language == "en" else "思考："
    examples = [
        part for part in render(format, [HumanMessage("Why?")], [one]).split("\n\n") if part.startswith(thought)
    ]
    action, answer = (format.parse(example) for example in examples)
    assert (action.kind, action.calls[0]["tool"], len(action.calls)) == ("action", one.name, 1)
    [made] = format.read(AIMessage(examples[0]), [one]).message.tool_calls
    assert set(made["args"]) == set(one.tool_call_schema.get("required", []))
    assert (answer.kind, answer.output) == (
        "finish",
        "the whole answer to the question" if language == "en" else "对问题的完整回答",
    )


def test_system_messages_and_pictures_stay_what_they_are() -> None:
    picture = {"type": "image", "url": "https://example.org/a.png"}
    messages = [SystemMessage("Be brief."), HumanMessage([{"type": "text", "text": "What is this?"}, picture])]
    system, question = ReActFormat().render(messages, TOOLS)
    assert system == messages[0]
    assert isinstance(question.content, list)
    assert question.content[1] == picture
    assert "Question: What is this?" in question.text


def test_earlier_turns_stand_before_the_question_and_results_go_to_their_calls() -> None:
    """Two turns may use the same ids; each result is shown under the call of its own turn."""
    call: Any = {"name": "search", "args": {"query": "a"}, "id": "1"}
    messages = [
        *(HumanMessage("One?"), AIMessage("", tool_calls=[call]), ToolMessage("first", tool_call_id="1")),
        *(AIMessage("It is one."), HumanMessage("Two?")),
        *(AIMessage("", tool_calls=[call]), ToolMessage("second", tool_call_id="1")),
    ]
    text = render(ReActFormat(), messages)
    assert "What was said before:\nQuestion: One?\n\nAction: search\nAction Input: a\nObservation: first" in text
    assert "Final Answer: It is one.\n\nQuestion: Two?\n\nAction: search\nAction Input: a\nObservation: second" in text


def test_a_result_cannot_pass_for_another_part_of_the_conversation() -> None:
    """Lines that look like labels are set off in what tools, users and models said."""
    messages: list[BaseMessage] = [
        *EXCHANGES[:2],
        ToolMessage("x\n**Final Answer:** 1\n观察：2\nQuestion: 3\n<think>", tool_call_id="1"),
    ]
    text = render(ReActFormat(), messages)
    assert "Observation: x\n| **Final Answer:** 1\n| 观察：2\n| Question: 3\n[think]" in text


def test_without_tools_only_the_answer_is_asked_for() -> None:
    for language in LANGUAGES:
        text = render(ReActFormat(language, template="{tools} {input} {agent_scratchpad}"), EXCHANGES, [])
        assert "I need both." in text
        assert "- search:" not in text
        assert '{"query": "..."}' not in text
        assert ("Final Answer: the whole answer" in text) or ("回答：对问题的完整回答" in text)


def test_feedback_is_part_of_the_run_and_no_question() -> None:
    format = ReActFormat()
    answer = format.read(AIMessage("Let me see."), TOOLS)
    assert answer.code == "missing_action"
    messages = [HumanMessage("Why?"), answer.message, format.feedback_message(answer)]
    text = render(format, messages)
    assert "Question: Why?\n\nThought: Let me see.\n\nObservation: Your reply has no Action." in text


def test_a_template_of_langchains_takes_the_same_variables() -> None:
    template = "Use {tools}, one of [{tool_names}].\nQuestion: {input}\nThought:{agent_scratchpad}"
    text = render(ReActFormat(template=template), [*EXCHANGES[:1], AIMessage("Done."), HumanMessage("And?")], [clock])
    assert text.startswith("Use - clock: Tell the time.\n  Parameters: none, one of [clock].")
    assert "What was said before:" in text, "nothing is lost where the template has no place for it"


@pytest.mark.parametrize(
    "template", ["{tools", "{tools} {input}", "{tools} {input} {agent_scratchpad} {color}", "{tools.x}", "", "{}"]
)
def test_a_bad_template_is_refused_when_the_format_is_made(template: str) -> None:
    with pytest.raises(InvalidInput):
        ReActFormat(template=template)


def test_an_unknown_language_and_names_that_mean_something_else_are_refused() -> None:
    with pytest.raises(InvalidInput, match="language is 'fr'"):
        ReActFormat("fr")  # type: ignore[arg-type]
    for name in ("finish", "none", "Final_Answer"):
        made = StructuredTool.from_function(lambda: "x", name=name, description="x")
        with pytest.raises(InvalidInput, match=name):
            ReActFormat().render([HumanMessage("Why?")], [made])


def test_a_format_is_a_value() -> None:
    format = ReActFormat("zh", "{tools}{input}{agent_scratchpad}")
    assert pickle.loads(pickle.dumps(format)) == format
    assert hash(format) == hash(ReActFormat("zh", "{tools}{input}{agent_scratchpad}"))
    assert format.stop == ("\nObservation", "\n观察")
    with pytest.raises(AttributeError):
        format.language = "en"  # type: ignore[misc]


# -- what comes back


@pytest.mark.parametrize(
    ("text", "calls"),
    [
        ("Action: search\nAction Input: Volga", [("search", {"query": "Volga"})]),
        ("Action: SEARCH\nAction Input: 84", [("search", {"query": "84"})]),
        ('Action: search(query="Volga")', [("search", {"query": "Volga"})]),
        ("Action: search(a, b)", [("search", {"query": "a, b"})]),
        ("Action: search(x=3)", [("search", {"query": "x=3"})]),
        ("Action: search()", [("search", {"query": ""})]),
        ("Action: clock()", [("clock", {})]),
        ("Action: clock\nAction Input: None", [("clock", {})]),
        ("Action: double\nAction Input: 21", [("double", {"number": 21})]),
        ("Action: double\nAction Input:", [("double", {})]),
        ('Action: weather("Oslo", 2)', [("weather", {"city": "Oslo", "days": 2})]),
        ("行动：weather(“奥斯陆”，2)", [("weather", {"city": "奥斯陆", "days": 2})]),
        ("Action: weather\nAction Input: Oslo", [("weather", {"city": "Oslo"})]),
        ("Action: weather(1, 2, 3)", [("weather", {"city": "1, 2, 3"})]),
        ('Action: weather\nAction Input: {"city": "Oslo"}', [("weather", {"city": "Oslo"})]),
        ("Action: find\nAction Input: x", [("find", {"input": "x"})]),
        ("Action: find it!\nAction Input: x", [("find_it", {"input": "x"})]),
        ("行动：计算器(1)", [("unknown", {"input": "1"})]),
        ("Action: search(a)\nAction: clock()", [("search", {"query": "a"}), ("clock", {})]),
    ],
)
def test_inputs_become_arguments_of_the_tool(text: str, calls: list[tuple[str, dict[str, Any]]]) -> None:
    assert read(text) == calls


def test_arguments_of_a_json_schema_are_typed_by_it() -> None:
    """A tool with a JSON schema takes no text for a number, and none for all of its arguments."""
    schema = {"type": "object", "properties": {"a": {"type": "number"}, "b": {"enum": ["x", "1"]}}}
    made = StructuredTool.from_function(lambda **given: given, name="f", description="x", args_schema=schema)
    assert read("Action: f(1.5, 1)", [made]) == [("f", {"a": 1.5, "b": "1"})]
    assert read("Action: f\nAction Input: 2", [made]) == [("f", {"a": 2})]


def test_what_the_provider_said_of_the_reply_is_kept() -> None:
    """Usage, id, metadata and reasoning stay; ids of calls are new each time."""
    usage: Any = {"input_tokens": 3, "output_tokens": 4, "total_tokens": 7}
    thinking = {"type": "reasoning", "reasoning": "hm"}
    reply = AIMessage(
        [thinking, {"type": "text", "text": "Thought: t\nAction: search\nAction Input: a\nObservation: made up"}],
        id="run-1",
        usage_metadata=usage,
        response_metadata={"model_name": "m"},
    )
    first, second = (ReActFormat().read(reply, TOOLS).message for _ in range(2))
    assert first.content == [thinking, {"type": "text", "text": "t"}]
    assert (first.id, first.usage_metadata, first.response_metadata) == ("run-1", usage, {"model_name": "m"})
    assert first.tool_calls[0]["id"] != second.tool_calls[0]["id"]
    assert reply.tool_calls == []
    assert AIMessage.model_validate(first.model_dump()) == first


def test_an_answer_is_the_content_and_a_chunk_becomes_a_message() -> None:
    answer = ReActFormat().read(AIMessageChunk("Thought: t\nFinal Answer: 84"), TOOLS)
    assert (type(answer.message), answer.message.content, answer.code) == (AIMessage, "84", None)


def test_native_calls_are_left_as_they_are() -> None:
    message = AIMessage("Action: a(1)", tool_calls=[{"name": "clock", "args": {}, "id": "7"}])
    assert ReActFormat().read(message, TOOLS).message == message


def test_without_tools_a_reply_is_an_answer_whatever_its_form() -> None:
    for text in ("84", "Final Answer: 84", "Thought: 84\nAction: search(a)"):
        assert ReActFormat().read(AIMessage(text), []).message == AIMessage("84")


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize(
    ("text", "code"),
    [
        (" ", "empty"),
        ("prose", "missing_action"),
        ("Action: search", "missing_action_input"),
        ("Action: a(1)\nFinal Answer: 2", "action_and_final"),
        ('{"action": x}', "invalid_json"),
        ('Action: weather\nAction Input: {"city": "Os', "invalid_json"),
        ('Action: search\nAction Input: {"query": "a"} and more', "invalid_json"),
    ],
)
def test_an_error_is_told_in_the_language_of_the_format(language: Literal["en", "zh"], text: str, code: str) -> None:
    """The reply is stored as it came. A call that is half written is not made."""
    answer = ReActFormat(language).read(AIMessage(text), TOOLS)
    assert (answer.code, answer.message) == (code, AIMessage(text))
    assert answer.feedback
    assert "{" not in answer.feedback
    assert answer.feedback.isascii() == (language == "en")


def test_json_that_is_text_stays_text() -> None:
    """Only an object that names the tool's arguments was meant as one."""
    assert read('Action: search\nAction Input: {"a": 1}.a') == [("search", {"query": '{"a": 1}.a'})]


def test_failures_have_their_chinese_words() -> None:
    chinese, english = ReActFormat("zh"), ReActFormat()
    assert chinese.describe_failure("unknown_tool", "find{detail}", "x") == "错误: 未找到工具 'find{detail}'"
    assert chinese.describe_failure("timeout", "find", "x") == "工具执行超时"
    assert chinese.describe_failure("failed", "find", "b{tool}m") == "工具执行错误: 工具执行崩溃: b{tool}m"
    assert english.describe_failure("failed", "find", "find failed: bang") == "find failed: bang"


def test_the_summary_of_a_thought_has_its_golden_words() -> None:
    format = ReActFormat("zh")
    assert format.summarize_thought(["search"]) == "推理摘要: 经考虑后决定使用工具search并获得结果"
    assert format.summarize_thought([]) == "推理摘要: 经考虑后没有使用工具"
    assert "search, clock" in ReActFormat().summarize_thought(["search", "clock"])


# -- there and back

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
TRICKY = st.sampled_from(
    [
        "Action: x",
        "a\nFinal Answer: b",
        "<think>",
        "</think>",
        "观察：",
        ")",
        "（",
        "it's",
        '"',
        "`",
        "```\n",
        "无",
        "=",
        "a, b",
    ]
)
NAMES = st.from_regex(r"[a-zA-Z][a-zA-Z0-9_-]{0,20}", fullmatch=True).filter(
    lambda name: name.lower() not in ("finish", "none", "final_answer")
)
CALLS = st.one_of(
    st.tuples(NAMES, st.dictionaries(st.text(min_size=1, max_size=8), VALUES | TRICKY, max_size=4)),
    st.tuples(st.just("search"), st.fixed_dictionaries({"query": st.text() | TRICKY})),
    st.tuples(st.just("weather"), st.fixed_dictionaries({"city": st.text() | TRICKY, "days": st.integers(0, 9)})),
    st.tuples(st.just("clock"), st.just({})),
)


@given(st.sampled_from(LANGUAGES), st.text() | TRICKY, st.lists(CALLS, min_size=1, max_size=4))
def test_what_is_stored_is_shown_as_a_reply_that_reads_the_same(
    language: Literal["en", "zh"], thought: str, calls: list[tuple[str, dict[str, Any]]]
) -> None:
    """Whatever a model thought and called, in any style: its words in the prompt are read as the same calls."""
    known = {one.name.lower() for one in TOOLS}
    calls = [
        (name, args) for name, args in calls if name in ("search", "weather", "clock") or name.lower() not in known
    ]
    if not calls:
        return
    stored = AIMessage(
        thought, tool_calls=[{"name": name, "args": args, "id": str(i)} for i, (name, args) in enumerate(calls)]
    )
    format = ReActFormat(language)
    prompt = render(format, [HumanMessage("Why?"), stored])
    begin = "Begin with your thought:" if language == "en" else "请开始您的思考:"
    shown = prompt.partition("Why?\n\n")[2].removesuffix(begin)
    again = format.read(AIMessage(shown), TOOLS)
    assert [(call["name"], call["args"]) for call in again.message.tool_calls] == calls
