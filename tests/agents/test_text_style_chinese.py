"""A run in Chinese: what the model is told is Chinese, whatever has happened; what is stored is not."""

import re
from typing import Any

import pytest
from pydantic import BaseModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import AgentLimits, ReActFormat, Resume, create_agent
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.errors import ToolException
from hocket.tools import tool

ENGLISH = re.compile(r"[A-Za-z]{2,} [a-z]{2,}")
CHINESE = ReActFormat("zh")


@tool
def repeat(n: int) -> str:
    """重复."""
    return "长" * n


@tool
def fail(n: int) -> str:
    """失败."""
    raise ToolException("坏了")


class Answer(BaseModel):
    """回答."""

    hour: int
    city: str


def use(name: str, input: str) -> str:
    return f"思考：好\n行动：{name}({input})"


def find_english(model: ScriptedChatModel) -> list[str]:
    """Return the English phrases that the model was shown."""
    return ENGLISH.findall("\n".join(message.text for message in model.requests[-1].messages))


def get_last_line(model: ScriptedChatModel) -> str:
    """Return what it was told last."""
    return model.requests[-1].messages[-1].text.removesuffix("请开始您的思考:").rstrip().splitlines()[-1]


@pytest.mark.parametrize(
    ("script", "last"),
    [
        ([use("repeat", '{"n": 300}')], "[结果过长: 后面还有 100 个字符没有显示。请缩小范围, 或者查询下一部分。]"),
        ([use("repeat", '{"m": 2}')], "请用正确的参数重新使用工具 repeat。"),
        ([use("repeet", '{"n": 2}')], "观察：错误: 未找到工具 'repeet'"),
        ([use("fail", '{"n": 2}')], "观察：工具执行错误: 工具执行崩溃: 坏了"),
        ([""], "观察：你的回复是空的。请写出思考，然后写行动，或者写回答。"),
        (
            [use("repeat", '{"n": 2}')] * 3,
            "[同样的调用已经进行了 3 次, 结果都一样。请换一种做法, 或者根据已知的信息回答。]",
        ),
        (
            [use("repeat", '{"n": 300}')] * 3,
            "[同样的调用已经进行了 3 次, 结果都一样。请换一种做法, 或者根据已知的信息回答。]",
        ),
    ],
)
async def test_what_the_model_is_told(script: list[Turn | str], last: str):
    """Of long results, wrong calls, failures, empty replies and repetitions."""
    model = ScriptedChatModel(script=[*script, "回答：好"])
    agent = create_agent(model, [repeat, fail], style=CHINESE, limits=AgentLimits(result_chars=200))
    result = await agent.ainvoke("问")
    assert (result.output, get_last_line(model), find_english(model)) == ("好", last, [])


async def test_a_long_reply_that_cannot_be_read():
    """How much of it is left out is said in Chinese."""
    model = ScriptedChatModel(script=["长" * 300, "回答：好"])
    result = await create_agent(model, [repeat], style=CHINESE, limits=AgentLimits(unreadable_chars=200)).ainvoke("问")
    last = "[你的回复过长: 后面还有 100 个字符没有显示。]"
    assert (result.output, get_last_line(model), find_english(model)) == ("好", last, [])


@pytest.mark.parametrize(
    ("reply", "last"),
    [
        ("回答：三点", "观察：你的回答不是 JSON。 请使用工具 Answer 给出回答。"),
        ('回答：{"hour": 3}', "观察：不符合 Answer 的格式: city: 必须提供. 请使用工具 Answer 给出回答。"),
        (
            use("Answer", '{"hour": 3}'),
            "观察：工具参数错误: 不符合 Answer 的格式: city: 必须提供. 请重新使用工具 Answer。",
        ),
    ],
)
async def test_an_answer_that_does_not_fit(reply: str, last: str):
    """Whether it was a text or a call."""
    model = ScriptedChatModel(script=[reply, use("Answer", '{"hour": 3, "city": "北京"}')])
    result = await create_agent(model, [repeat], style=CHINESE, response_format=Answer).ainvoke("问")
    assert (result.output, get_last_line(model), find_english(model)) == (Answer(hour=3, city="北京"), last, [])


