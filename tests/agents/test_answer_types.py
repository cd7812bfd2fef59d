"""What an agent may answer with: whatever pydantic can validate."""

from dataclasses import dataclass
from enum import Enum
from typing import Any, Literal

import pytest
from pydantic import BaseModel, RootModel

from hocket import ScriptedChatModel, Turn
from hocket.agents import create_agent
from hocket.errors import InvalidInput
from tests.agents.conftest import add, call


class Sum(BaseModel):
    value: int


@dataclass
class Failure:
    reason: str


class Colour(Enum):
    RED = "red"
    BLUE = "blue"


class Numbers(RootModel[list[int]]):
    pass


@pytest.mark.parametrize(
    ("kind", "given", "output"),
    [
        (Sum | Failure, ("Sum", {"value": 3}), Sum(value=3)),
        (Sum | Failure, ("Failure", {"reason": "too large"}), Failure("too large")),
        (list[Sum], ("answer", {"value": [{"value": 3}]}), [Sum(value=3)]),
        (int, ("answer", {"value": 3}), 3),
        (Literal["a", "b"], ("answer", {"value": "a"}), "a"),
        (Colour, ("answer", {"value": "red"}), Colour.RED),
        (Numbers, ("answer", {"value": [1, 2]}), Numbers([1, 2])),
        (Sum | list[int], ("answer", {"value": [1]}), [1]),
        (Sum | None, ("answer", {"value": None}), None),
        ({"type": "array", "items": {"type": "integer"}}, ("answer", {"value": [1]}), [1]),
    ],
)
async def test_an_answer_is_a_call_of_the_tool_of_its_type(
    kind: Any, given: tuple[str, dict[str, Any]], output: object
):
    """A union of objects has a tool for each; what is no object in JSON is the value of the tool ``answer``."""
    model = ScriptedChatModel(
        script=[Turn(tool_calls=[call("add", a=1, b=2)]), Turn(tool_calls=[call(given[0], **given[1])])]
    )
    result = await create_agent(model, [add], response_format=kind).ainvoke("go")
    assert (result.output, result.stop) == (output, "done")


@pytest.mark.parametrize(
    ("kind", "text", "output"),
    [
        (Sum | str, "A text.", "A text."),
        (Sum | str, '{"value": 3}', Sum(value=3)),
        (list[int], "[1, 2]", [1, 2]),
        (list[int], '{"value": [1, 2]}', [1, 2]),
        (Sum | Failure, '{"reason": "no"}', Failure("no")),
        (str, "A text.", "A text."),
    ],
)
async def test_a_text_is_read_as_the_answer_that_it_has(kind: Any, text: str, output: object):
    """As JSON, in the box or without it; where a text is an answer, too, any text is one."""
    result = await create_agent(ScriptedChatModel(script=[text]), response_format=kind).ainvoke("go")
    assert result.output == output


async def test_a_text_that_fits_no_type_is_told_the_tools_to_call():
    """And the model answers again."""
    model = ScriptedChatModel(script=["Hm.", Turn(tool_calls=[call("Failure", reason="no")])])
    result = await create_agent(model, response_format=Sum | Failure).ainvoke("go")
    assert result.output == Failure("no")
    assert "by calling Sum or Failure." in model.requests[1].messages[-1].text


def test_types_that_have_one_name_or_are_none_are_refused():
    """When the agent is made."""
    other = type("Sum", (BaseModel,), {"__annotations__": {"total": int}})
    for kind, says in ((Sum | other, "two answers are called 'Sum'"), (5, "cannot be 5"), (lambda: 1, "cannot be")):
        with pytest.raises(InvalidInput, match=says):
            create_agent(ScriptedChatModel(script=[]), response_format=kind)
