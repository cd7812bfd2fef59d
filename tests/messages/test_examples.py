"""Examples of answers in tool calls, as messages."""

import pytest
from pydantic import BaseModel

from hocket.errors import InvalidInput
from hocket.messages import AIMessage, HumanMessage, ToolMessage, tool_example_to_messages, validate_history


class Person(BaseModel):
    name: str
    age: int | None = None


def test_an_example_is_a_question_calls_and_results() -> None:
    people = [Person(name="Ada"), Person(name="Bo", age=3)]
    human, ai, *results, last = tool_example_to_messages("Ada and Bo, 3", people, ["one", "two"], ai_response="Done.")
    assert isinstance(human, HumanMessage) and human.text == "Ada and Bo, 3"
    assert isinstance(ai, AIMessage)
    calls = [(call["name"], call["args"]) for call in ai.tool_calls]
    assert calls == [("Person", {"name": "Ada", "age": None}), ("Person", {"name": "Bo", "age": 3})]
    assert [result.text for result in results] == ["one", "two"]
    answered = [result.tool_call_id for result in results if isinstance(result, ToolMessage)]
    assert answered == [call["id"] for call in ai.tool_calls]
    assert last.text == "Done."
    validate_history([human, ai, *results, last])


def test_results_have_a_default_and_must_be_as_many() -> None:
    assert tool_example_to_messages("x", [Person(name="Ada")])[-1].text == "You have correctly called this tool."
    with pytest.raises(InvalidInput, match="2 tool_outputs for 1 tool_calls"):
        tool_example_to_messages("x", [Person(name="Ada")], ["a", "b"])
