"""What hocket tells a model in English, in other languages.

Results and failures are stored in English, whatever the style, so that a conversation may go on in another one. They are
translated where they are shown. What pydantic says of a value stays as it is.
"""

import re
from collections.abc import Mapping
from typing import Final

__all__ = ["CHINESE_SENTENCES", "translate_sentences"]

_NAME = r"(\S{1,100})"

CHINESE_SENTENCES: Final[Mapping[str, str]] = {
    # notes behind a result
    r"\[The result was too long: (\d+) more characters are left out\. Ask for less, or for the next part\.\]": (
        r"[结果过长: 后面还有 \1 个字符没有显示。请缩小范围, 或者查询下一部分。]"
    ),
    r"\[Your reply was too long: (\d+) more characters are left out\.\]": r"[你的回复过长: 后面还有 \1 个字符没有显示。]",
    r"\[You have made the same call (\d+) times, with the same result\. ": r"[同样的调用已经进行了 \1 次, 结果都一样。",
    r"Do something else, or answer with what you know\.\]": "请换一种做法, 或者根据已知的信息回答。]",
    r"\[A person changed this call before it was run, to ": "[有人在执行之前修改了此调用, 参数改为 ",
    # arguments that do not fit
    r"Tool input validation error:\n": "",
    rf"Call {_NAME} again with arguments that fit\.": r"请用正确的参数重新使用工具 \1。",
    rf"The arguments of {_NAME} could not be read: ": r"\1 的参数无法读取: ",
    r"\. Call it again with valid JSON\.": "。请用正确的 JSON 重新使用此工具。",
    r"(?m): is required$": ": 必须提供",
    r": there is no such argument; ": ": 没有这个参数; ",
    r"\bdid you mean ": "是不是 ",
    r"\bknown are: ": "可用的有: ",
    r"; given was ": "; 给出的是 ",
    # the tool that takes the answer, and an answer that does not fit
    r"^The final answer\. Call this when you know it, and call it alone\.": "最终回答。知道答案以后单独使用。",
    r"Your answer is not JSON\.": "你的回答不是 JSON。",
    r"\bField required\b": "必须提供",
    rf"This does not fit the schema of {_NAME}: ": r"不符合 \1 的格式: ",
    rf"Give your final answer by calling {_NAME}\.": r"请使用工具 \1 给出回答。",
    rf"Call {_NAME} again\.": r"请重新使用工具 \1。",
    # calls that were not run, or brought nothing
    r"A person rejected this call\. It was not run\. The reason: ": "有人拒绝了此调用, 理由: ",
    r"A person rejected this call\. It was not run\.": "有人拒绝了此调用。",
    r"This call was not run: the answer was given along with it\.": "回答已经同时给出。",
    r"it ended without an answer \((\w+)\)": r"没有得出回答 (\1)",
}
"""Chinese, by patterns of the English."""


def translate_sentences(text: str, sentences: Mapping[str, str]) -> str:
    """Return a text with the sentences that are known in another language."""
    for english, other in sentences.items():
        text = re.sub(english, other, text)
    return text