REJECTED = "有人拒绝了此调用, 不会执行。如果之前批准过, 随后程序崩溃, 则结果不明。"


@pytest.mark.parametrize(
    ("decision", "last"),
    [
        (
            {"type": "edit", "args": {"n": 2}, "message": "太长\n了"},
            "[有人修改了此调用, 参数改为 {'n': 2}. 太长 了]",
        ),
        ("reject", f"观察：此调用没有得到批准: {REJECTED}"),
        ({"type": "reject", "message": "不行"}, f"观察：此调用没有得到批准: {REJECTED}理由: 不行"),
    ],
)
async def test_a_decision(decision: Any, last: str):
    """The history keeps it in English, for a model that is asked natively."""
    history = InMemoryChatMessageHistory()
    model = ScriptedChatModel(script=[use("repeat", '{"n": 300}'), "回答：好"])
    agent = create_agent(model, [repeat], style=CHINESE, interrupt_on=["repeat"])
    [waiting] = (await agent.ainvoke("问", history=history)).pending
    await agent.ainvoke(Resume({waiting["id"] or "": decision}), history=history)
    assert (get_last_line(model), find_english(model)) == (last, [])
    assert "A person" in history.messages[2].text


async def test_a_question_instead_of_a_decision():
    """Nobody knows whether the open call was run."""
    history = InMemoryChatMessageHistory()
    model = ScriptedChatModel(script=[use("repeat", '{"n": 300}'), "回答：好"])
    agent = create_agent(model, [repeat], style=CHINESE, interrupt_on=["repeat"])
    await agent.ainvoke("问", history=history)
    await agent.ainvoke("又问", history=history)
    assert "没有记录到批准, 所以没有执行。" in model.requests[-1].messages[-1].text
    assert find_english(model) == []


async def test_the_text_of_a_result_is_the_tools():
    """Only what stands behind it is hocket's; a line that only looks so is not changed before the end."""

    @tool
    def quote() -> str:
        """引用."""
        return "[The result was too long: 3 more characters are left out. Ask for less, or for the next part.]\n完"

    model = ScriptedChatModel(script=[use("quote", "{}"), "回答：好"])
    await create_agent(model, [quote], style=CHINESE).ainvoke("问")
    assert "3 more characters" in model.requests[-1].messages[-1].text


async def test_a_name_that_no_tool_has_is_told_back_as_the_model_wrote_it() -> None:
    """In both languages. The stored message has a name that every provider takes."""
    for language, told in (("zh", "未找到工具 '搜索'"), ("en", "There is no tool named '搜索'.")):
        model = ScriptedChatModel(script=['行动：搜索({"q": "时差"})', "回答：好。"])
        history = InMemoryChatMessageHistory()
        style = ReActFormat(language=language)  # type: ignore[arg-type]  # one of the two
        await create_agent(model, [repeat], style=style).ainvoke("问题", history=history)
        assert "搜索" in model.requests[1].messages[-1].text
        assert told in model.requests[1].messages[-1].text
        assert history.messages[1].tool_calls[0]["name"] == "unknown"


@pytest.mark.parametrize(
    "action", ["行动：[repeat]([3])", "行动：【repeat】(3)", "Action: [repeat]([3])", "行动：[repeat](【3】)"]
)
async def test_a_call_with_its_parts_in_brackets_is_read(action: str) -> None:
    """As models copy it from a form with brackets for what is to be filled in."""
    model = ScriptedChatModel(script=[action, "回答：好。"])
    result = await create_agent(model, [repeat], style=ReActFormat(language="zh")).ainvoke("问题")
    assert result.steps[0].action.tool == "repeat"
    assert result.steps[0].action.tool_input == {"n": 3}
