"""A prompt that says which form the answer must have."""

from collections.abc import Sequence
from typing import Any, Protocol, Self, runtime_checkable

from pydantic import BaseModel, Field

from hocket.errors import InvalidInput
from hocket.messages.content import Fields
from hocket.prompts.chat import ChatPromptTemplate, MessageLikeRepresentation
from hocket.prompts.formats import PromptTemplateFormat
from hocket.runnables.base import RunnableSerializable, get_factory

__all__ = ["StructuredPrompt"]


@runtime_checkable
class _Structuring(Protocol):
    """A model, as far as a structured prompt needs it."""

    def with_structured_output(self, schema: object, **kwargs: object) -> object: ...


class StructuredPrompt(ChatPromptTemplate):
    """A conversation with variables in it, whose answer has a schema: ``prompt | model`` answers with an object.

    Args:
        messages, template_format: as of a `ChatPromptTemplate`.
        schema_: the schema, also as ``schema``: a pydantic model, a TypedDict, or a JSON schema.
        structured_output_kwargs: arguments for the model's ``with_structured_output``. Arguments that no prompt has are
            added to these.

    Raises:
        InvalidInput: there is no schema; or, of ``|``, what comes first behind it is no model.
    """

    schema_: Fields | type[Any]
    structured_output_kwargs: Fields = Field(default_factory=dict)

    def __init__(
        self,
        messages: Sequence[MessageLikeRepresentation],
        schema_: Fields | type[Any] | None = None,
        *,
        structured_output_kwargs: Fields | None = None,
        template_format: PromptTemplateFormat = "f-string",
        **kwargs: Any,
    ) -> None:
        schema = schema_ or kwargs.pop("schema", None)
        if not schema:
            raise InvalidInput("a StructuredPrompt needs a schema: StructuredPrompt(messages, Schema)")
        fields = {name: kwargs.pop(name) for name in list(kwargs) if name in type(self).model_fields}
        super().__init__(
            messages,
            template_format=template_format,
            schema_=schema,
            structured_output_kwargs={**(structured_output_kwargs or {}), **kwargs},
            **fields,
        )

    @classmethod
    def from_messages_and_schema(
        cls, messages: Sequence[MessageLikeRepresentation], schema: Fields | type[BaseModel], **kwargs: Any
    ) -> Self:
        """Return a prompt of ``messages`` whose answer has ``schema``. Further arguments are those of the class."""
        return cls(messages, schema, **kwargs)

    def __or__(self, other: object) -> RunnableSerializable[Fields, Any]:
        """Return a chain: this prompt, the model ``other``, and its answer as the schema says."""
        return self.pipe(other)

    def pipe(self, *others: object, name: str | None = None) -> RunnableSerializable[Fields, Any]:
        """Return a chain: this prompt, a model whose answer is as the schema says, and what comes behind it."""
        first = others[0] if others else None
        if not isinstance(first, _Structuring):
            raise InvalidInput(
                f"behind a StructuredPrompt comes a model with structured output, not {type(first).__name__}"
            )
        model = first.with_structured_output(self.schema_, **self.structured_output_kwargs)
        return get_factory().make_sequence(self, model, *others[1:], name=name)
