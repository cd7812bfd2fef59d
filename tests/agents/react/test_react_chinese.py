"""An agent in Chinese from end to end: what is stored is the same as in English, what the model reads is Chinese."""

from collections.abc import Sequence
from typing import Any

import anyio
import pytest

from hocket import ScriptedChatModel
from hocket.agents import Agent, AgentLimits, ReActFormat, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.messages import AIMessage, HumanMessage, ToolMessage
from hocket.tools import tool


@tool
def search(query: str) -> str:
    """在网络上搜索最新信息"""
    return "中国与纽约的时差是12小时"


@tool
def crash(reason: str) -> str:
    """总是崩溃"""
    raise ValueError(reason)


@tool
async def hang(seconds: str) -> str:
    """等很久"""
    await anyio.sleep(3600)
    return seconds


def make(
    *script: str, limits: AgentLimits | None = None, interrupt_on: Sequence[str] = ()
) -> tuple[Agent[str], ScriptedChatModel]:
    model = ScriptedChatModel(script=script)
    tools = [search, crash, hang]
    return create_agent(model, tools, style=ReActFormat("zh"), limits=limits, interrupt_on=interrupt_on), model


def observations(model: ScriptedChatModel) -> list[str]:
    """The observations in the last prompt."""
    prompt = model.requests[-1].messages[-1].text
    return [line.removeprefix("观察：") for line in prompt.splitlines() if line.startswith("观察：")]


async def test_the_prompt_with_two_exchanges_is_the_golden_one() -> None:
    """Role, tools, format, question, each exchange, and the invitation (the third call of a run)."""
    agent, model = make(
        "思考：需要查询时差\n行动：search(中国 纽约 时差)",
        '思考：再确认一次\n行动: search({"query": "纽约 夏令时"})\n观察：编造的结果',
        "思考：我知道了\n回答：凌晨3点",
    )
    result = await agent.ainvoke("中国下午3点是纽约几点?")
    assert result.output == "凌晨3点"
    prompt = model.requests[-1].messages[-1].text
    assert prompt.startswith(
        "你是一个借助工具一步一步回答问题的助手。\n\n可用的工具：\n- search: 在网络上搜索最新信息\n  参数: query (string)\n"
    )
    assert prompt.endswith(
        "问题：中国下午3点是纽约几点?\n\n"
        "思考：需要查询时差\n行动：search(中国 纽约 时差)\n观察：中国与纽约的时差是12小时\n\n"
        "思考：再确认一次\n行动：search(纽约 夏令时)\n观察：中国与纽约的时差是12小时\n\n"
        "请开始您的思考:"
    )
    assert "编造" not in prompt
    first = model.requests[0].messages[-1].text
    assert first.endswith("问题：中国下午3点是纽约几点?\n\n请开始您的思考:")


@pytest.mark.parametrize(
    ("action", "told", "stored"),
    [
        ("fetch(x)", "错误: 未找到工具 'fetch'", "There is no tool named 'fetch'."),
        ("hang(1)", "工具执行超时", "hang failed: "),
        ("crash(没纸了)", "工具执行错误: 工具执行崩溃: ValueError: 没纸了", "crash failed: ValueError: 没纸了"),
        ('crash({"reason": 5})', "工具参数错误: ", "reason: "),
    ],
)
async def test_a_failure_is_told_in_chinese_and_stored_as_in_every_style(action: str, told: str, stored: str) -> None:
    """A tool that does not exist, one that takes too long, one that raises, arguments that do not fit."""
    limits = AgentLimits(per_tool_seconds={"hang": 0.01})
    agent, model = make(f"思考：试试\n行动：{action}", "回答：不行", limits=limits)
    result = await agent.ainvoke("试试看")
    [observation] = observations(model)
    assert observation.startswith(told)
    [step] = result.steps
    assert stored in step.observation


async def test_what_an_agent_adds_to_a_failure_is_told_too() -> None:
    """The same call with the same failure for the third time."""
    agent, model = make(*["行动：fetch(x)"] * 3, "回答：不行")
    await agent.ainvoke("试试看")
    assert observations(model) == ["错误: 未找到工具 'fetch'"] * 3
    assert "观察：错误: 未找到工具 'fetch'\n[同样的调用已经进行了 3 次" in model.requests[-1].messages[-1].text


async def test_limits_and_decisions_are_told_in_chinese() -> None:
    """A call beyond the limit, and one that nobody decided."""
    agent, model = make("行动：search(a)", "行动：search(b)", "回答：不行", limits=AgentLimits(tool_calls=1))
    assert (await agent.ainvoke("试试看")).stop == "tool_calls"
    assert observations(model)[-1].startswith("工具没有执行: 工具调用次数已经用完")
    history = InMemoryChatMessageHistory()
    agent, model = make("行动：search(a)", "回答：好", interrupt_on=["search"])
    assert (await agent.ainvoke("试试看", history=history)).stop == "paused"
    assert (await agent.ainvoke("算了", history=history)).output == "好"
    assert observations(model)[-1].startswith("此调用等待批准时, 有人提出了别的问题")


def test_the_english_style_tells_failures_in_hockets_words() -> None:
    """As a model with native calls is told them."""
    call: Any = {"name": "crash", "args": {"reason": "x"}, "id": "1"}
    failed = ToolMessage(
        "crash failed: x", tool_call_id="1", name="crash", status="error", response_metadata={"tool_error": "failed"}
    )
    [prompt] = ReActFormat().render([HumanMessage("Why?"), AIMessage("", tool_calls=[call]), failed], [crash])
    assert "\nObservation: crash failed: x\n" in prompt.text


async def test_a_long_run_is_made_shorter_in_chinese() -> None:
    """The line that takes the place of a long thought is that of the language."""
    thought = "我需要仔细想一想这个问题。" * 60
    model = ScriptedChatModel(
        script=[*(f"思考：{thought}\n行动：search({number})" for number in range(4)), "回答：好"],
        profile={"max_input_tokens": 900},
    )
    agent = create_agent(model, [search], style=ReActFormat("zh"))
    assert (await agent.ainvoke("中国下午3点是纽约几点?")).output == "好"
    assert (
        "思考：推理摘要: 经考虑后决定使用工具search并获得结果\n行动：search(0)" in model.requests[-1].messages[-1].text
    )
