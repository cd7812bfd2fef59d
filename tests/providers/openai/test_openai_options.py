"""Every option, wherever it is given, is in the request once, under the server's name; and what becomes of the others."""

from typing import Any

import pytest

from hocket.errors import InvalidInput, Unsupported, UnsupportedOptionWarning
from hocket.language_models.option_policy import VOCABULARY
from hocket.messages import AIMessage, HumanMessage, SystemMessage
from hocket.providers.openai import ChatOpenAI, OpenAI
from hocket.providers.openai.dialects import DIALECTS
from hocket.providers.openai.options import OF_RESPONSES, ModelOptions
from hocket.testing.server import OpenAIFormat, Reply, serve

LIGHTS = {"type": "function", "function": {"name": "lights", "parameters": {"type": "object", "properties": {}}}}
LIGHTS_FUNCTION = {"name": "lights", "parameters": {"type": "object", "properties": {}}}

# An option, a value that is not the default, the field that it goes out as, and a dialect that takes it.
TABLE: list[tuple[str, Any, str, str]] = [
    ("model", "another", "model", "openai"),
    ("temperature", 0.5, "temperature", "openai"),
    ("max_tokens", 5, "max_completion_tokens", "openai"),
    ("max_tokens", 5, "max_tokens", "vllm"),
    ("top_p", 0.95, "top_p", "openai"),
    ("top_k", 40, "top_k", "vllm"),
    ("top_k", 40, "top_k", "openrouter"),
    ("min_p", 0.1, "min_p", "llamacpp"),
    ("min_length", 3, "min_tokens", "vllm"),
    ("repetition_penalty", 1.1, "repetition_penalty", "together"),
    ("repetition_penalty", 1.1, "repeat_penalty", "llamacpp"),
    ("repetition_penalty", 1.1, "repeat_penalty", "lmstudio"),
    ("seed", 42, "seed", "openai"),
    ("stop", ["END"], "stop", "openai"),
    ("n", 3, "n", "openai"),
    ("frequency_penalty", 0.5, "frequency_penalty", "openai"),
    ("presence_penalty", 0.5, "presence_penalty", "openai"),
    ("logit_bias", {"50256": -100}, "logit_bias", "openai"),
    ("logprobs", True, "logprobs", "openai"),
    ("top_logprobs", 2, "top_logprobs", "openai"),
    ("reasoning_effort", "low", "reasoning_effort", "openai"),
    ("verbosity", "low", "verbosity", "openai"),
    ("service_tier", "flex", "service_tier", "openai"),
    ("prompt_cache_key", "k", "prompt_cache_key", "openai"),
    ("prompt_cache_retention", "24h", "prompt_cache_retention", "openai"),
    ("prompt_cache_options", {"mode": "explicit"}, "prompt_cache_options", "openai"),
    ("safety_identifier", "u", "safety_identifier", "openai"),
    ("user", "u", "user", "openai"),
    ("store", False, "store", "openai"),
    ("response_format", {"type": "json_object"}, "response_format", "openai"),
    ("tools", [LIGHTS], "tools", "openai"),
    ("parallel_tool_calls", False, "parallel_tool_calls", "openai"),
    ("modalities", ["text"], "modalities", "openai"),
    ("audio", {"voice": "x"}, "audio", "openai"),
    ("prediction", {"type": "content", "content": "x"}, "prediction", "openai"),
    ("web_search_options", {}, "web_search_options", "openai"),
]
NAMES = [f"{name}-{dialect}" for name, _, _, dialect in TABLE]
NOT_IN_THE_TABLE = {"extra_body", "tool_choice", "functions", "function_call", "prompt_cache"}  # no fields of their own

ZEROS: list[tuple[str, Any]] = [
    *((name, 0.0) for name in ("temperature", "top_p", "min_p", "frequency_penalty", "presence_penalty")),
    *((name, 0) for name in ("seed", "top_k", "top_logprobs", "min_length")),
]
NOWHERE = ("candidate_count", "response_mime_type")
"""Options that no server of this format takes."""


