"""An answer of a type: offered to the model as a tool of its own, so that every model that calls tools can give it."""

from typing import Any, Generic, TypeVar

from hocket.errors import InvalidInput, OutputParserException
from hocket.language_models.structured.schema import OutputSchema
from hocket.messages import ToolCall
from hocket.output_parsers.json_document import JSONDocument
from hocket.tools import BaseTool, StructuredTool

__all__ = ["AnswerFormat"]

T = TypeVar("T")

_DESCRIPTION = "The final answer. Call this when you know it, and call it alone."


class AnswerFormat(Generic[T]):
    """The type of a run's answer.

    Args:
        kind: a pydantic model class, a TypedDict, a dataclass, or a JSON schema of an object.

    Attributes:
        tool: what the model is shown. It is never run.

    Raises:
        InvalidInput: it is none of these.
    """

    def __init__(self, kind: Any) -> None:
        self._schema: OutputSchema[T] = OutputSchema(kind)
        function = self._schema.function(None)["function"]
        if function["parameters"].get("type") != "object":  # a RootModel of a list, for one
            raise InvalidInput(
                f"an answer cannot be {kind!r}, which is no object in JSON; put it into a field of a model",
                page="agents.md#typed-answers",
            )
        self.tool: BaseTool = StructuredTool.from_function(
            _never_called,
            name=self._schema.name,
            description=_describe(self._schema),
            args_schema=function["parameters"],
        )

    @property
    def name(self) -> str:
        """The name of the tool."""
        return self.tool.name

    def read_call(self, call: ToolCall) -> T:
        """Return the answer that a call gives.

        Raises:
            OutputParserException: it does not fit; ``observation`` says why.
        """
        return self._schema.read(call["args"])

    def read_text(self, text: str) -> T:
        """Return the answer that a text has as JSON.

        Raises:
            OutputParserException: it is none, or does not fit; ``observation`` says why, and what to do.
        """
        document = JSONDocument()
        document.feed(text)
        way_out = f"Give your final answer by calling {self.name}."
        try:
            return self._schema.read(document.close())
        except OutputParserException as error:
            reason = error.observation or "Your answer is not JSON."
            raise OutputParserException(str(error), observation=f"{reason} {way_out}", llm_output=text) from error


def _describe(schema: OutputSchema[Any]) -> str:
    return f"{_DESCRIPTION} {schema.description}".strip()


def _never_called(**arguments: object) -> None:
    """Stand for the answer: its arguments are the answer, and there is nothing to run."""
