"""What `ReActFormat` says, in each of its languages: labels, instructions, and what the model is told when it went wrong."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from hocket.agents.react.forms import Code
from hocket.agents.react.sentences import CHINESE_SENTENCES

__all__ = ["LANGUAGES", "Failure", "Language", "Words"]

Language = Literal["en", "zh"]
"""The languages that the format is spoken in: English and Chinese."""

Failure = Literal[
    "unknown_tool",
    "invalid_arguments",
    "retry",
    "timeout",
    "cancelled",
    "stopped",
    "failed",
    "limit",
    "rejected",
    "undecided",
    "unknown_outcome",
]
"""How a call of a tool failed, or why it was not made: the words of `arun_tool_calls`, and those of agents, in
``response_metadata["tool_error"]``."""


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one language.

    Attributes:
        question, thought, action, action_input, observation, final: labels, with their colons. Without a label for the
            input of an action, a call is written as ``name(input)``.
        stop: what a model that stops at words has to stop at.
        template: of the prompt.
        last_template: of the prompt when no tools may be called any more.
        format: of a reply; ``{action}`` and ``{answer}`` are examples.
        example_thought, example_final_thought, example_answer: what the examples say.
        earlier: stands above what was said before the question.
        begin: the invitation to think.
        parameters, no_parameters, optional, separator: of the list of tools.
        feedback: by the code of an error.
        failures: what a model is told of calls that failed; those that are not there are told in hocket's words.
        sentences: what hocket says in English, as patterns, in this language.
        summary, plain_summary: stand for a long thought before a call, and for one before none.
    """

    question: str
    thought: str
    action: str
    action_input: str | None
    observation: str
    final: str
    stop: tuple[str, ...]
    template: str
    last_template: str
    format: str
    example_thought: str
    example_final_thought: str
    example_answer: str
    earlier: str
    begin: str
    parameters: str
    no_parameters: str
    optional: str
    separator: str
    feedback: Mapping[Code, str]
    failures: Mapping[str, str]
    sentences: Mapping[str, str]
    summary: str
    plain_summary: str


_STOP: Final = ("\nObservation", "\n观察")

_ENGLISH: Final = Words(
    question="Question: ",
    thought="Thought: ",
    action="Action: ",
    action_input="Action Input: ",
    observation="Observation: ",
    final="Final Answer: ",
    stop=_STOP,
    template="""\
You are an assistant that answers questions step by step, with the help of tools.

The tools are:
{tools}

{format}

{chat_history}Question: {input}

{agent_scratchpad}{begin}""",
    last_template="""\
You are an assistant that answers questions step by step.

No tool can be called any more. Answer from what is known, in this format:

{format}

{chat_history}Question: {input}

{agent_scratchpad}{begin}""",
    format="""\
A reply says what you think, and then either calls a tool or gives the answer. To call a tool, write the name of one of \
the tools and its input, a JSON object of its parameters:

{action}

The result is then given to you as an observation. Stop behind the input, and never write an observation yourself. You \
may call tools as often as you need to. When you know the answer, write:

{answer}""",
    example_thought="I have to find this out.",
    example_final_thought="I know the answer now.",
    example_answer="the whole answer to the question",
    earlier="What was said before:",
    begin="Begin with your thought:",
    parameters="Parameters: ",
    no_parameters="none",
    optional="optional",
    separator="; ",
    feedback={
        "empty": "Your reply was empty. Write a Thought, and then an Action with its Action Input, or a Final Answer.",
        "missing_action": (
            "Your reply has no Action. Write an Action: line with the name of a tool and an Action Input: line with its "
            "input, or a Final Answer: line with the answer."
        ),
        "missing_action_input": (
            "Your Action has no input. Write an Action Input: line behind the Action: line; if the tool needs nothing, "
            "leave it empty."
        ),
        "action_and_final": (
            "Your reply has an Action and a Final Answer. Write only one of them: the Action, if you still need the tool, "
            "or the Final Answer."
        ),
        "invalid_json": "The JSON in your reply could not be read: {detail}. Write it again, complete and valid.",
    },
    failures={},
    sentences={},
    summary="Summary of the thought: after consideration used the tool {name} and got a result",
    plain_summary="Summary of the thought: after consideration used no tool",
)

_CHINESE: Final = Words(
    question="问题：",
    thought="思考：",
    action="行动：",
    action_input=None,
    observation="观察：",
    final="回答：",
    stop=_STOP,
    template="""\
你是一个借助工具一步一步回答问题的助手。

可用的工具：
{tools}

{format}

{chat_history}问题：{input}

{agent_scratchpad}{begin}""",
    last_template="""\
你是一个一步一步回答问题的助手。

现在不能再使用工具。请根据已知的信息，按以下格式给出回答：

{format}

{chat_history}问题：{input}

{agent_scratchpad}{begin}""",
    format="""\
每次先写出思考，然后使用一个工具或者给出回答。使用工具时，写出工具的名称，并在括号里写出参数，参数是一个 JSON 对象：

{action}

之后会给出工具的结果，作为观察。写完行动就停下，不要自己写观察。需要时可以多次使用工具。知道答案以后，写：

{answer}""",
    example_thought="我需要先查一下。",
    example_final_thought="我已经知道答案了。",
    example_answer="对问题的完整回答",
    earlier="之前的对话：",
    begin="请开始您的思考:",
    parameters="参数: ",
    no_parameters="无",
    optional="可选",
    separator="；",
    feedback={
        "empty": "你的回复是空的。请写出思考，然后写行动，或者写回答。",
        "missing_action": "你的回复里没有行动。请写一行“行动：工具名称(参数)”，或者写一行“回答：”给出答案。",
        "missing_action_input": "你的行动没有参数。请写成“行动：工具名称(参数)”；不需要参数时，括号里留空。",
        "action_and_final": "你的回复里既有行动又有回答。请只写其中一个：还需要工具就写行动，否则写回答。",
        "invalid_json": "你的回复里的 JSON 无法读取：{detail}。请重新写出完整、正确的 JSON。",
    },
    failures={
        "unknown_tool": "错误: 未找到工具 '{tool}'",
        "invalid_arguments": "工具参数错误: {detail}",
        "retry": "工具执行错误: {detail}",
        "timeout": "工具执行超时",
        "cancelled": "工具执行已取消",
        "stopped": "工具执行已停止: {detail}",
        "failed": "工具执行错误: 工具执行崩溃: {detail}",
        "limit": "工具没有执行: 工具调用次数已经用完。请根据已知的信息回答。",
        "rejected": "工具没有执行, 此调用没有得到批准: {detail}",
        "undecided": "此调用等待批准时, 有人提出了别的问题; 没有记录到结果, 是否执行过不明。再次调用之前, 请先查明结果。",
        "unknown_outcome": "工具已经开始执行, 但结果不明。再次调用之前, 请先查明结果。",
    },
    sentences=CHINESE_SENTENCES,
    summary="推理摘要: 经考虑后决定使用工具{name}并获得结果",
    plain_summary="推理摘要: 经考虑后没有使用工具",
)

LANGUAGES: Final[Mapping[Language, Words]] = {"en": _ENGLISH, "zh": _CHINESE}
"""The words of the format, by language."""
