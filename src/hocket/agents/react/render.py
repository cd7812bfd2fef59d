"""A conversation as text, for a model that knows no tools.

What is stored are native messages, calls and results with their ids. They are written in the words in which the model
is asked to reply, so that what it reads is an example of what it is to write. Lines inside a text that look like labels
are set off with ``| ``: the result of a tool cannot pass for another result, or for an answer.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, cast

from hocket._json import JSON, JSONObject
from hocket.agents.react.arguments import WRITTEN_NAMES
from hocket.agents.react.json_text import write_json
from hocket.agents.react.labels import LABEL
from hocket.agents.react.words import Words, translate_sentences
from hocket.agents.text_format import FEEDBACK_NAME
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage
from hocket.messages.content import FieldsView
from hocket.tools import BaseTool
from hocket.tools.result_messages import ERROR_KIND

__all__ = ["describe_tools", "find_question", "translate_failure", "write_example", "write_turns"]

_TAG: Final = re.compile(r"<(/?think(?:ing)?)>", re.IGNORECASE)
_PLAIN: Final = re.compile(r"[^\W_][^\n\r\"'`<>(){}\[\]（）【】“”=:：,，|*]{0,200}")
_QUESTION: Final = re.compile(r"^(?=(?:question|问题)[ \t]{0,8}[:：])", re.IGNORECASE | re.MULTILINE)


def find_question(messages: Sequence[BaseMessage]) -> int | None:
    """Return the place of the question of the run: the last human message that is no feedback."""
    places = (index for index in reversed(range(len(messages))) if _is_question(messages[index]))
    return next(places, None)


def _is_question(message: BaseMessage) -> bool:
    return isinstance(message, HumanMessage) and message.name != FEEDBACK_NAME


def write_turns(messages: Sequence[BaseMessage], words: Words, tools: Sequence[BaseTool]) -> str:
    """Return messages as text: a paragraph for each question, each reply with its results, each answer."""
    results: dict[str, ToolMessage] = {}
    paragraphs: list[str] = []
    is_refused = False  # whether the reply before could not be read
    for message in reversed(messages):
        if isinstance(message, ToolMessage):
            results[message.tool_call_id] = message
        elif isinstance(message, AIMessage):
            alone = words.thought if is_refused else words.final
            paragraphs.append(_write_reply(message, results, words, tools, alone))
            results, is_refused = {}, False
        elif isinstance(message, HumanMessage):
            is_refused, text = not _is_question(message), _get_text(message)
            if is_refused:
                paragraphs.append(words.observation + _set_off(translate_sentences(text, words.sentences)))
            else:
                paragraphs.append(words.question + _set_off(text))
        elif isinstance(message, SystemMessage) or message.text:
            paragraphs.append(_set_off(_get_text(message)))
    return "\n\n".join(reversed(paragraphs))


def _write_reply(
    message: AIMessage, results: Mapping[str, ToolMessage], words: Words, tools: Sequence[BaseTool], alone: str
) -> str:
    """Return a reply with the results of its calls. Each result has its call's number, if there are several calls.

    Args:
        alone: the label of a reply that has no calls.
    """
    text = _set_off(_get_text(message))
    calls = [*message.tool_calls, *message.invalid_tool_calls]
    if not calls:
        return alone + text
    names = cast("dict[str, str]", message.response_metadata.get(WRITTEN_NAMES) or {})
    lines = [words.thought + text] if text else []
    numbers = [f" {number}" for number in range(1, len(calls) + 1)] if len(calls) > 1 else [""]
    for number, call in zip(numbers, calls, strict=True):
        args = call["args"]
        written = args or "" if isinstance(args, str | None) else _write_input(call["name"] or "", args, tools)
        lines.append(_write_call(words, number, names.get(call["id"] or "") or call["name"] or "", written))
    for number, call in zip(numbers, calls, strict=True):
        result = results.get(call["id"] or "")
        if result is not None:
            told = _get_result(result, words)
            if name := names.get(result.tool_call_id):
                told = told.replace(repr(call["name"]), repr(name), 1)
            lines.append(_add_number(words.observation, number) + _set_off(told))
    return "\n".join(lines)


def _get_result(message: ToolMessage, words: Words) -> str:
    """Return the text of a result; of a failure, in the words of the language."""
    text, notes = _split_notes(_get_text(message))
    kind = str(message.response_metadata.get(ERROR_KIND))
    if kind in words.failures:
        name = message.name or ""
        text = translate_failure(words, kind, name, text.removeprefix(f"{name} failed: "))
    return text + translate_sentences(notes, words.sentences)


def _split_notes(text: str) -> tuple[str, str]:
    """Return a result, and what an agent has added to it: lines in brackets, at its end."""
    lines = text.split("\n")
    end = len(lines)
    while end > 1 and lines[end - 1].startswith("[") and lines[end - 1].endswith("]"):
        end -= 1
    return "\n".join(lines[:end]), "".join(f"\n{line}" for line in lines[end:])


def translate_failure(words: Words, kind: str, tool: str, detail: str) -> str:
    """Return what a model is told of a call that failed; ``detail`` itself, where the language has no words for it."""
    text = words.failures.get(kind, "{detail}")
    if "{tool}" in text:
        return text.replace("{tool}", tool)
    return text.replace("{detail}", translate_sentences(detail, words.sentences))


def _write_call(words: Words, number: str, name: str, input: str) -> str:
    action = _add_number(words.action, number) + name
    if words.action_input is None:
        return f"{action}({input})"
    return f"{action}\n{_add_number(words.action_input, number)}{input}"


def _add_number(label: str, number: str) -> str:
    colon = label.rstrip()[-1]
    return label.replace(colon, number + colon) if number else label


def _write_input(name: str, args: FieldsView, tools: Sequence[BaseTool]) -> str:
    """Return arguments as JSON, or, if the tool takes only a text, and it is a simple one, as that text."""
    tool = next((one for one in tools if one.name == name), None)
    if tool is not None and not args and not tool.args:
        return ""
    if tool is not None and len(args) == 1 and list(tool.args) == list(args):
        [value] = args.values()
        takes_text = cast(JSONObject, tool.args[next(iter(args))]).get("type") == "string"
        if takes_text and isinstance(value, str) and _PLAIN.fullmatch(value) and value == value.strip():
            return value
    return write_json(args)


def _get_text(message: BaseMessage) -> str:
    """Return the text of a message; what is no text is named."""
    if isinstance(message.content, str):
        return message.content
    others = [block["type"] for block in message.content_blocks if block["type"] not in _SAID]
    return "\n".join([text for text in (message.text, *(f"[{kind}]" for kind in others)) if text])


_SAID: Final = frozenset({"text", "reasoning", "tool_call", "invalid_tool_call", "tool_call_chunk"})


def _set_off(text: str) -> str:
    """Return a text in which no line is a label, and no tag begins a thought."""
    text = LABEL.sub(lambda label: f"| {label[0]}", _TAG.sub(r"[\1]", text))
    return _QUESTION.sub("| ", text).strip()


def write_example(words: Words, tools: Sequence[BaseTool]) -> tuple[str, str]:
    """Return two replies that the instructions show: one that calls the first tool, and one that answers."""
    answer = f"{words.thought}{words.example_final_thought}\n{words.final}{words.example_answer}"
    if not tools:
        return "", answer
    schema = tools[0].tool_call_schema
    required = cast("list[str]", schema.get("required", []))
    args = {name: _make_value(cast(JSONObject, tools[0].args[name])) for name in required if name in tools[0].args}
    call = _write_call(words, "", tools[0].name, write_json(args))
    return f"{words.thought}{words.example_thought}\n{call}", answer


def _make_value(schema: JSONObject) -> JSON:
    """Return a value of the type that a schema wants, to be shown."""
    values = schema.get("enum")
    if isinstance(values, list) and values:
        return values[0]
    kinds: dict[str, JSON] = {"integer": 1, "number": 1.5, "boolean": True, "array": [], "object": {}}
    return kinds.get(str(schema.get("type")), "...")


def describe_tools(words: Words, tools: Iterable[BaseTool]) -> str:
    """Return the list of tools: for each its name, what it does, and its parameters."""
    return "\n".join(_describe_tool(words, tool) for tool in tools)


def _describe_tool(words: Words, tool: BaseTool) -> str:
    required = cast("list[str]", tool.tool_call_schema.get("required", []))
    parameters = [
        _describe_parameter(words, name, cast(JSONObject, schema), name in required)
        for name, schema in tool.args.items()
    ]
    what = translate_sentences(" ".join(tool.description.split()), words.sentences)
    return f"- {tool.name}: {what}\n  {words.parameters}{words.separator.join(parameters) or words.no_parameters}"


def _describe_parameter(words: Words, name: str, schema: JSONObject, is_required: bool) -> str:
    kind = schema.get("type")
    is_simple = isinstance(kind, str) and kind not in ("object", "array") and "enum" not in schema
    beyond = {key: value for key, value in schema.items() if key not in ("description", "title")}
    shown = str(kind) if is_simple else json.dumps(beyond, ensure_ascii=False)
    said = f": {' '.join(str(schema['description']).split())}" if schema.get("description") else ""
    return f"{name} ({shown}{'' if is_required else f', {words.optional}'}){said}"