def made(dialect: str = "openai", **fields: Any) -> ChatOpenAI:
    return ChatOpenAI(
        **{"model": "m", "dialect": dialect, "base_url": "http://127.0.0.1:1/v1", "api_key": "k", **fields}
    )


def body(asked: ChatOpenAI, stream: bool = False, **options: Any) -> dict[str, Any]:
    sent: dict[str, Any] = asked.render("hi", stream=stream, **options).json
    return sent


def test_the_table_has_every_option() -> None:
    """No option of the format is left without a test."""
    assert {name for name, *_ in TABLE} | NOT_IN_THE_TABLE == set(ModelOptions.model_fields) - OF_RESPONSES
    assert VOCABULARY - ModelOptions.model_fields.keys() == set(NOWHERE)


@pytest.mark.parametrize(("name", "value", "field", "dialect"), TABLE, ids=NAMES)
async def test_an_option_works_wherever_it_is_given(name: str, value: Any, field: str, dialect: str) -> None:
    """At construction, bound, and with the call: the request says it once, and nothing else is in it."""
    async with serve(OpenAIFormat(), lambda request: Reply("ok")) as server:
        place = {"dialect": dialect, "base_url": server.url, "api_key": "k"}
        await ChatOpenAI(**{"model": "m", **place, name: value}).ainvoke("hi")  # type: ignore[arg-type]
        model = ChatOpenAI(model="m", **place)  # type: ignore[arg-type]
        await model.bind(**{name: value}).ainvoke("hi")
        await model.ainvoke("hi", **{name: value})
        await model.ainvoke("hi")

    *said, unsaid = (request.json for request in server.requests)
    expected = {"model": "m", "messages": [{"role": "user", "content": "hi"}]}
    assert said == [{**expected, field: value}] * 3
    assert unsaid == expected


def test_functions_are_tools_wherever_they_are_given() -> None:
    """The deprecated names mean the same, and say so."""
    older: dict[str, Any] = {"functions": [LIGHTS_FUNCTION], "function_call": {"name": "lights"}}
    expected = body(made(), tools=[LIGHTS], tool_choice="lights")
    for model, options in ((made(**older), {}), (made(), older), (made(tools=None), older)):
        with pytest.warns(DeprecationWarning, match="use tools and tool_choice"):
            assert body(model, **options) == expected
    assert body(made(), function_call=None) == body(made())


@pytest.mark.parametrize(("name", "zero"), ZEROS)
def test_zero_is_a_value_and_none_is_not(name: str, zero: Any) -> None:
    """0 is sent; None is not, and takes back what the model says."""
    field = "min_tokens" if name == "min_length" else name
    model = made("vllm", **{name: zero})
    assert body(model)[field] == zero
    assert field not in body(model, **{name: None})
    assert body(made("vllm", **{name: 1}), **{name: zero})[field] == zero


async def test_later_beats_earlier() -> None:
    """What the call says goes over what was bound, and that over what the model says; the model stays as it is."""
    async with serve(OpenAIFormat(), lambda request: Reply("ok")) as server:
        model = ChatOpenAI(model="a", base_url=server.url, temperature=0.1, seed=1, top_p=0.1)
        await model.bind(temperature=0.2, seed=2, model="b").ainvoke("hi", temperature=0.3)
        await model.ainvoke("hi")

    bound, bare = (request.json for request in server.requests)
    assert [bound[name] for name in ("model", "temperature", "seed", "top_p")] == ["b", 0.3, 2, 0.1]
    assert [bare[name] for name in ("model", "temperature", "seed", "top_p")] == ["a", 0.1, 1, 0.1]


def test_a_limit_has_one_field() -> None:
    """The older name is a matter of the dialect; both are never sent."""
    for dialect, field in (("openai", "max_completion_tokens"), ("deepseek", "max_tokens")):
        sent = body(made(dialect, max_tokens=7), max_tokens=9)
        assert {name: sent[name] for name in sent if name.startswith("max_")} == {field: 9}


def test_tools_of_the_model_itself() -> None:
    """Tools and a choice may be the model's own; a call may take them back."""
    model = made(tools=[LIGHTS], tool_choice="lights")
    assert body(model)["tool_choice"] == {"type": "function", "function": {"name": "lights"}}
    assert body(model, tools=None, tool_choice=None).keys() == {"model", "messages"}


