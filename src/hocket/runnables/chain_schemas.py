"""What goes into several runnables together, and comes out of them: those of a chain, and those of a mapping."""

from collections.abc import Sequence
from typing import Any

from pydantic import BaseModel

from hocket.runnables.base import AnyRunnable
from hocket.runnables.config import RunnableConfig
from hocket.runnables.passthrough import RunnableAssign, RunnablePick
from hocket.runnables.type_schemas import Fields, get_object_fields, make_object_schema, make_schema

__all__ = ["join_input_schemas", "join_output_schemas"]


def join_input_schemas(steps: Sequence[AnyRunnable], name: str, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of a chain's input: the first step's. Where that adds to a mapping, the others need the rest."""
    first, *rest = steps
    schema = first.get_input_schema(config)
    if not rest or not isinstance(first, RunnableAssign):
        return schema
    needed = get_object_fields(join_input_schemas(rest, name, config))
    own = get_object_fields(schema)
    if needed is None:
        return schema
    passed = {key: field for key, field in needed.items() if key not in first.mapper.steps__}
    return make_object_schema(name, {**(own or {}), **passed})


def join_output_schemas(steps: Sequence[AnyRunnable], name: str, config: RunnableConfig | None) -> type[BaseModel]:
    """Return the model of a chain's output: the last step's. Where that adds to a mapping, or picks of it, with the rest."""
    *before, last = steps
    if before and isinstance(last, RunnableAssign | RunnablePick):
        fields = get_object_fields(join_output_schemas(before, name, config))
        if fields is not None and isinstance(last, RunnableAssign):
            return make_object_schema(
                name, {**fields, **(get_object_fields(last.mapper.get_output_schema(config)) or {})}
            )
        if fields is not None and isinstance(last, RunnablePick):
            return _pick_fields(last.keys, fields, name)
    return last.get_output_schema(config)


def _pick_fields(keys: str | list[str], fields: Fields, name: str) -> type[BaseModel]:
    if isinstance(keys, str):
        return make_schema(name, fields[keys][0] if keys in fields else Any)
    return make_object_schema(name, {key: fields[key] for key in keys if key in fields})
