"""The embedded model takes the options that all models share, under their names, and says which it does not heed."""

from typing import Any

import pytest

from hocket.errors import LocalModelError, Unsupported
from hocket.language_models.option_policy import VOCABULARY
from hocket.language_models.options import merge_options
from hocket.messages import HumanMessage
from hocket.providers.local import ChatLocal
from hocket.providers.local.encode import encode_request
from hocket.providers.local.options import CallOptions, ModelOptions

TOOL = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}

# An option, a value, and the field that the runtime knows it by.
TABLE: list[tuple[str, Any, str]] = [
    ("temperature", 0.0, "temperature"),
    ("max_tokens", 5, "max_tokens"),
    ("top_p", 0.5, "top_p"),
    ("top_k", 0, "top_k"),
    ("min_p", 0.0, "min_p"),
    ("seed", 0, "seed"),
    ("stop", ["END"], "stop"),
    ("repetition_penalty", 1.3, "repeat_penalty"),
    ("frequency_penalty", 0.0, "frequency_penalty"),
    ("presence_penalty", 0.5, "presence_penalty"),
    ("response_format", {"type": "json_object"}, "response_format"),
    ("tools", [TOOL], "tools"),
]


def request(model: ChatLocal, **given: Any) -> dict[str, Any]:
    return encode_request([HumanMessage("hi")], merge_options(model, given, CallOptions))


def test_every_option_is_taken_or_refused() -> None:
    """None is forgotten."""
    beside = {"extra_body", "tool_choice", "prompt_cache"}
    assert {name for name, *_ in TABLE} | beside == VOCABULARY & ModelOptions.model_fields.keys()


@pytest.mark.parametrize(("name", "value", "field"), TABLE, ids=[name for name, *_ in TABLE])
def test_an_option_of_the_model_and_of_the_call(name: str, value: Any, field: str) -> None:
    """Both go in under the runtime's name, and None takes either back."""
    bare = request(ChatLocal())
    assert request(ChatLocal(**{name: value}))[field] == request(ChatLocal(), **{name: value})[field] == value
    unset = request(ChatLocal(**{name: value}), **{name: None})
    assert field not in unset or (field == "max_tokens" and unset[field] == -1)
    assert bare.keys() == {"messages", "temperature", "top_p", "max_tokens"}


def test_further_fields() -> None:
    """What llama.cpp understands beyond these goes in as it is."""
    assert request(ChatLocal(extra_body={"mirostat": 2}), extra_body={"typical_p": 0.9}) | {"mirostat": 2} == {
        **request(ChatLocal()),
        "mirostat": 2,
        "typical_p": 0.9,
    }


@pytest.mark.parametrize("name", sorted(VOCABULARY - ModelOptions.model_fields.keys()))
async def test_what_it_does_not_heed(name: str) -> None:
    """It is refused by name before any work."""
    value: Any = {"logit_bias": {1: 2}, "functions": [TOOL], "parallel_tool_calls": True, "logprobs": True}.get(name, 3)
    value = str(value) if name in ("response_mime_type", "reasoning_effort", "function_call") else value
    with pytest.raises(Unsupported, match=f"ChatLocal takes no {name}: leave it out"):
        await ChatLocal().ainvoke("Hi", **{name: value})
    with pytest.raises(Unsupported, match=f"ChatLocal takes no {name}"):
        await ChatLocal(**{name: value}).ainvoke("Hi")


async def test_it_answers_with_them() -> None:
    """With one token to choose from, any temperature takes the likeliest; what it does not heed is left out on request."""
    model = ChatLocal(max_tokens=4, unsupported="drop")
    steady = await model.ainvoke("Count: one, two,", temperature=0)
    hot = await model.ainvoke("Count: one, two,", temperature=2.0, top_k=1, min_p=0, n=2, candidate_count=2)
    assert hot.text == steady.text != ""


async def test_other_weights_for_one_call() -> None:
    """A call may name another file."""
    with pytest.raises(LocalModelError, match="no-such"):
        await ChatLocal(max_tokens=1).ainvoke("Hi", model="/no-such.gguf")


def test_the_profile() -> None:
    """The window is the model's own; it reads text alone."""
    profile = ChatLocal(n_ctx=512).profile or {}
    assert (profile["max_input_tokens"], profile["image_inputs"], profile["tool_calling"]) == (512, False, True)