def test_a_streamed_request_is_marked() -> None:
    """And no other."""
    assert body(made(), stream=True)["stream"] is True and "stream" not in body(made())


def test_extra_body_is_sent_as_it_is() -> None:
    """Key by key over the model's; nobody's dict is changed."""
    own, given = {"metadata": {"a": "b"}, "x": 1}, {"x": 2}
    sent = body(made(extra_body=own), extra_body=given)
    assert (sent["metadata"], sent["x"]) == ({"a": "b"}, 2)
    assert (own, given) == ({"metadata": {"a": "b"}, "x": 1}, {"x": 2})


# -- what a server or a model cannot take


@pytest.mark.parametrize("name", NOWHERE)
@pytest.mark.parametrize("dialect", sorted(DIALECTS))
def test_what_no_server_of_the_format_takes(dialect: str, name: str) -> None:
    """It is refused by name, or left out on request."""
    value = "text/plain" if name == "response_mime_type" else 3
    model = made(dialect)
    with pytest.raises(Unsupported, match=f"{dialect} takes no {name}: leave it out"):
        body(model, **{name: value})
    assert body(model, **{name: value}, unsupported="drop") == body(model)
    with pytest.raises(Unsupported, match=f"ChatOpenAI takes no {name}: leave it out"):
        made(dialect, **{name: value})
    with pytest.warns(UnsupportedOptionWarning, match=name):
        assert body(made(dialect, **{name: value}, unsupported="warn")) == body(model)


def test_what_a_dialect_does_not_take_is_refused_when_the_model_is_made() -> None:
    """Not at the first call; None is no value, and a model that leaves options out may have it."""
    with pytest.raises(Unsupported, match="openai takes no repetition_penalty, top_k: leave it out"):
        made("openai", top_k=1, repetition_penalty=1.1, min_p=None)
    assert made("vllm", top_k=1).top_k == 1
    assert body(made("openai", top_k=1, unsupported="drop")) == body(made("openai"))


def test_a_dialect_takes_what_its_table_says() -> None:
    """Everything of the vocabulary is either sent or refused, with every dialect."""
    for dialect in DIALECTS.values():
        assert dialect.refused <= VOCABULARY
        assert not dialect.refused & dialect.words.keys()
        assert set(NOWHERE) <= dialect.refused
    assert {"top_k", "min_p", "repetition_penalty", "min_length"} <= DIALECTS["openai"].refused


REASONING = ("o1", "o3", "o3-mini", "o4-mini-2025-04-16", "gpt-5", "gpt-5-mini", "gpt-5.5")
OTHERS = ("gpt-4o", "gpt-4.1-mini", "gpt-5.2", "gpt-5-chat-latest", "my-own-model")


@pytest.mark.parametrize("name", REASONING)
def test_models_without_a_temperature(name: str) -> None:
    """They take no option of sampling: it is refused, also 0, or on request it is absent."""
    with pytest.raises(Unsupported, match=f"the model {name!r} takes no temperature .*, top_p .*: leave it out"):
        body(made(model=name, temperature=0.0), top_p=0.9)
    assert body(made(model=name, temperature=0.0, unsupported="drop"), top_p=0.9).keys() == {"model", "messages"}
    assert body(made(model=name, temperature=0.0, profile={}))["temperature"] == 0


@pytest.mark.parametrize("name", OTHERS)
def test_models_with_a_temperature(name: str) -> None:
    """Models that take one get it, and so do those of which nothing is known."""
    assert body(made(model=name, temperature=0.0))["temperature"] == 0


def test_the_model_of_the_call_counts() -> None:
    """A call that names another model is judged by that one's profile."""
    model = made(model="gpt-4o", temperature=0.5)
    with pytest.raises(Unsupported, match="the model 'o3' takes no temperature"):
        body(model, model="o3")
    assert body(made(model="o3"), model="gpt-4o", temperature=0.5)["temperature"] == 0.5


