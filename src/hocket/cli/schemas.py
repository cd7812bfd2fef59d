"""``--schema``: the form that an answer is to have, and a model that answers in it."""

import json
import re
from pathlib import Path
from typing import cast

from hocket._json import JSONObject
from hocket.errors import InvalidInput
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk
from hocket.runnables import Runnable, RunnableLambda

__all__ = ["answer_in_schema", "parse_schema"]

_TYPES = {"str": "string", "int": "integer", "float": "number", "bool": "boolean"}
_FORMS = "it is a file of JSON, a JSON schema, or fields such as  'name, age int, about: one sentence'"


def parse_schema(text: str) -> JSONObject:
    """Return the JSON schema that is meant.

    Args:
        text: a JSON schema; a file that has one; or fields, by commas or in lines: ``name``, ``name type``,
            ``name: description``, ``name type: description`` or ``name: type``, the type being str, int, float or bool.

    Raises:
        InvalidInput: it is none of these.
    """
    text = text.strip()
    if not text.startswith("{"):
        path = Path(text).expanduser()
        if "\n" in text or "," in text or not (text.endswith(".json") or "/" in text or path.is_file()):
            return _read_fields(text)
        try:
            text = path.read_text()
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is no text"
            raise InvalidInput(f"--schema {path}: {reason}; {_FORMS}") from None
    try:
        schema: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(f"--schema is no JSON: {error}; {_FORMS}") from None
    if not isinstance(schema, dict) or not ({"type", "properties", "$ref", "anyOf"} & schema.keys()):
        raise InvalidInput(f"--schema is JSON, but no schema of an object; {_FORMS}")
    return {"title": "answer", **cast("JSONObject", schema)}


def _read_fields(text: str) -> JSONObject:
    properties: JSONObject = {}
    for one in re.split(r"\n" if "\n" in text else r",", text):
        if not one.strip():
            continue
        match = re.fullmatch(r"\s*(\w+)(?:\s+(\w+))?\s*(?::\s*(.*?))?\s*", one)
        if match is None or (match[2] is not None and match[2] not in _TYPES):
            types = ", ".join(_TYPES)
            raise InvalidInput(f"--schema: {one.strip()!r} is no field with one of the types {types}; {_FORMS}")
        name, kind, about = match[1], match[2], match[3]
        if kind is None and about in _TYPES:
            kind, about = about, None
        properties[name] = {"type": _TYPES[kind or "str"], **({"description": about} if about else {})}
    if not properties:
        raise InvalidInput(f"--schema is empty; {_FORMS}")
    return {
        "title": "answer",
        "type": "object",
        "properties": properties,
        "required": [*properties],
        "additionalProperties": False,
    }


def answer_in_schema(model: BaseChatModel, schema: JSONObject) -> Runnable[object, AIMessage]:
    """Return what asks the model for an object of this schema, and answers with its JSON as a text.

    Raises:
        InvalidInput: by its answers: the model's own dialect cannot express the schema.
        HocketError: by its answers: the model gave no such object.
    """
    structured = model.with_structured_output(cast("dict[str, object]", schema), include_raw=True)

    def write(answer: object) -> AIMessage:
        found = cast("dict[str, object]", answer)
        if isinstance(error := found["parsing_error"], BaseException):
            raise error
        raw = cast("AIMessage", found["raw"])
        text = json.dumps(found["parsed"], ensure_ascii=False, indent=2)
        return AIMessageChunk(text, usage_metadata=raw.usage_metadata, response_metadata=raw.response_metadata)

    return cast("Runnable[object, AIMessage]", structured | RunnableLambda(write))
