"""An answer of a type: offered to the model as a tool of its own, so that every model that calls tools can give it.

A union of objects is a tool for each of them. A value that is no JSON object (a list, a number, a choice of words) is the
one argument of a tool ``answer``.
"""

from types import FunctionType, UnionType
from typing import Any, Union, cast, get_args, get_origin

from pydantic import BaseModel, create_model
from pydantic.errors import PydanticUserError

from hocket.errors import InvalidInput, OutputParserException
from hocket.language_models.structured.schema import OutputSchema
from hocket.messages import ToolCall
from hocket.output_parsers.json_document import JSONDocument
from hocket.tools import BaseTool, StructuredTool

__all__ = ["AnswerFormat", "read_answer_format"]

_DESCRIPTION = "The final answer. Call this when you know it, and call it alone."
_PAGE = "agents.md#typed-answers"
_BOX = "answer"
_VALUE = "value"


def read_answer_format(kind: Any) -> "AnswerFormat | None":
    """Return the format of answers of a type; None for texts."""
    return None if kind is None or kind is str else AnswerFormat(kind)


class AnswerFormat:
    """The type of a run's answer: whatever pydantic can validate, or a JSON schema.

    Attributes:
        tools: what the model is shown. They are never run.
        takes_text: whether a text is an answer, too: it is a member of the union.
    """

    def __init__(self, kind: Any) -> None:
        members = list(get_args(kind)) if get_origin(kind) in (Union, UnionType) else [kind]
        self.takes_text: bool = str in members and len(members) > 1
        found = [_read_object(member) for member in members]
        objects = [one for one in found if one is not None]
        others = [
            member
            for member, one in zip(members, found, strict=True)
            if one is None and not (self.takes_text and member is str)
        ]
        self._schemas: dict[str, _Member] = {}
        for one in [*objects, *([_box(Union[tuple(others)])] if others else [])]:  # noqa: UP007  # made of a list
            if one.name in self._schemas:
                raise InvalidInput(
                    f"two answers are called {one.name!r}; give one of the types another name", page=_PAGE
                )
            self._schemas[one.name] = one
        self.tools: list[BaseTool] = [one.make_tool() for one in self._schemas.values()]

    @property
    def names(self) -> list[str]:
        """The names of the tools."""
        return list(self._schemas)

    def read_call(self, call: ToolCall) -> object:
        """Return the answer that a call gives. Where it does not fit, ``observation`` of the error says why."""
        return self._schemas[call["name"]].read(call["args"])

    def read_text(self, text: str) -> object:
        """Return the answer that a text is, or has as JSON. Else ``observation`` of the error says why, and what to do."""
        document = JSONDocument()
        document.feed(text)
        error: OutputParserException | None = None
        for member in self._schemas.values():
            try:
                return member.read_bare(document.close())
            except OutputParserException as problem:
                error = error or problem
        if self.takes_text:
            return text
        assert error is not None
        reason = error.observation or "Your answer is not JSON."
        way_out = f"Give your final answer by calling {' or '.join(self._schemas)}."
        raise OutputParserException(str(error), observation=f"{reason} {way_out}", llm_output=text) from error


class _Member:
    """One type of answer, by the schema of the arguments of its tool; in a box it is the one argument."""

    def __init__(self, schema: OutputSchema[Any], *, is_box: bool = False) -> None:
        self._schema = schema
        self._is_box = is_box
        self._parameters: dict[str, Any] = schema.function(None)["function"]["parameters"]

    @property
    def name(self) -> str:
        return self._schema.name

    @property
    def is_object(self) -> bool:
        return self._parameters.get("type") == "object"

    def make_tool(self) -> BaseTool:
        description = f"{_DESCRIPTION} {self._schema.description}".strip()
        return StructuredTool.from_function(
            _never_called, name=self.name, description=description, args_schema=self._parameters
        )

    def read(self, args: object) -> object:
        made: object = self._schema.read(args)
        if not self._is_box:
            return made
        return cast("dict[str, object]", made)[_VALUE] if isinstance(made, dict) else getattr(made, _VALUE)

    def read_bare(self, value: object) -> object:
        """Read a value that a text has; one in no box may be meant."""
        is_bare = self._is_box and not (isinstance(value, dict) and set(cast("dict[str, object]", value)) == {_VALUE})
        return self.read({_VALUE: value}) if is_bare else self.read(value)  # pyright: ignore[reportUnknownArgumentType]  # `isinstance` forgets its types


def _read_object(kind: Any) -> _Member | None:
    """Return the member that a type of JSON objects is; None: it is of other values."""
    if isinstance(kind, dict):
        member = _Member(OutputSchema(kind))
        return member if member.is_object else _box_schema(cast("dict[str, Any]", kind))
    try:
        member = _Member(OutputSchema(kind))
    except InvalidInput:
        return None
    return member if member.is_object else None  # a RootModel of a list, for one


def _box(kind: Any) -> _Member:
    try:
        if isinstance(kind, FunctionType):  # which pydantic takes for a type
            raise InvalidInput("it is a function")
        made: type[BaseModel] = create_model(_BOX, value=(kind, ...))
        return _Member(OutputSchema(made), is_box=True)
    except (PydanticUserError, InvalidInput) as error:
        raise InvalidInput(
            f"an answer cannot be {kind!r}: it is a type that pydantic can validate, or a JSON schema "
            f"({str(error).splitlines()[0]})",
            page=_PAGE,
        ) from None


def _box_schema(schema: dict[str, Any]) -> _Member:
    box = {"title": _BOX, "type": "object", "properties": {_VALUE: schema}, "required": [_VALUE]}
    return _Member(OutputSchema(box), is_box=True)


def _never_called(**arguments: object) -> None:
    """Stand for the answer: its arguments are the answer, and there is nothing to run."""
