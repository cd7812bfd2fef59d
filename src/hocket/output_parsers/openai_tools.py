"""Tool calls in an answer, as data or as pydantic models.

While an answer comes in, the arguments of each call are read, every character once (`PartialJSON`). Shown is only what
later pieces cannot change.
"""

# The reader of an answer in pieces calls the hooks of the parser that it works for:
# pyright: reportPrivateUsage=false

from collections.abc import Iterable
from typing import Any

from pydantic import BaseModel, SkipValidation

from hocket.errors import OutputParserException
from hocket.messages import (
    AIMessage,
    AIMessageChunk,
    BaseMessage,
    InvalidToolCall,
    default_tool_parser,
    invalid_tool_call,
)
from hocket.messages.content import Fields, FieldsView
from hocket.messages.folding import ToolCallFold
from hocket.output_parsers.accumulation import AnswerAccumulator, Credit, NewValueFilter, to_chunk
from hocket.output_parsers.base import BaseGenerationOutputParser, ParserInput
from hocket.output_parsers.json_text import decode_json, parse_partial_json
from hocket.output_parsers.partial_json import PartialJSON
from hocket.output_parsers.pydantic import validate_answer
from hocket.outputs import ChatGeneration, Generation
from hocket.runnables.with_run import Incremental

__all__ = [
    "JsonOutputKeyToolsParser",
    "JsonOutputToolsParser",
    "PydanticToolsParser",
    "make_invalid_tool_call",
    "parse_tool_call",
    "parse_tool_calls",
]


def parse_tool_call(
    raw_tool_call: FieldsView, *, partial: bool = False, strict: bool = False, return_id: bool = True
) -> Fields | None:
    """Return a tool call in OpenAI's form as data: ``name``, ``args`` and, with ``return_id``, ``id`` and ``type``.

    Args:
        raw_tool_call: with ``id`` and ``function``, whose ``arguments`` are text. No text stands for no arguments.
        partial: the text may be cut short; None if nothing can be read.
        strict: refuse line breaks in strings.
        return_id: whether to return the ``id``, too.

    Returns:
        None, if there is no ``function``.

    Raises:
        OutputParserException: the arguments are no JSON.
    """
    function: FieldsView | None = raw_tool_call.get("function")
    if function is None:
        return None
    text, name = function["arguments"], function["name"] or ""
    try:
        args: Any = (parse_partial_json if partial else decode_json)(text, strict=strict) if text else None
    except ValueError as error:
        if partial:
            return None
        raise OutputParserException(
            f"the arguments of {name!r} are no JSON: {error}: {text}", llm_output=text
        ) from error
    call: Fields = {"name": name, "args": args or {}}
    return {**call, "id": raw_tool_call.get("id"), "type": "tool_call"} if return_id else call


def parse_tool_calls(
    raw_tool_calls: Iterable[FieldsView], *, partial: bool = False, strict: bool = False, return_id: bool = True
) -> list[Fields]:
    """Return tool calls in OpenAI's form as data: see `parse_tool_call`.

    Raises:
        OutputParserException: there are calls whose arguments are no JSON; it names each.
    """
    calls: list[Fields] = []
    faults: list[str] = []
    for raw in raw_tool_calls:
        try:
            call = parse_tool_call(raw, partial=partial, strict=strict, return_id=return_id)
        except OutputParserException as error:
            faults.append(str(error))
            continue
        if call is not None:
            calls.append(call)
    if faults:
        raise OutputParserException("\n\n".join(faults))
    return calls


def make_invalid_tool_call(raw_tool_call: FieldsView, error_msg: str | None) -> InvalidToolCall:
    """Return a tool call in OpenAI's form, whose arguments cannot be read, as data."""
    function: FieldsView = raw_tool_call["function"]
    return invalid_tool_call(
        name=function["name"], args=function["arguments"], id=raw_tool_call.get("id"), error=error_msg
    )


