"""JSON out of answers: fences, strictness, pieces, pydantic models."""

import json
from typing import Any

import pytest
from hypothesis import given, strategies as st
from pydantic import BaseModel

from hocket.messages import AIMessage, AIMessageChunk
from hocket.output_parsers import JsonOutputParser, OutputParserException, PydanticOutputParser
from hocket.outputs import Generation

VALUE = {"name": "Ada ```", "born": 1815, "tags": ["x", None, True, {"y": -1.5e3}]}
PLAIN = json.dumps(VALUE)

READ = {
    "plain": PLAIN,
    "space around": f"\n\n {PLAIN} \n",
    "indented": json.dumps(VALUE, indent=2),
    "fenced": f"```json\n{PLAIN}\n```",
    "capital": f"```JSON\n{PLAIN}\n```",
    "no language": f"```\n{PLAIN}```",
    "four backticks": f"````json\n{PLAIN}\n````",
    "prose around": f"Here it is:\n```json\n{PLAIN}\n```\nAnything else? {{}}",
    "thoughts before": f"<think>[1]</think>```{PLAIN}```",
    "no end": f"```json\n{PLAIN}\n",
}
REFUSED = {
    "nothing": "",
    "words": "I cannot do that.",
    "cut": PLAIN[:-3],
    "words after": f"{PLAIN} I hope this helps!",
    "words before": f"Sure: {PLAIN}",
    "two values": f"{PLAIN}{PLAIN}",
    "words in the fence": f"```json\n{PLAIN}\nas you asked\n```",
    "empty fence": "```json\n```",
    "NaN": "[NaN]",
    "Infinity": "[-Infinity]",
    "comment": '{"a": 1 // one\n}',
    "trailing comma": "[1,]",
    "too deep": "[" * 5000 + "]" * 5000,
    "too many digits": "[" + "1" * 5000 + "]",
}


class Person(BaseModel):
    name: str
    born: int = 0


def streamed(parser: Any, text: str, size: int = 1) -> list[Any]:
    """Return what a parser shows of an answer in pieces of this size."""
    return list(parser.transform(iter([text[start : start + size] for start in range(0, len(text), size)])))


@pytest.mark.parametrize("text", READ.values(), ids=READ)
def test_json_is_found(text: str) -> None:
    """Plain or fenced, in one piece or many: the same value."""
    assert JsonOutputParser().invoke(AIMessage(text)) == VALUE
    for size in (1, 2, 7):
        assert streamed(JsonOutputParser(), text, size)[-1] == VALUE


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED)
def test_what_is_not_json_is_refused(text: str) -> None:
    """With the reason and the answer, in one piece or many."""
    with pytest.raises(OutputParserException, match="not JSON") as caught:
        JsonOutputParser().parse(text)
    assert caught.value.llm_output == text
    assert len(str(caught.value)) < 500
    with pytest.raises(OutputParserException, match="not JSON"):
        streamed(JsonOutputParser(), text, 3)


@given(st.sampled_from([*READ.values(), *REFUSED.values()]).filter(lambda text: len(text) < 300), st.data())
def test_where_an_answer_is_cut_changes_nothing(text: str, data: st.DataObject) -> None:
    """Every split of an answer gives the value of the whole, or its error."""
    cut = data.draw(st.integers(min_value=0, max_value=len(text)))

    def outcome(*pieces: str) -> Any:
        try:
            return list(JsonOutputParser().transform(iter(pieces)))[-1]
        except OutputParserException as error:
            return str(error)

    assert outcome(text[:cut], text[cut:]) == outcome(text)


@pytest.mark.parametrize(
    ("text", "value"), [("```true```", True), ("null", None), ("```json5\n1```", 1), ("```[]", [])]
)
def test_a_word_may_be_the_value(text: str, value: Any) -> None:
    """A language is what is no word of JSON."""
    assert JsonOutputParser().parse(text) == value
    assert streamed(JsonOutputParser(), text) == [value]


def test_line_breaks_in_strings_are_taken() -> None:
    """Models write them; `json` takes them with strict=False."""
    assert JsonOutputParser().parse('{"poem": "a\nb"}') == {"poem": "a\nb"}


def test_an_answer_is_shown_as_it_grows() -> None:
    """Each value once, none that a later one contradicts."""
    chunks = [AIMessageChunk(text) for text in ('{"a', '": 1', '2, "b', '": "', "x", "", "y", '"', "}")]
    assert list(JsonOutputParser().transform(iter(chunks))) == [
        {},
        {"a": 12},
        {"a": 12, "b": ""},
        {"a": 12, "b": "x"},
        {"a": 12, "b": "xy"},
    ]


def test_the_last_value_shown_is_the_callers_own() -> None:
    """An answer whose end shows nothing new does not repeat itself; null is an answer, too."""
    assert streamed(JsonOutputParser(), "[1] ") == [[], [1]]
    assert streamed(JsonOutputParser(), "null") == [None]
    assert streamed(JsonOutputParser(), "12") == [12]


async def test_an_answer_is_shown_under_an_event_loop() -> None:
    """The async face shows the same."""

    async def answer() -> Any:
        for text in ("[", "1", ",2]"):
            yield text

    assert [value async for value in JsonOutputParser().atransform(answer())] == [[], [1, 2]]


def test_partial_results() -> None:
    """`parse_result` with `partial`, as LangChain has it: what stands firm, None if nothing does."""
    parser = JsonOutputParser()
    assert parser.parse_result([Generation(text='{"a": [1, 2')], partial=True) == {"a": [1]}
    assert parser.parse_result([Generation(text="Well")], partial=True) is None


def test_an_answer_is_validated() -> None:
    """A model's instance, whole or growing; an instance is shown when what stands firm makes one."""
    parser = PydanticOutputParser(pydantic_object=Person)
    text = '{"name": "Ada", "born": 1815}'

    assert parser.invoke(text) == Person(name="Ada", born=1815)
    assert streamed(parser, text, 5)[-1] == Person(name="Ada", born=1815)
    assert Person(name="Ad") in streamed(parser, text)


@pytest.mark.parametrize("text", ['{"born": 1}', '{"name": "A", "born": "x"}', "[]"])
def test_an_answer_that_is_no_instance_is_refused(text: str) -> None:
    """The message tells the model what is wrong, field by field, and the cause is pydantic's."""
    parser = PydanticOutputParser(pydantic_object=Person)
    with pytest.raises(OutputParserException, match="no Person") as caught:
        parser.parse(text)
    assert caught.value.observation is not None
    with pytest.raises(OutputParserException, match="no Person"):
        streamed(parser, text)


def test_instructions_hold_the_schema() -> None:
    """What a model is told names the fields; without a schema it is told to answer in JSON."""
    assert '"born"' in PydanticOutputParser(pydantic_object=Person).get_format_instructions()
    assert '"born"' in JsonOutputParser(pydantic_object=Person).get_format_instructions()
    assert "JSON" in JsonOutputParser().get_format_instructions()
