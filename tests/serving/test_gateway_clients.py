"""Who asks the gateway: tenants by their keys, and pages of other origins."""

from typing import Any

import pytest

from hocket import ChatPromptTemplate, ScriptedChatModel, create_agent
from hocket.budgets import Budget, spending
from hocket.callbacks import BaseCallbackHandler
from hocket.errors import InvalidInput
from hocket.prices import Price, set_prices
from hocket.providers.openai import ChatOpenAI, OpenAIEmbeddings
from hocket.serving import openai_app
from hocket.testing.server import Server
from tests.serving.conftest import KEY, question, send

CHAT = "/v1/chat/completions"
APP = "https://app.example"
OTHER = "https://evil.example"


class Metadata(BaseCallbackHandler):
    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []

    def on_chat_model_start(self, serialized: Any, messages: Any, *, metadata: Any = None, **kwargs: Any) -> None:
        self.seen.append(metadata)


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


async def test_a_tenant_is_known_by_its_key():
    """And not by what it says of itself."""
    handler = Metadata()
    model = ScriptedChatModel(script=["Hello."] * 4, callbacks=[handler])
    app = openai_app({"m": model}, keys={"red": "a-key-of-red", "blue": ["a-key-of-blue", "another-of-blue"]})
    for key in ("a-key-of-red", "a-key-of-blue", "another-of-blue"):
        response = await send(app, "POST", CHAT, headers=bearer(key), json=question(metadata={"tenant": "green"}))
        assert response.status_code == 200
    assert [one["tenant"] for one in handler.seen] == ["red", "blue", "blue"]
    assert handler.seen[0]["request_metadata"] == {"tenant": "green"}
    assert (await send(app, "POST", CHAT, headers={"x-api-key": "a-key-of-red"}, json=question())).status_code == 200
    both = {"x-api-key": "a-key-of-red", **bearer("a-key-of-blue")}
    assert (await send(app, "POST", CHAT, headers=both, json=question())).status_code == 401


@pytest.mark.parametrize(
    ("keys", "says"),
    [
        ({"red": KEY, "blue": [KEY]}, "is the key of 'red', too"),
        ({"red": []}, r"keys\['red'\] is empty"),
        ({}, "keys is empty"),
        ({"a\nb": KEY}, "a tenant 'a"),
        ({"red": "short"}, r"keys\['red'\]\[0\]"),
    ],
    ids=str,
)
def test_tenants_that_will_not_do(keys: Any, says: str):
    with pytest.raises(InvalidInput, match=says):
        openai_app({"m": ScriptedChatModel(script=[])}, keys=keys)


async def test_each_tenant_has_its_budget(gpt: Server):
    """One that has spent its own holds up no other."""
    budget = Budget(tokens=109, per="day", by="tenant")
    model = ChatOpenAI(model="gpt-4o", base_url=gpt.url, api_key="a-key-of-theirs", max_tokens=100, budget=budget)
    app = openai_app({"m": model}, keys={"red": "a-key-of-red", "blue": "a-key-of-blue"})
    statuses = [
        (await send(app, "POST", CHAT, headers=bearer(key), json=question())).status_code
        for key in ("a-key-of-red", "a-key-of-red", "a-key-of-red", "a-key-of-blue")
    ]
    assert statuses == [200, 429, 429, 200]


def unpriced(**fields: Any) -> ChatOpenAI:
    return ChatOpenAI(model="of-no-price", api_key="a-key-of-theirs", **fields)


def as_tool(agent: Any) -> Any:
    return create_agent(ScriptedChatModel(script=[]), [agent.as_tool("helper", "Helps.")])