def test_tools_and_schemas_where_there_are_none() -> None:
    """By the profile, whose word is the user's to give."""
    model = made(profile={"tool_calling": False, "structured_output": False, "reasoning_output": False})
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    for options in ({"tools": [LIGHTS]}, {"response_format": schema}, {"reasoning_effort": "low"}):
        with pytest.raises(Unsupported, match=f"takes no {next(iter(options))}"):
            body(model, **options)
        assert body(model, **options, unsupported="drop") == body(model)
    assert body(model, tools=[], response_format={"type": "json_object"})["response_format"] == {"type": "json_object"}
    assert model._structured_methods[0] == "function_calling"


@pytest.mark.parametrize("name", ["o1-mini", "o1-preview-2024-09-12", "openai/o1-mini"])
def test_models_that_refuse_system_messages(name: str) -> None:
    """What they would say begins the first question, with a blank line between; other models keep theirs."""
    asked = [
        SystemMessage("Be brief."),
        HumanMessage("Hi"),
        AIMessage("Yes?"),
        SystemMessage("In French."),
        ("user", "So?"),
    ]
    told = [
        {"role": "user", "content": "Be brief.\n\nIn French.\n\nHi"},
        {"role": "assistant", "content": "Yes?"},
        {"role": "user", "content": "So?"},
    ]
    assert made(model=name).render(asked).json["messages"] == told
    assert made(model="o1").render(asked).json["messages"][0] == {"role": "system", "content": "Be brief."}


def test_instructions_without_a_question() -> None:
    """They are the question; one of several parts keeps them, and an empty one says nothing."""
    model = made(model="o1-mini")
    assert model.render([SystemMessage("Be brief.")]).json["messages"] == [{"role": "user", "content": "Be brief."}]
    parts = [{"type": "text", "text": "So?"}]
    said = model.render([SystemMessage(""), SystemMessage("Be brief."), HumanMessage(parts)]).json["messages"]
    assert said == [{"role": "user", "content": [{"type": "text", "text": "Be brief.\n\n"}, *parts]}]
    assert model.render([SystemMessage(""), HumanMessage("Hi")]).json["messages"] == [{"role": "user", "content": "Hi"}]


def test_images_are_never_left_out() -> None:
    """What a model cannot read is refused before anything is sent, whatever the policy is: it is what was asked."""
    picture = [("user", [{"type": "text", "text": "?"}, {"type": "image", "url": "https://e.x/i.png"}])]
    for policy in ("raise", "drop", "warn"):
        with pytest.raises(Unsupported, match="reads no image"):
            made(model="gpt-3.5-turbo", unsupported=policy).render(picture)
    assert made(model="gpt-4o").render(picture).json["messages"][0]["content"][1]["type"] == "image_url"


def test_two_words_for_one_thing() -> None:
    """They contradict each other, whatever the policy is."""
    with pytest.raises(InvalidInput, match="response_format and response_mime_type"):
        body(made(unsupported="drop"), response_format={"type": "json_object"}, response_mime_type="application/json")


@pytest.mark.parametrize("policy", ["raise", "drop", "warn"])
def test_a_typo_is_no_option(policy: Any) -> None:
    """A name that nobody knows is an error under every policy; so is a policy that there is not."""
    with pytest.raises(InvalidInput, match="no option 'temprature'"):
        body(made(), temprature=0, unsupported=policy)
    with pytest.raises(InvalidInput, match="unsupported='dorp' is none of 'raise', 'drop', 'warn'"):
        body(made(), unsupported="dorp")


def test_text_models_have_the_same_options() -> None:
    """One vocabulary, one policy."""

    def text_model(dialect: str, **fields: Any) -> OpenAI:
        place = {"dialect": dialect, "base_url": "http://127.0.0.1:1/v1", "api_key": "k"}
        return OpenAI(model="m", max_tokens=None, **place, **fields)

    vllm, openai = text_model("vllm", top_k=3, stop=["a"], temperature=0), text_model("openai")
    assert vllm.render("hi").json == {"model": "m", "prompt": "hi", "top_k": 3, "stop": ["a"], "temperature": 0}
    with pytest.raises(Unsupported, match="openai takes no top_k"):
        openai.render("hi", top_k=3)
    assert openai.render("hi", top_k=3, unsupported="drop").json == {"model": "m", "prompt": "hi"}
