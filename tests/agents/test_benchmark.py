"""Prompts are compared: the same questions with each, and how that went in numbers."""

from collections.abc import Callable, Sequence
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import ScriptedChatModel
from hocket.agents import PromptBenchmark, ReActFormat, abenchmark_prompts, benchmark_prompts
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage
from hocket.runnables import RunnableLambda
from hocket.tools import tool
from tests.kit import Recorder

_USAGE: Any = {"input_tokens": 8, "output_tokens": 2, "total_tokens": 10}
CASES: list[tuple[str, str | Callable[[str], bool]]] = [
    ("What is 2 + 2?", "4"),
    ("What is the sea called?", lambda answer: answer == "Baltic"),
]


@tool
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


async def answer(messages: Sequence[BaseMessage]) -> AIMessage:
    """Use the tool where the prompt is detailed, get lost where it is concise, and know no seas."""
    prompt = messages[-1].text
    await anyio.lowlevel.checkpoint()
    if "sea" in prompt:
        return AIMessage("Final Answer: baltic, I think", usage_metadata=_USAGE)
    if "DETAILED" in prompt and "Observation: 4" not in prompt:
        return AIMessage('Action: add\nAction Input: {"a": 2, "b": 2}', usage_metadata=_USAGE)
    if "CONCISE" in prompt and "Your reply has no Action" not in prompt:
        return AIMessage("4, of course", usage_metadata=_USAGE)
    return AIMessage("Thought: easy\nFinal Answer: It is 4.", usage_metadata=_USAGE)


_VARIABLES = "{tools}{input}\n{agent_scratchpad}"
TEMPLATES: dict[str, ReActFormat | str] = {
    "standard": ReActFormat(),
    "detailed": f"DETAILED {_VARIABLES}",
    "concise": f"CONCISE {_VARIABLES}",
}


async def test_each_prompt_has_its_success_parse_errors_turns_and_tokens() -> None:
    """Of all questions together, and of each one; a check is a text that the answer holds, or a function."""
    report = await abenchmark_prompts(RunnableLambda(answer), CASES, TEMPLATES, [add])
    counted = {
        name: (one.success_rate, one.parse_errors, one.turns, [case.is_success for case in one.outcomes])
        for name, one in report.items()
    }
    assert counted == {
        "standard": (0.5, 0, 2, [True, False]),
        "detailed": (0.5, 0, 3, [True, False]),
        "concise": (0.5, 1, 3, [True, False]),
    }
    assert [case.output for case in report["detailed"].outcomes] == ["It is 4.", "baltic, I think"]
    assert report["detailed"].format.template == TEMPLATES["detailed"]


async def test_tokens_are_those_that_a_chat_model_reports() -> None:
    """Handlers of the config hear of each run."""
    recorder = Recorder()
    replies = [AIMessage("4, of course", usage_metadata=_USAGE), AIMessage("Final Answer: 4", usage_metadata=_USAGE)]
    report = await abenchmark_prompts(
        ScriptedChatModel(script=replies),
        CASES[:1],
        {"standard": ReActFormat()},
        [add],
        config={"callbacks": [recorder]},
    )
    assert (report["standard"].tokens, report["standard"].turns, report["standard"].parse_errors) == (20, 2, 1)
    assert "on_chain_end" in recorder.names


async def test_a_report_is_printed_as_a_table() -> None:
    """Names stand at the left, numbers at the right; Chinese ones are as wide as a terminal shows them."""
    report = await abenchmark_prompts(RunnableLambda(answer), CASES, TEMPLATES, [add])
    assert str(report).splitlines() == [
        "prompt    success  parse errors  turns  tokens  failed runs",
        "standard      50%             0      2      20            0",
        "detailed      50%             0      3      30            0",
        "concise       50%             1      3      30            0",
    ]
    chinese = await abenchmark_prompts(RunnableLambda(answer), CASES[1:], tools=[add], language="zh")
    assert [line.split()[0] for line in str(chinese).splitlines()] == ["prompt", "标准", "详细", "简洁"]
    assert str(chinese).splitlines()[1].startswith("标准         0%  ")


