"""Prompts that programs bring along: mustache, examples, a schema, an image, a document."""

from typing import Any

import pytest
from pydantic import BaseModel

from hocket.errors import InvalidInput
from hocket.language_models import ScriptedChatModel
from hocket.load import dumpd, load
from hocket.messages import AIMessage
from hocket.prompts import (
    ChatPromptTemplate,
    FewShotPromptWithTemplates,
    ImagePromptTemplate,
    PromptTemplate,
    StructuredPrompt,
    mustache_formatter,
    mustache_template_vars,
    validate_jinja2,
)

mustache = pytest.mark.skipif("not __import__('importlib').util.find_spec('pystache')", reason="pystache is missing")


@mustache
@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("Hi {{x}} {{{x}}} {{&x}}", {"x": '<b>&"'}, 'Hi &lt;b&gt;&amp;&quot; <b>&" <b>&"'),
        ("{{#s}}-{{.}}{{/s}}", {"s": [1, 2]}, "-1-2"),
        ("{{#s}}{{n}},{{/s}}", {"s": [{"n": 1}, {"n": 2}]}, "1,2,"),
        ("{{#s}}yes{{/s}}{{^s}}no{{/s}}", {"s": []}, "no"),
        ("{{a.b}}", {"a": {"b": 1}}, "1"),
        ("{{x}}{{y}}", {"x": None}, ""),
        ("{{x}}{{y}}{{z.a}}", {"x": [], "y": {}, "z": {"a": ()}}, ""),
        ("{{#s}}-{{/s}}{{^e}}no{{/e}}", {"s": [{}, {}], "e": {}}, "--no"),
        ("{{x}} {{y}}", {"x": False, "y": 0}, "False 0"),
        ("{{#s}}{{x}}{{/s}}", {"s": True, "x": 3}, "3"),
        ("{{x.__class__}}{{x.real}}", {"x": 3}, ""),
    ],
)
def test_mustache_is_filled_in_as_by_langchain(template: str, values: dict[str, Any], text: str) -> None:
    assert mustache_formatter(template, **values) == text
    prompt = PromptTemplate.from_template(template, template_format="mustache")
    assert set(prompt.input_variables) == mustache_template_vars(template)
    assert prompt.format(**{**dict.fromkeys(prompt.input_variables), **values}) == text


@mustache
def test_a_mustache_template_sees_plain_data_alone() -> None:
    """pystache would read the attribute, and call it."""

    class Account:
        called = 0

        def delete(self) -> str:
            self.called += 1
            return "gone"

    account = Account()
    assert mustache_formatter("{{a.delete}}", a=account) == ""
    assert "Account" in mustache_formatter("{{{a}}}", a=account)
    assert account.called == 0


@mustache
@pytest.mark.parametrize(
    "template", ["{{> secrets}}", "{{=<% %>=}}<% x %>", "{{#a}}never closed", "{{/a}}", "{{#a}}{{#b}}{{/a}}{{/b}}"]
)
def test_partials_delimiters_and_open_sections_are_refused(template: str) -> None:
    with pytest.raises(InvalidInput, match="mustache"):
        PromptTemplate.from_template(template, template_format="mustache")


@mustache
def test_a_chat_prompt_in_mustache() -> None:
    parts = [("system", "You are {{who}}."), ("placeholder", "{{history}}"), ("human", "{{#items}}{{.}} {{/items}}")]
    prompt = ChatPromptTemplate.from_messages(parts, template_format="mustache")
    assert (prompt.input_variables, prompt.optional_variables) == (["items", "who"], ["history"])
    messages = prompt.format_messages(who="a cook", items=["egg", "salt"], history=[AIMessage("Yes?")])
    assert [message.text for message in messages] == ["You are a cook.", "Yes?", "egg salt "]
    assert load(dumpd(prompt)) == prompt


def test_a_prompt_is_made_from_examples() -> None:
    prompt = PromptTemplate.from_examples(["Q: 1", "Q: {two}"], "Q: {question}", ["question", "two"], prefix="Answer.")
    assert prompt.format(two=2, question=3) == "Answer.\n\nQ: 1\n\nQ: 2\n\nQ: 3"


async def test_examples_stand_between_prompts() -> None:
    prompt = FewShotPromptWithTemplates(
        prefix=PromptTemplate.from_template("Speak {language}."),
        example_prompt=PromptTemplate.from_template("{word} is {{{meaning}}}"),
        examples=[{"word": "uno", "meaning": "{1}"}],
        suffix=PromptTemplate.from_template("{question} is"),
        example_separator="\n",
    )
    assert prompt.input_variables == ["language", "question"]
    assert await prompt.aformat(language="Spanish", question="dos") == "Speak Spanish.\nuno is {{1}}\ndos is"
    assert "{word}" in prompt.pretty_repr()
    assert load(dumpd(prompt)) == prompt
    with pytest.raises(InvalidInput, match="'question'"):
        prompt.format(language="Spanish")


class City(BaseModel):
    name: str


async def test_a_prompt_with_a_schema_asks_for_an_object() -> None:
    prompt = StructuredPrompt([("human", "Where is {what}?")], City)
    model = ScriptedChatModel(script=['{"name": "Paris"}'] * 3)
    assert await (prompt | model).ainvoke({"what": "the Louvre"}) == City(name="Paris")
    assert await (prompt | model | (lambda city: city.name)).ainvoke({"what": "it"}) == "Paris"
    other = StructuredPrompt.from_messages_and_schema([("human", "{x}")], City, include_raw=True)
    assert (await other.pipe(model).ainvoke({"x": 1}))["parsed"] == City(name="Paris")
    with pytest.raises(InvalidInput, match="not function"):
        prompt | (lambda x: x)
    with pytest.raises(InvalidInput, match="needs a schema"):
        StructuredPrompt([("human", "{x}")])


def test_an_image_is_a_prompt_by_its_address() -> None:
    prompt = ImagePromptTemplate(template={"url": "https://example.com/{name}.png", "detail": "low"})
    assert prompt.input_variables == ["name"]
    assert prompt.format(name="a") == {"url": "https://example.com/a.png", "detail": "low"}
    assert prompt.invoke({"name": "a"}).to_string() == "https://example.com/a.png"
    assert ImagePromptTemplate(input_variables=["url"]).format(url="data:x") == {"url": "data:x"}
    with pytest.raises(InvalidInput, match="path is refused"):
        ImagePromptTemplate(template={"path": "/etc/passwd"})
    with pytest.raises(InvalidInput, match="has a url"):
        ImagePromptTemplate(template={"detail": "low"}).format()


def test_variables_of_jinja2_that_differ_are_warned_of() -> None:
    with pytest.warns(UserWarning, match="has no name for a"):
        validate_jinja2("{{ a }} {{ b }}", ["b"])
    with pytest.warns(UserWarning, match="template has not, c"):
        validate_jinja2("{{ b }}", ["b", "c"])
