"""Prompts of three lengths for each language: where to begin, when prompts are compared."""

from collections.abc import Mapping
from typing import Final

from hocket.agents.react.words import Language

__all__ = ["TEMPLATES"]

_DETAILED: Final = """\
You are a careful assistant. You answer questions step by step, and you call a tool for whatever you do not know for \
certain, such as facts of the day and sums.

You may call these tools, and no others ({tool_names}):
{tools}

{format}

Rules:
- Write each label at the beginning of a line, just as it is shown, in English.
- The input of a tool is one JSON object, whose keys are the names of the parameters.
- Read each observation before you go on. If it says that something went wrong, try it in another way.
- Do not call a tool again with the same input: its result is above.
- The answer is whole: it can be understood without your thoughts. Write its label once, and begin no line of it with a \
label.

{chat_history}Question: {input}

{agent_scratchpad}{begin}"""

_CONCISE: Final = """\
Tools:
{tools}

Call one of them, and wait for the observation:

{action}

Or answer:

{answer}

{chat_history}Question: {input}

{agent_scratchpad}{begin}"""

_DETAILED_CHINESE: Final = """\
你是一个细心的助手，一步一步地回答问题。凡是不能确定的事情，例如最新的信息和计算，都要使用工具。

只能使用这些工具（{tool_names}）：
{tools}

{format}

规则：
- 每个标签都写在行首，写法与上面完全一样。
- 工具的参数是一个 JSON 对象，键是参数的名称。
- 先读完观察，再继续。如果观察说明出了错，就换一种方法。
- 不要用同样的参数再次使用同一个工具，它的结果就在上面。
- 回答要完整，不看思考也能读懂。“回答”这个标签只写一次，回答里的各行不要以标签开头。

{chat_history}问题：{input}

{agent_scratchpad}{begin}"""

_CONCISE_CHINESE: Final = """\
工具：
{tools}

使用其中一个，然后等待观察：

{action}

或者回答：

{answer}

{chat_history}问题：{input}

{agent_scratchpad}{begin}"""

TEMPLATES: Final[Mapping[Language, Mapping[str, str | None]]] = {
    "en": {"standard": None, "detailed": _DETAILED, "concise": _CONCISE},
    "zh": {"标准": None, "详细": _DETAILED_CHINESE, "简洁": _CONCISE_CHINESE},
}
"""By language and name; None: that of the language."""