@pytest.mark.parametrize(("language", "thought"), [("en", "Thought: "), ("zh", "思考：")])
async def test_the_three_ready_prompts_are_whole(language: Any, thought: str) -> None:
    """Each names the tools, has examples that the parser reads, the question once, and what was done since."""
    prompts: list[str] = []

    def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        prompts.append(messages[-1].text)
        has_result = "3" in prompts[-1].rpartition("Who knows?")[2]
        return AIMessage("回答：3" if has_result else "Action: add(a=1, b=2)")

    report = await abenchmark_prompts(
        RunnableLambda(reply), [("Who knows?", "3")], tools=[add], language=language, max_concurrency=1
    )
    assert [(one.success_rate, one.turns) for one in report.values()] == [(1, 2)] * 3
    assert len(set(prompts)) == 6
    for prompt in prompts:
        assert prompt.count("Who knows?") == 1 and "- add: Add two numbers." in prompt
        format = ReActFormat(language)
        examples = [format.parse(part) for part in prompt.split("\n\n")[:-2] if part.startswith(thought)]
        assert [(one.kind, [call["tool"] for call in one.calls]) for one in examples] == [
            ("action", ["add"]),
            ("finish", []),
        ]


async def test_a_case_that_fails_does_not_end_the_others() -> None:
    """Whether the model fails, the check does, or a limit is reached."""

    def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        if "fail" in messages[-1].text:
            raise ConnectionError("gone")
        return AIMessage("Action: add(1, 2)" if "limit" in messages[-1].text else "Final Answer: 4")

    async def check(output: str) -> bool:
        raise ValueError(output)

    cases: Any = [("fail", "4"), ("limit", "4"), ("check", check), ("well", "4")]
    report = await abenchmark_prompts(RunnableLambda(reply), cases, {"one": ReActFormat()}, [add])
    [metrics] = report.values()
    assert [one.is_success for one in metrics.outcomes] == [False, False, False, True]
    assert [type(one.error) for one in metrics.outcomes] == [ConnectionError, type(None), ValueError, type(None)]
    assert [one.stop for one in metrics.outcomes] == [None, "loop", "done", "done"]
    assert [one.turns for one in metrics.outcomes] == [1, 5, 1, 1]
    assert str(report).splitlines()[1].split()[-1] == "2"


async def test_runs_go_on_at_once_up_to_the_limit() -> None:
    """No more than ``max_concurrency``, and as many."""
    running = most = 0

    async def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        nonlocal running, most
        running += 1
        most = max(most, running)
        for _ in range(5):
            await anyio.lowlevel.checkpoint()
        running -= 1
        return AIMessage("Final Answer: 4")

    await abenchmark_prompts(RunnableLambda(reply), CASES * 5, tools=[add], max_concurrency=3)
    assert most == 3


async def test_cancelling_ends_all_runs() -> None:
    """A cancellation is no failure of a case."""

    async def reply(messages: Sequence[BaseMessage]) -> AIMessage:
        await anyio.sleep_forever()
        return AIMessage("")

    with anyio.move_on_after(0.05) as scope:
        await abenchmark_prompts(RunnableLambda(reply), CASES, tools=[add])
    assert scope.cancelled_caught


def test_the_sync_face_does_the_same() -> None:
    """It runs on hocket's own event loop."""
    report = benchmark_prompts(RunnableLambda(answer), CASES[:1], TEMPLATES, [add])
    assert isinstance(report, PromptBenchmark)
    assert [one.success_rate for one in report.values()] == [1, 1, 1]


@pytest.mark.parametrize(
    "arguments",
    [
        {"cases": []},
        {"cases": "What?"},
        {"cases": ["What?"]},
        {"cases": [("What?", "")]},
        {"cases": [("", "4")]},
        {"cases": [("What?", 4)]},
        {"cases": [("What?", "4", "5")]},
        {"templates": {}},
        {"templates": ["{tools}"]},
        {"templates": {"a": 5}},
        {"templates": {"a": "{input}"}},
        {"language": "fr"},
        {"max_concurrency": 0},
        {"tools": [add, add]},
        {"tools": []},
        {"limits": 5},
    ],
)
async def test_bad_arguments_are_refused_before_the_model_is_asked(arguments: dict[str, Any]) -> None:
    """A text that every answer holds is no check."""
    model = ScriptedChatModel(script=["Final Answer: 4"])
    with pytest.raises(InvalidInput):
        given: dict[str, Any] = {"cases": CASES, "tools": [add], **arguments}
        await abenchmark_prompts(model, **given)
    assert not model.requests
