"""Options that a model refuses: what means nothing is left out, the rest is refused in words, or left out if so asked."""

from collections.abc import Iterator
from typing import Any

import pytest

from hocket.errors import InvalidInput, UnknownOption, Unsupported
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.routing import ChatRouter
from hocket.serving import openai_app
from hocket.testing import AnthropicFormat, serve
from hocket.testing.server import Server
from tests.serving.conftest import question, send

CHAT = "/v1/chat/completions"
HARMLESS: dict[str, Any] = {
    "presence_penalty": 0,
    "frequency_penalty": 0,
    "n": 1,
    "temperature": 1,
    "top_p": 1,
    "logit_bias": {},
    "logprobs": False,
    "store": False,
    "service_tier": "auto",
    "response_format": {"type": "text"},
}


@pytest.fixture
def claude() -> Iterator[Server]:
    """A server that speaks Anthropic's format."""
    with serve(AnthropicFormat(), "Hello.") as server:
        yield server


def make_app(server: Server, **options: Any) -> Any:
    model = ChatAnthropic(model="claude-sonnet-4-5", base_url=server.url, api_key="a-key-of-theirs")
    return openai_app({"m": model}, **options)


@pytest.mark.parametrize("stream", [False, True])
async def test_what_asks_for_nothing_is_left_out(claude: Server, stream: bool):
    """And named in the reply; what the model takes is sent."""
    app = make_app(claude)
    for _ in range(2):  # the second time the model is not asked again whether it takes them
        response = await send(app, "POST", CHAT, json=question(stream=stream, **HARMLESS))
        assert response.status_code == 200, response.text
        dropped = "frequency_penalty, logit_bias, logprobs, presence_penalty, store"
        assert response.headers["x-hocket-dropped"] == dropped
    sent = claude.requests[-1].json
    assert (sent["temperature"], sent["top_p"], sent["service_tier"]) == (1, 1, "auto") and len(claude.requests) == 2


async def test_what_asks_for_something_is_refused(claude: Server):
    """In words for somebody who writes HTTP requests."""
    app = make_app(claude)
    response = await send(app, "POST", CHAT, json=question(presence_penalty=0.5, seed=1))
    error = response.json()["error"]
    assert (response.status_code, error["code"]) == (400, "unsupported")
    assert error["message"] == "the model 'm' takes no presence_penalty, seed; leave it out of the request"
    response = await send(app, "POST", CHAT, json=question(no_such_option="x"))
    error = response.json()["error"]
    assert (response.status_code, error["param"]) == (400, "no_such_option")
    assert "extra_body" not in response.text and "unsupported=" not in response.text
    assert not claude.requests


async def test_what_asks_for_something_can_be_left_out(claude: Server):
    """Where the operator says so; a value that is wrong is refused all the same."""
    app = make_app(claude, unsupported="drop")
    form = {"type": "json_object"}
    response = await send(app, "POST", CHAT, json=question(seed=1, user_name="x", response_format=form))
    assert response.status_code == 200, response.text
    assert response.headers["x-hocket-dropped"] == "response_format, seed, user_name"
    response = await send(app, "POST", CHAT, json=question(temperature="hot"))
    assert response.status_code == 400 and len(claude.requests) == 1


@pytest.mark.parametrize("stream", [False, True])
async def test_what_a_model_leaves_out_itself_is_named_too(gpt: Server, stream: bool):
    """Behind a router as well; what its operator has given it and it cannot take is no matter of the client's."""
    profile: Any = {"temperature": False}
    made = {"base_url": gpt.url, "api_key": "a-key-of-theirs", "unsupported": "drop", "profile": profile}
    for model in (
        ChatOpenAI(model="o", **made),
        ChatRouter(deployments=[ChatOpenAI(model="o", **made)]),
        ChatRouter(deployments=[ChatOpenAI(model="o", **made)]).with_fallbacks([ChatOpenAI(model="o", **made)]),
    ):
        response = await send(openai_app({"m": model}), "POST", CHAT, json=question(stream=stream, temperature=0.5))
        assert (response.status_code, response.headers["x-hocket-dropped"]) == (200, "temperature")
        assert "temperature" not in gpt.requests[-1].json
    app = openai_app({"m": ChatOpenAI(model="o", temperature=0.5, **made)})
    response = await send(app, "POST", CHAT, json=question(stream=stream))
    assert response.status_code == 200 and "x-hocket-dropped" not in response.headers


