"""Prompts that are one text."""

import pickle
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from hocket.errors import InvalidInput
from hocket.messages import HumanMessage
from hocket.prompts import PromptTemplate, StringPromptTemplate

made = PromptTemplate.from_template


class Loud(StringPromptTemplate):
    """A user's own."""

    def format(self, /, **kwargs: Any) -> str:
        return str(self._merge_values(kwargs)["text"]).upper()


def test_a_prompt_becomes_what_models_take() -> None:
    """A text, or a user's message."""
    value = made("Hi {name}").invoke({"name": "Ada", "unused": 1})
    assert value.to_string() == "Hi Ada"
    assert value.to_messages() == [HumanMessage("Hi Ada")]


def test_a_prompt_of_one_variable_takes_its_value() -> None:
    """Alone, unless it is a mapping; a prompt of more does not."""
    assert made("Hi {name}").invoke("Ada").to_string() == "Hi Ada"  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match=r"\['a', 'b'\], not str"):
        made("{a} {b}").invoke("Ada")  # type: ignore[arg-type]


@pytest.mark.parametrize("verb", ["invoke", "format"])
def test_missing_values_are_named(verb: str) -> None:
    """With what was given, near misses, and the way to write braces."""
    prompt = made("{question} {context} {style}")
    values = {"qestion": 1, "style": 2}
    with pytest.raises(InvalidInput) as caught:
        prompt.invoke(values) if verb == "invoke" else prompt.format(**values)
    told = str(caught.value)
    assert "no value for 'context', 'question'" in told
    assert "given: 'qestion', 'style'" in told
    assert "did you mean 'question' for 'qestion'?" in told
    assert "{{context}}" in told


def test_a_missing_value_is_a_key_error_too() -> None:
    """``except KeyError``, written for LangChain, goes on working; the text is hocket's, and survives a pickle."""
    with pytest.raises(KeyError) as caught:
        made("{a}").invoke({})
    assert isinstance(caught.value, InvalidInput)
    assert str(caught.value).startswith("PromptTemplate has no value for 'a'")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


def test_names_like_those_of_arguments_are_values() -> None:
    """`self`, `config`, `kwargs`, `stop`: a value's name is the template's affair."""
    values = {name: f"<{name}>" for name in ("self", "config", "kwargs", "input", "stop", "template")}
    assert made(" ".join(f"{{{name}}}" for name in values)).invoke(values).to_string() == " ".join(values.values())


def test_names_that_are_no_texts_are_refused() -> None:
    """They can be no variable's."""
    with pytest.raises(InvalidInput, match="no texts"):
        made("{a}").invoke({1: 2})  # type: ignore[dict-item]


def test_values_may_be_given_beforehand() -> None:
    """A function is asked at each call; a call's own value comes first; the prompt itself stays as it is."""
    count = iter(range(10))
    prompt = made("{n} {name}", partial_variables={"n": lambda: next(count)})
    ada = prompt.partial(name="Ada")

    assert prompt.input_variables == ["name"]
    assert ada.input_variables == []
    assert [ada.format(), ada.format(name="Bob"), ada.format(n="x")] == ["0 Ada", "1 Bob", "x Ada"]
    assert prompt.partial_variables.keys() == {"n"}


def test_prompts_add_up() -> None:
    """With texts and one another; what was given beforehand stays."""
    prompt = made("{a}").partial(a=1) + " {b}" + made(" {c}").partial(c=3)
    assert prompt.input_variables == ["b"]
    assert prompt.format(b=2) == "1 2 3"
    with pytest.raises(InvalidInput, match="jinja2"):
        made("{a}") + made("x", template_format="jinja2")
    with pytest.raises(InvalidInput, match="beforehand for a"):
        made("{a}").partial(a=1) + made("{a}").partial(a=2)
    with pytest.raises(TypeError):
        made("{a}") + 1


def test_a_template_may_come_from_a_file(tmp_path: Path) -> None:
    """As UTF-8, wherever it is read."""
    path = tmp_path / "prompt.txt"
    path.write_bytes("Grüße, {name}".encode())
    assert PromptTemplate.from_file(path).format(name="Ada") == "Grüße, Ada"


def test_given_variables_are_checked_on_request() -> None:
    """Else the template says which there are."""
    assert PromptTemplate(template="{a}", input_variables=["b"]).input_variables == ["a"]
    with pytest.raises(InvalidInput, match="input_variables"):
        PromptTemplate(template="{a}", input_variables=["b"], validate_template=True)
    prompt = PromptTemplate(
        template="{a}{b}", input_variables=["a"], partial_variables={"b": 1}, validate_template=True
    )
    assert prompt.input_variables == ["a"]


def test_misspelt_arguments_are_refused() -> None:
    """Rather than lost."""
    with pytest.raises(ValidationError):
        PromptTemplate(template="x", template_fromat="jinja2")  # type: ignore[call-arg]


def test_a_class_of_ones_own() -> None:
    """`format` suffices."""
    assert Loud(input_variables=["text"]).invoke({"text": "hi"}).to_string() == "HI"
    assert Loud(input_variables=["text"]).partial(text="hi").format() == "HI"
    assert made("{a:.2f}").pretty_repr() == "{a:.2f}"
