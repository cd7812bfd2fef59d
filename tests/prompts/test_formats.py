"""Templates as text: what is filled in, what is refused, and that values are never read as templates."""

from datetime import date
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.errors import InvalidInput
from hocket.prompts import PromptTemplate, check_valid_template, get_template_variables, jinja2_formatter

made = PromptTemplate.from_template
FORMATS = ["f-string", "jinja2"]


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("Hi {name}!", {"name": "Ada"}, "Hi Ada!"),
        ("{a}{a}{b}", {"a": 1, "b": None}, "11None"),
        ("{{a}} {a} {{", {"a": "x"}, "{a} x {"),
        ("{price:.2f} {n:>4} {n:04d}", {"price": 1.005, "n": 7}, "1.00    7 0007"),
        ("{x!r} {x!s:>3} {x!a}", {"x": "é"}, "'é'   é '\\xe9'"),
        ("{day:%Y-%m-%d}", {"day": date(2024, 2, 29)}, "2024-02-29"),
        ("{näme} {my var} {a-b}", {"näme": 1, "my var": 2, "a-b": 3}, "1 2 3"),
        ("no variables\n", {}, "no variables\n"),
        ("", {}, ""),
    ],
)
def test_variables_are_filled_in(template: str, values: dict[str, Any], text: str) -> None:
    """By name, with conversions and format specs, as in Python; braces of the text's own are written twice."""
    assert made(template).format(**values) == text


REFUSED = {
    "{x.__class__}": "{x.__class__}",
    "{x.__init__.__globals__[secret]}": "__globals__",
    "{x[0]}": "{x[0]}",
    "{x[__class__]}": "{x[__class__]}",
    "{x.y!r}": "{x.y}",
    "{x:{x.__class__}}": "inside its format spec",
    "{x:{width}}": "inside its format spec",
    "{}": "{}",
    "{0}": "{0}",
    "{0.__class__}": "__class__",
    "{ x }": "{ x }",
    '{"a": 1}': "written twice",
    "{'a'}": "written twice",
    "{x()}": "{x()}",
    "{x!z}": "!z",
    "{x:>99999}": "9999 characters",
    "{x:.100000f}": "9999 characters",
    "{": "written twice",
    "}": "written twice",
    "{a": "written twice",
    "{a{b}}": "written twice",
}


@pytest.mark.parametrize(("template", "told"), REFUSED.items(), ids=REFUSED)
def test_fields_are_names_and_nothing_else(template: str, told: str) -> None:
    """When the prompt is made, by an error that names the field: nothing is looked up, nothing fills the memory."""
    with pytest.raises(InvalidInput) as caught:
        made(template)
    assert told in str(caught.value)


@pytest.mark.parametrize("template_format", FORMATS)
@given(value=st.text())
def test_values_are_never_read_as_templates(template_format: str, value: str) -> None:
    """A stranger's text comes out as it went in: braces, percents, and what looks like a field."""
    template = {"f-string": "<{x}>", "jinja2": "<{{ x }}>"}[template_format]
    assert PromptTemplate(template=template, template_format=template_format).format(x=value) == f"<{value}>"  # type: ignore[arg-type]


@given(st.text())
def test_any_text_can_be_written_as_a_template(text: str) -> None:
    """With its braces doubled."""
    assert made(text.replace("{", "{{").replace("}", "}}")).format() == text


@given(st.text(alphabet="{}[].!:x0a ", max_size=12))
def test_a_template_is_refused_or_can_be_filled_in(template: str) -> None:
    """There is no third way: no other error, and no field that is no plain name."""
    try:
        prompt = made(template)
    except InvalidInput:
        return
    assert not any(mark in name for name in prompt.input_variables for mark in ".[]")
    try:
        assert isinstance(prompt.format(**dict.fromkeys(prompt.input_variables, "v")), str)
    except InvalidInput as error:
        assert "cannot be formatted" in str(error)  # a text does not take every format spec


@pytest.mark.parametrize(
    ("template", "values", "text"),
    [
        ("Hi {{ name }}!\n", {"name": "Ada"}, "Hi Ada!\n"),
        ("{% for x in xs %}{{ x }},{% endfor %}", {"xs": [1, 2]}, "1,2,"),
        ("{% if a is defined %}{{ a }}{% endif %}", {"a": "<b> & c"}, "<b> & c"),
        ("{{ who.name }}", {"who": {"name": "x"}}, "x"),
    ],
)
def test_jinja2(template: str, values: dict[str, Any], text: str) -> None:
    """Jinja2's own language, nothing escaped."""
    assert jinja2_formatter(template, **values) == text
    assert get_template_variables(template, "jinja2") == sorted(values)