@pytest.mark.parametrize(
    "make",
    [
        lambda model: model,
        lambda model: model.bind(temperature=0).with_retry(),
        lambda model: ScriptedChatModel(script=[]).with_fallbacks([model]),
        lambda model: ChatPromptTemplate.from_template("{x}") | model,
        lambda model: create_agent(model),
        lambda model: as_tool(create_agent(model)),
        lambda model: OpenAIEmbeddings(model="of-no-price", api_key="a-key-of-theirs", budget=model.budget),
    ],
    ids=["a model", "bound", "a fallback", "a chain", "an agent", "a tool", "embeddings"],
)
def test_a_budget_over_a_model_without_a_price_is_refused(make: Any):
    """When the service is made, and not at each request, wherever the model is."""
    budgets = [Budget(tokens=5), Budget("5", name="of the team")]
    with pytest.raises(InvalidInput) as refused:
        openai_app({"m": make(unpriced(budget=budgets))})
    words = "models['m']: the budget 'of the team' is in US dollars, and the price of 'openai:of-no-price' is not known"
    assert str(refused.value).startswith(words) and "set_prices({'openai:of-no-price': Price" in str(refused.value)
    with spending("5"), pytest.raises(InvalidInput, match="the budget 'spending' is in US dollars"):
        openai_app({"m": make(unpriced())})
    openai_app({"m": make(unpriced(budget=Budget("5", unpriced="ignore")))})


def test_what_is_priced_when_it_is_asked_is_served():
    """A price may be said by the program; and a binding may give another name."""
    app = {"m": unpriced(budget=Budget("5"))}
    set_prices({"of-no-price": Price(1, 2)})
    try:
        openai_app(app)
    finally:
        set_prices({"of-no-price": None})
    openai_app({"m": app["m"].bind(model="gpt-5.2").with_retry()})


async def test_a_page_of_another_origin():
    """Asks first, without a key; then it asks with one, and may read the reply."""
    app = openai_app({"m": ScriptedChatModel(script=["Hello."])}, keys=KEY, cors=[APP])
    asks = {"origin": APP, "access-control-request-headers": "authorization, content-type"}
    response = await send(app, "OPTIONS", CHAT, headers=asks)
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (204, APP)
    assert response.headers["access-control-allow-headers"] == "authorization, content-type"
    assert "access-control-allow-credentials" not in response.headers
    response = await send(app, "POST", CHAT, headers={"origin": APP, **bearer(KEY)}, json=question())
    assert (response.status_code, response.headers["vary"]) == (200, "origin")
    assert "x-hocket-dropped" in response.headers["access-control-expose-headers"]
    response = await send(app, "POST", CHAT, headers={"origin": APP}, json=question())
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (401, APP)


async def test_a_page_that_may_not_ask():
    """Has no headers, so that its browser keeps the reply from it; without keys it is refused."""
    app = openai_app({"m": ScriptedChatModel(script=["Hello."])}, keys=KEY, cors=[APP])
    response = await send(app, "OPTIONS", CHAT, headers={"origin": OTHER})
    assert response.status_code == 401 and "access-control-allow-origin" not in response.headers
    asked = ScriptedChatModel(script=["Hello."])
    app = openai_app({"m": asked}, hosts=["test"], cors=[APP])
    response = await send(app, "POST", CHAT, headers={"origin": OTHER}, json=question())
    assert response.status_code == 403 and not asked.requests
    response = await send(app, "POST", CHAT, headers={"origin": APP}, json=question())
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, APP)


async def test_pages_of_all_origins_need_keys():
    with pytest.raises(InvalidInput, match='cors has "\\*" and there are no keys'):
        openai_app({"m": ScriptedChatModel(script=[])}, cors=["*"])
    app = openai_app({"m": ScriptedChatModel(script=["Hello."])}, keys=KEY, cors=["*"])
    response = await send(app, "POST", CHAT, headers={"origin": OTHER, **bearer(KEY)}, json=question())
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, OTHER)


@pytest.mark.parametrize("cors", ["https://app.example", ["app.example"], ["https://app.example/"], 5, None])
def test_what_is_no_origin(cors: Any):
    with pytest.raises(InvalidInput, match="it has origins as browsers say them"):
        openai_app({"m": ScriptedChatModel(script=[])}, cors=cors)


@pytest.mark.parametrize("origin", ["http://[", "null", "x" * 10_000, "http://a:b"])
async def test_an_origin_that_is_none_is_refused_in_words(origin: str):
    """Also where all origins may ask: the hosts hold."""
    app = openai_app({"m": ScriptedChatModel(script=[])}, keys=KEY, hosts=["models.example"], cors=["*"])
    response = await send(app, "POST", CHAT, headers={"origin": origin, **bearer(KEY)}, json=question())
    assert response.status_code == 403 and "are answered" in response.json()["error"]["message"]