class JsonOutputToolsParser(BaseGenerationOutputParser[Any]):
    """Returns the tool calls of an answer: a list of ``{"type": name, "args": {...}}``.

    Args:
        return_id: whether each has its ``id``, too.
        first_tool_only: return the first call alone, or None if there is none.
    """

    return_id: bool = False
    first_tool_only: bool = False

    @property
    def _is_cumulative(self) -> bool:
        return True

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the tool calls of the first candidate.

        Raises:
            OutputParserException: it is no message, or the arguments of a call are not a JSON object. With ``partial``
                such calls are left out.
        """
        generation = result[0] if result else None
        if not isinstance(generation, ChatGeneration):
            raise OutputParserException("tool calls are in messages: give this parser the answer of a chat model")
        calls, invalid = _get_calls(generation.message)
        if invalid and not partial:
            faults = "; ".join(f"{call['name']}: {call['error']}" for call in invalid)
            raise OutputParserException(f"a tool call cannot be read: {faults}", llm_output=invalid[0]["args"])
        return self._select_calls([self._shape_call(call) for call in calls], partial)

    def _shape_call(self, call: Any) -> Fields:
        made = {"args": call["args"], "type": call["name"]}
        return {**made, "id": call["id"]} if self.return_id else made

    def _select_calls(self, calls: list[Fields], partial: bool) -> Any:
        """Return what is wanted of the calls, in the form in which it is wanted."""
        if self.first_tool_only:
            return calls[0] if calls else None
        return calls

    def _incremental(self) -> Incremental[ParserInput, Any]:
        return _Calls(self)


class JsonOutputKeyToolsParser(JsonOutputToolsParser):
    """Returns the calls of one tool: their arguments, or with ``return_id`` as `JsonOutputToolsParser` does.

    Args:
        key_name: the tool's name.
    """

    key_name: str

    def _select_calls(self, calls: list[Fields], partial: bool) -> Any:
        mine = [call for call in calls if call["type"] == self.key_name]
        return super()._select_calls(mine if self.return_id else [call["args"] for call in mine], partial)


class PydanticToolsParser(JsonOutputToolsParser):
    """Returns the tool calls of an answer as instances of pydantic models.

    Args:
        tools: the models. The name of the tool is the model's ``title`` in its config, or that of its class.
    """

    tools: SkipValidation[list[type[BaseModel]]]

    def _select_calls(self, calls: list[Fields], partial: bool) -> Any:
        made = [self._make_instance(call, partial) for call in (calls[:1] if self.first_tool_only else calls)]
        return super()._select_calls([one for one in made if one is not None], partial)

    def _make_instance(self, call: Fields, partial: bool) -> Any:
        models = {model.model_config.get("title") or model.__name__: model for model in self.tools}
        model = models.get(call["type"])
        try:
            if model is None:
                raise OutputParserException(f"there is no tool {call['type']!r}; there are {', '.join(models)}")
            return validate_answer(model, call["args"])
        except ValueError:
            if partial:
                return None
            raise


def _get_calls(message: BaseMessage) -> tuple[Any, Any]:
    if isinstance(message, AIMessage):
        return message.tool_calls, message.invalid_tool_calls
    return default_tool_parser(message.additional_kwargs.get("tool_calls", ()))


class _Calls:
    """The tool calls so far, at every piece that changes them and that can be paid for."""

    def __init__(self, parser: JsonOutputToolsParser) -> None:
        self._parser = parser
        self._gathered = AnswerAccumulator()
        self._fold = ToolCallFold()
        self._arguments: dict[Any, PartialJSON] = {}
        self._length = 0
        self._credit = Credit()
        self._latest: NewValueFilter[Any] = NewValueFilter()

    def feed(self, piece: ParserInput, /) -> Iterable[Any]:
        if not isinstance(piece, BaseMessage):
            raise OutputParserException("tool calls are in messages: give this parser the answer of a chat model")
        chunk = to_chunk(piece)
        self._gathered.add(chunk)
        fragments = chunk.tool_call_chunks if isinstance(chunk, AIMessageChunk) else []
        if not fragments:
            return ()
        for fragment in fragments:
            self._read(fragment)
        if not self._credit.pay(self._length // 4 + len(self._arguments)):
            return ()
        calls = [self._parser._shape_call(call) for call in self._get_partial_calls()]
        value = self._parser._select_calls(calls, True)
        return () if value is None else self._latest.filter_new(value)

    def close(self) -> Iterable[Any]:
        return self._latest.filter_new(self._parser.parse_result(self._gathered.result()))

    def _read(self, fragment: Any) -> None:
        call = self._fold.add(fragment)
        text = fragment.get("args") or ""
        self._length += len(text)
        self._credit.earn(len(text))
        self._arguments.setdefault(call, PartialJSON()).feed(text)  # which reads no further than one value

    def _get_partial_calls(self) -> Iterable[Fields]:
        for call, arguments in self._arguments.items():
            value = arguments.value()
            yield {"name": call.name or "", "id": call.id, "args": value if isinstance(value, dict) else {}}