async def test_a_default_that_is_left_out_hides_no_other_value(claude: Server):
    """What was refused as 0 is refused as 0.5, and not left out in silence."""
    app = make_app(claude)
    assert (await send(app, "POST", CHAT, json=question(presence_penalty=0))).status_code == 200
    assert (await send(app, "POST", CHAT, json=question(presence_penalty=0.5))).status_code == 400


async def test_an_option_that_is_taken_is_sent(gpt: Server):
    app = openai_app({"m": ChatOpenAI(model="gpt-4o", base_url=gpt.url, api_key="a-key-of-theirs")})
    response = await send(app, "POST", CHAT, json=question(presence_penalty=0, store=False))
    assert "x-hocket-dropped" not in response.headers
    assert gpt.requests[-1].json.items() >= {"presence_penalty": 0, "store": False}.items()


async def test_an_option_of_the_operators_is_no_fault_of_the_clients(gpt: Server, caplog: pytest.LogCaptureFixture):
    """It cannot leave it out: the service is misconfigured, and the log says how."""
    model = ChatOpenAI(model="gpt-4o", base_url=gpt.url, api_key="a-key-of-theirs")
    for bound in (model.bind(top_k=3), model.bind(no_such_option=3)):
        response = await send(openai_app({"m": bound}, unsupported="drop"), "POST", CHAT, json=question(seed=1))
        assert (response.status_code, response.json()["error"]["code"]) == (500, "misconfigured"), response.text
        assert response.headers["x-should-retry"] == "false"
    assert "top_k" in caplog.text and "no_such_option" in caplog.text and not gpt.requests


@pytest.mark.parametrize("kind", [[], {}, 5])
async def test_an_odd_type_is_a_fault_of_the_request(claude: Server, kind: object):
    """Also where only the model knows which types there are."""
    tool = {"type": "function", "function": {"name": "add", "parameters": {}}}
    messages = [{"role": "user", "content": [{"type": kind}]}]
    for fields in ({"messages": messages}, {"tools": [tool], "tool_choice": {"type": kind}}):
        response = await send(make_app(claude), "POST", CHAT, json=question() | fields)
        assert response.status_code == 400 and not claude.requests, response.text


def test_errors_name_the_options():
    """So that whoever asks can leave them out."""
    model = ChatAnthropic(model="claude-sonnet-4-5", api_key="a-key-of-theirs")
    with pytest.raises(Unsupported) as refused:
        model.render("Hi", seed=1, presence_penalty=0.5)
    assert set(refused.value.options) == {"seed", "presence_penalty"}
    with pytest.raises(UnknownOption) as unknown:
        model.render("Hi", one=1, two=2)
    assert unknown.value.options == ("one", "two")


def test_a_word_for_the_switch():
    with pytest.raises(InvalidInput, match="unsupported is 'warn'; it is 'raise' or 'drop'"):
        openai_app({"m": ChatAnthropic(model="claude-sonnet-4-5", api_key="a-key")}, unsupported="warn")  # type: ignore[arg-type]


async def test_names_that_a_client_makes_up_go_nowhere(claude: Server):
    """A line break in one is no header of the reply, and the gateway keeps none of them."""
    app = make_app(claude, unsupported="drop")
    name = "x\r\nset-cookie: a=b\r\n\r\nHTTP/1.1 200 OK"
    response = await send(app, "POST", CHAT, json=question(**{name: 1, "ü" * 9_000: 2, "presence_penalty": 0}))
    assert response.status_code == 200, response.text
    dropped = response.headers["x-hocket-dropped"]
    assert dropped.isprintable() and "presence_penalty, x%0D%0Aset-cookie" in dropped and len(dropped) < 3_000
    assert app.service.models.refused == {"m": {"presence_penalty"}}
