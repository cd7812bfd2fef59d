"""From a model and a schema to a model that answers with objects."""

from collections.abc import Mapping
from typing import Any

from hocket._schemas.dialects import OPENAI, SchemaDialect
from hocket.errors import InvalidInput
from hocket.language_models.structured.answers import AnswerReader, CallAnswerReader, TextAnswerReader
from hocket.language_models.structured.output import StructuredOutput
from hocket.language_models.structured.schema import OutputSchema

__all__ = ["bind_structured_output"]


def bind_structured_output(
    model: Any,
    schema: Any,
    method: str | None,
    *,
    include_raw: bool,
    strict: bool | None,
    reask: int,
    options: Mapping[str, object],
) -> StructuredOutput[Any, Any]:
    """Return ``model``, answering with objects of ``schema``. See `BaseChatModel.with_structured_output`."""
    methods = model._structured_methods
    if not methods:
        raise NotImplementedError(
            f"{type(model).__name__} cannot be given a schema: it takes no tools, and its class names no other way in "
            "`_structured_methods`; ask for JSON in the prompt, and read it with a PydanticOutputParser"
        )
    chosen = methods[0] if method is None else method
    if chosen not in methods:
        raise InvalidInput(f"{type(model).__name__} has no method {chosen!r} for structured output; it has {methods}")
    if isinstance(reask, bool) or not isinstance(reask, int) or reask < 0:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"reask is {reask!r}; it is how often to ask again: 0 or more")
    output: OutputSchema[Any] = OutputSchema(schema)
    bound, answers = _bind_schema(model, output, chosen, strict, options)
    return StructuredOutput(bound=bound, output=output, answers=answers, include_raw=include_raw, reask=reask)


def _bind_schema(
    model: Any, output: OutputSchema[Any], method: str, strict: bool | None, options: Mapping[str, object]
) -> tuple[Any, AnswerReader]:
    """Return the model with the schema bound to its requests, and the reader of its answers."""
    dialect: SchemaDialect = model._schema_dialect or OPENAI
    plain = output.function(None)
    facts: dict[str, object] = {
        "ls_structured_output_format": {"kwargs": {"method": method, "strict": strict}, "schema": plain}
    }
    if method == "function_calling":
        tool = output.function(dialect) if strict else plain
        return model.bind_tools([tool], tool_choice="any", **facts, **options), CallAnswerReader(output.name)
    if method == "json_mode":
        if strict is not None:
            raise InvalidInput(f"strict={strict} means nothing with method='json_mode', which sends no schema")
        return model.bind(response_format={"type": "json_object"}, **facts, **options), TextAnswerReader()
    is_strict = strict is not False
    form: dict[str, object] = {
        "name": output.name,
        "schema": output.compile(dialect if is_strict else None),
        "strict": is_strict,
    }
    return model.bind(
        response_format={"type": "json_schema", "json_schema": form}, **facts, **options
    ), TextAnswerReader()
