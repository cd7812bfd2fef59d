"""Parsers of the older function calls (``additional_kwargs["function_call"]``). For tool calls, see `openai_tools`."""

from typing import Any, ClassVar, Self, cast

from pydantic import BaseModel, SkipValidation, model_validator

from hocket.errors import OutputParserException
from hocket.messages.content import Fields
from hocket.output_parsers.base import BaseCumulativeTransformOutputParser, BaseGenerationOutputParser
from hocket.output_parsers.json_text import decode_json, parse_partial_json
from hocket.output_parsers.openai_tools import parse_tool_call
from hocket.output_parsers.pydantic import validate_answer
from hocket.outputs import ChatGeneration, Generation

__all__ = [
    "JsonKeyOutputFunctionsParser",
    "JsonOutputFunctionsParser",
    "OutputFunctionsParser",
    "PydanticAttrOutputFunctionsParser",
    "PydanticOutputFunctionsParser",
]


def _get_call(result: list[Generation]) -> Fields | None:
    """Return the function call of the first candidate, as the model wrote it; None: there is none.

    Raises:
        OutputParserException: the candidate is no message.
    """
    generation = result[0] if result else None
    if not isinstance(generation, ChatGeneration):
        raise OutputParserException("function calls are in messages: give this parser the answer of a chat model")
    call = generation.message.additional_kwargs.get("function_call")
    return dict(cast(Fields, call)) if isinstance(call, dict) else None


def _require_call(result: list[Generation]) -> Fields:
    call = _get_call(result)
    if call is None:
        raise OutputParserException("the answer has no function call")
    return call


class OutputFunctionsParser(BaseGenerationOutputParser[Any]):
    """Returns the function call of an answer, as the model wrote it.

    Args:
        args_only: return the text of its arguments alone, and not ``name`` and ``arguments``.
    """

    args_only: bool = True

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the function call of the first candidate.

        Raises:
            OutputParserException: there is none.
        """
        call = _require_call(result)
        return call["arguments"] if self.args_only else call


class JsonOutputFunctionsParser(BaseCumulativeTransformOutputParser[Any]):
    """Returns the function call of an answer, its arguments read as JSON.

    Args:
        args_only: return the arguments alone, and not ``name`` and ``arguments``.
        strict: refuse line breaks in strings.
    """

    args_only: bool = True
    strict: bool = False
    _type_name: ClassVar[str] = "json_functions"

    def parse(self, text: str) -> object:
        """Refuse: a function call is no text."""
        raise NotImplementedError(f"{type(self).__name__} reads messages: use parse_result")

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the function call of the first candidate; ``partial``: so far, None if nothing.

        Raises:
            OutputParserException: there is none, or its arguments are no JSON.
        """
        call = _get_call(result) if partial else _require_call(result)
        if call is None:
            return None
        text = call.get("arguments") or ""
        try:
            value = parse_partial_json(text, strict=self.strict) if partial else decode_json(text, strict=self.strict)
        except ValueError as error:
            if partial:
                return None
            raise OutputParserException(
                f"the arguments of {call.get('name')!r} are no JSON: {error}", llm_output=text
            ) from error
        return value if self.args_only else {**call, "arguments": value}


class JsonKeyOutputFunctionsParser(JsonOutputFunctionsParser):
    """Returns one of the arguments of an answer's function call.

    Args:
        key_name: its name.
    """

    key_name: str

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the argument; ``partial``: so far, None if nothing.

        Raises:
            OutputParserException: there is no function call, its arguments are no JSON, or this one is not among them.
        """
        value = super().parse_result(result, partial=partial)
        if partial:
            return cast(Fields, value).get(self.key_name) if isinstance(value, dict) else None
        if not isinstance(value, dict) or self.key_name not in value:
            raise OutputParserException(f"the function call has no argument {self.key_name!r}: {value!r}")
        return cast(Fields, value)[self.key_name]


class PydanticOutputFunctionsParser(OutputFunctionsParser):
    """Returns the function call of an answer as an instance of a pydantic model.

    Args:
        pydantic_schema: the model; or several, by the names of the functions.
    """

    pydantic_schema: SkipValidation[type[BaseModel] | dict[str, type[BaseModel]]]

    @model_validator(mode="after")
    def _check_schema(self) -> Self:
        if isinstance(self.pydantic_schema, dict) and self.args_only and "args_only" in self.model_fields_set:
            raise ValueError("several pydantic schemas need the function's name: leave out args_only")
        return self

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the instance that the function call of the first candidate describes.

        Raises:
            OutputParserException: there is no function call, there is no such function, or it describes none.
        """
        call = _require_call(result)
        schema = self.pydantic_schema
        model = schema.get(call["name"]) if isinstance(schema, dict) else schema
        if model is None:
            known = ", ".join(cast(Fields, schema))
            raise OutputParserException(f"there is no function {call['name']!r}; there are {known}")
        parsed = cast(Fields, parse_tool_call({"function": call}))  # not None: there is a function
        return validate_answer(model, parsed["args"])


class PydanticAttrOutputFunctionsParser(PydanticOutputFunctionsParser):
    """Returns one attribute of the pydantic model that an answer's function call describes.

    Args:
        attr_name: its name.
    """

    attr_name: str

    def parse_result(self, result: list[Generation], *, partial: bool = False) -> Any:
        """Return the attribute. Raises as `PydanticOutputFunctionsParser`."""
        return getattr(super().parse_result(result), self.attr_name)
