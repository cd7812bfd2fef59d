"""`with_structured_output`, with the types that it gives."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeVar, overload

from hocket.language_models.tool_choice import ToolBinding, ToolChoiceKind

if TYPE_CHECKING:
    from hocket._schemas.dialects import SchemaDialect
    from hocket.language_models.structured.output import StructuredOutput
    from hocket.language_models.structured.partial import Partial, WithRaw

__all__ = ["StructuredMethod", "StructuredOutputMixin"]

T = TypeVar("T")

StructuredMethod = Literal["json_schema", "function_calling", "json_mode"]
"""How a model is held to a schema: by the form of its answer, by a tool that it must call, or by nothing but JSON."""


class StructuredOutputMixin(ToolBinding):
    """What lets a chat model be given a schema for its answers."""

    _schema_dialect: ClassVar["SchemaDialect | None"] = None
    """What its strict mode can say; None: what OpenAI's can."""

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        """The ways in which the model can be held to a schema, the best one first; none: it cannot."""
        # Two functions are compared here, and none is called: no `self` has to fit.
        own = getattr(type(self), "bind_tools")  # noqa: B009  # pyright takes no method of which `self` does not fit
        is_overridden = own is not vars(ToolBinding)["bind_tools"]
        return ("function_calling",) if is_overridden or ToolChoiceKind.REQUIRED in self._tool_choices else ()

    @overload
    def with_structured_output(
        self,
        schema: dict[str, Any],
        *,
        method: StructuredMethod | None = None,
        include_raw: Literal[False] = False,
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> "StructuredOutput[dict[str, Any], dict[str, Any]]": ...
    @overload
    def with_structured_output(
        self,
        schema: dict[str, Any],
        *,
        method: StructuredMethod | None = None,
        include_raw: Literal[True],
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> "StructuredOutput[WithRaw[dict[str, Any]], WithRaw[dict[str, Any]]]": ...
    @overload
    def with_structured_output(
        self,
        schema: type[T],
        *,
        method: StructuredMethod | None = None,
        include_raw: Literal[False] = False,
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> "StructuredOutput[T, T | Partial[T]]": ...
    @overload
    def with_structured_output(
        self,
        schema: type[T],
        *,
        method: StructuredMethod | None = None,
        include_raw: Literal[True],
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> "StructuredOutput[WithRaw[T], WithRaw[T | Partial[T]]]": ...
    @overload
    def with_structured_output(
        self,
        schema: dict[str, Any] | type[Any],
        *,
        method: StructuredMethod | None = None,
        include_raw: bool,
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> "StructuredOutput[Any, Any]": ...
    def with_structured_output(
        self,
        schema: Any,
        *,
        method: StructuredMethod | None = None,
        include_raw: bool = False,
        strict: bool | None = None,
        reask: int = 0,
        **kwargs: Any,
    ) -> Any:
        """Return the model with answers that are objects of ``schema``.

        In a stream come `Partial` objects, and last the object itself, validated.

        Args:
            schema: a pydantic (v2) model class, a TypedDict, a dataclass, or a JSON schema of an object as a dict. Answers
                are of that type; a dict, checked, for a JSON schema.
            method: "json_schema": the provider holds the answer to the schema. "function_calling": the model must call
                a tool with these arguments. "json_mode": the provider promises JSON; say in the prompt what it must hold.
                None: the first of these that the model has.
            include_raw: give `WithRaw`, the message beside the object, and give errors of reading instead of raising them.
            strict: whether the schema is written in the provider's strict dialect, and the model held to every word of it.
                None: with "json_schema", yes; else no.
            reask: how often the model is told what is wrong with an answer that does not fit, and asked again. Each is one
                of the call's attempts. Not in a stream once it has begun to show the answer, and not where the answer was
                cut short or refused.
            kwargs: further options of each call.

        Raises:
            InvalidInput: the schema is none of these, or the strict dialect cannot say it, or the model has no such method.
            NotImplementedError: the model cannot be given a schema.

        Raises, when called, besides what the model raises:
            OutputParserException: the answer does not fit the schema, is no JSON, or was cut short; ``raw`` is the message.
            ContentFiltered: the model refused; ``partial`` is the message.

        Examples:
            >>> from pydantic import BaseModel
            >>> from hocket import ScriptedChatModel
            >>> class Person(BaseModel):
            ...     name: str
            ...     born: int
            >>> model = ScriptedChatModel(script=['{"name": "Ada", "born": 1815}'])
            >>> model.with_structured_output(Person, method="json_schema").invoke("Who wrote the first program?")
            Person(name='Ada', born=1815)
        """
        from hocket.language_models.structured.binding import bind_structured_output  # not before somebody wants it

        return bind_structured_output(
            self, schema, method, include_raw=include_raw, strict=strict, reask=reask, options=kwargs
        )
