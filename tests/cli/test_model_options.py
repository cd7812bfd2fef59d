"""`-o name=value`: any option of a model, typed by it."""

from collections.abc import Callable
from typing import Any

import pytest

from hocket.cli.model_options import GivenOptions
from hocket.testing import OpenAIFormat, serve

Inside = Callable[..., Any]


def test_options_are_sent_with_their_types(inside: Inside) -> None:
    """Numbers, truth values, lists and mappings; and a text that only looks like a number."""
    options = ["top_p=0.9", "logprobs=true", "stop=7", 'logit-bias={"5": -1}', "reasoning_effort=low", "timeout=50"]
    given = [word for option in options for word in ("-o", option)]
    with serve(OpenAIFormat(), "Hello.") as server:
        done = inside("chat", "--base-url", server.url, "-m", "small", "--temperature", "0", *given, "Hi")
    assert (done.returncode, done.stdout) == (0, "Hello.\n")
    body = server.requests[0].json
    sent = {name: body[name] for name in ("top_p", "logprobs", "stop", "logit_bias", "reasoning_effort", "temperature")}
    assert sent == {
        "top_p": 0.9, "logprobs": True, "stop": ["7"], "logit_bias": {"5": -1}, "reasoning_effort": "low", "temperature": 0
    }  # fmt: skip


@pytest.mark.parametrize(
    ("options", "says"),
    [
        (["temprature=1"], "the model takes no -o temprature; did you mean --temperature?"),
        (["top_n=1"], "the model takes no -o top_n; did you mean -o top_p?"),
        (["top_p=high"], "-o top_p high will not do: Input should be a valid number"),
        (["top_p=1", "top_p=0.5"], "the option top_p is set twice, by -o and by -o"),
        (["seed=2"], "the option seed is set twice, by --seed and by -o"),
    ],
)
def test_a_wrong_option(inside: Inside, options: list[str], says: str) -> None:
    """It is misuse, and says which one; nothing is asked."""
    given = [word for option in options for word in ("-o", option)]
    done = inside("chat", "-m", "openai:small", "--seed", "1", *given, "Hi", OPENAI_API_KEY="sk-canary")
    assert (done.returncode, done.stdout) == (2, "")
    assert says in done.stderr and len(done.stderr.splitlines()) == 1


def test_a_secret_is_not_repeated(inside: Inside, capsys: pytest.CaptureFixture[str]) -> None:
    """It has been seen by too many already."""
    with pytest.raises(SystemExit) as exited:
        inside("chat", "-o", "api_key=sk-canary", "Hi")
    err = capsys.readouterr().err
    assert exited.value.code == 2 and "hocket keys set" in err and "canary" not in err


def test_options_keep_what_was_typed() -> None:
    """A field that refuses a number is offered the text."""
    with_text: Any = GivenOptions({"a": 7, "b": "x"}, {"a": "007", "b": "x"})
    assert with_text.apply(lambda **fields: fields) == {"a": 7, "b": "x"}
    assert GivenOptions({"a": 1}).at("http://here").values == {"a": 1, "base_url": "http://here"}