@pytest.mark.parametrize(
    "template",
    [
        "{{ x.__class__ }}",
        "{{ x.__class__.__mro__[1].__subclasses__() }}",
        "{{ ''['__class__'] }}",
        "{{ x|attr('__class__') }}",
        "{{ x.append(1) }}",
        "{{ x.nothing }}",
        "{{ cycler.__init__.__globals__ }}",
        "{{ range(10000000000)|list }}",
        "{{ x",
        "{% include '/etc/passwd' %}",
        "{{ x|nothing }}",
    ],
)
def test_jinja2_is_kept_in_its_sandbox(template: str) -> None:
    """No private attributes, no changes, no endless ranges, no files; what is wrong is an error, and never empty."""
    values: list[int] = [1]
    with pytest.raises(InvalidInput, match="Jinja2"):
        PromptTemplate(template=template, template_format="jinja2").format(x=values)
    assert values == [1]


def test_variables_are_found() -> None:
    """Sorted, each once."""
    assert get_template_variables("{b} {a} {b!r} {{c}}") == ["a", "b"]


def test_a_template_is_held_against_its_variables() -> None:
    """Where somebody asks for it."""
    check_valid_template("{a} {b}", "f-string", ["b", "a"])
    with pytest.raises(InvalidInput, match=r"\['a', 'b'\].*\['a'\]"):
        check_valid_template("{a} {b}", "f-string", ["a"])


@pytest.mark.parametrize("template_format", ["fstring", "f"])
def test_other_formats_are_refused(template_format: str) -> None:
    """By name."""
    with pytest.raises(InvalidInput, match=template_format):
        get_template_variables("x", template_format)


@pytest.mark.parametrize(
    "template",
    [
        "{{ 'a' * 10**10 }}",
        "{{ 10**10 * 'a' }}",
        "{{ [1] * 10**10 }}",
        "{{ 10**(10**10) }}",
        "{{ 'a'.ljust(10**10) }}",
        "{{ 'a'.center(n * n) }}",
        "{{ 'a' | center(10**10) }}",
        "{{ 'a' | indent(10**10) }}",
        "{{ '%10000000000d' % 1 }}",
        "{{ '%*d' % (10**10, 1) }}",
        "{{ '%10000000000d' | format(1) }}",
        "{{ '{:10000000000}'.format(1) }}",
        "{{ '{:{}}'.format(1, 10**10) }}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x ~ ns.x %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='ab') %}{% for i in range(60) %}{% set ns.x = ns.x + ns.x %}{% endfor %}{{ ns.x }}",
        "{% set ns = namespace(x='bb') %}{% for i in range(9) %}{% set ns.x = ns.x.replace('b', ns.x) %}{% endfor %}",
        "{% set ns = namespace(x='ab') %}{% for i in range(9) %}{% set ns.x = ns.x.join(ns.x) %}{% endfor %}",
        "{% for i in range(99999) %}{% for j in range(99999) %}{{ 'aaaaaaaaaa' }}{% endfor %}{% endfor %}",
    ],
)
def test_a_jinja2_template_makes_nothing_huge(template: str) -> None:
    """10 GB were filled by a template of 16 characters. It is refused before the memory is asked for."""
    with pytest.raises(InvalidInput, match=r"cannot be filled in: .*(allowed|would have more than 10,000,000)"):
        PromptTemplate.from_template(template, template_format="jinja2").invoke({"n": 10**5})


def test_a_jinja2_template_of_ordinary_size_is_filled_in() -> None:
    """Products, joins, widths and concatenations of the sizes that prompts have."""
    text = "word " * 20_000
    template = (
        "{{ '-' * 40 }}{{ text | truncate(20000) | length }}{{ text | replace('word', 'verb') | length }}"
        "{{ ['a', 'b'] | join(', ') }}{{ 'x' ~ 1 ~ none }}{{ '%5.1f' % 3.14159 }}{{ '{:>4}'.format('y') }}{{ 2 ** 10 }}"
        "{{ text | wordwrap(80) | length }}{{ 'a' | center(5) }}{{ {'a': 1} | tojson(indent=2) }}"
    )
    filled = PromptTemplate.from_template(template, template_format="jinja2").format(text=text)
    assert filled.startswith("-" * 40) and "a, bx1None  3.1   y1024" in filled
