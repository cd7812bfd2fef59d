"""A LiteLLM proxy's file: what it becomes, and what of it is refused. `tests/interop/litellm` asks LiteLLM the same."""

import sys
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from hocket.errors import HocketWarning, InvalidInput, MissingDependency
from hocket.providers.anthropic import ChatAnthropic
from hocket.providers.openai import ChatOpenAI
from hocket.rate_limiters import RateLimiter
from hocket.routing import ChatRouter, routers_from_litellm
from hocket.runnables import RunnableWithFallbacks
from hocket.testing import OpenAIFormat, Status, serve
from hocket.timeouts import Timeout

KEY = "sk-the-secret-of-the-file"
ADDRESS = "http://127.0.0.1:9/v1"


def write(group: str = "g", /, **params: Any) -> dict[str, Any]:
    """Return an entry of a model_list."""
    return {"model_name": group, "litellm_params": {"model": "fake/hello", **params}}


def read(*entries: dict[str, Any], unsupported: Any = "raise", **sections: Any) -> dict[str, Any]:
    return routers_from_litellm({"model_list": [*entries], **sections}, unsupported=unsupported)


def read_model(**params: Any) -> Any:
    """Return the only deployment's model."""
    (deployment,) = read(write(**params))["g"].deployments
    return deployment.model


# -- what it becomes


@pytest.mark.parametrize(
    ("params", "dialect", "model"),
    [
        ({"model": "openai/gpt-5.2"}, None, "gpt-5.2"),
        ({"model": "gpt-4o"}, None, "gpt-4o"),
        ({"model": "m", "custom_llm_provider": "openai"}, None, "m"),
        ({"model": "groq/meta/llama"}, "groq", "meta/llama"),
        ({"model": "hosted_vllm/m"}, "vllm", "m"),
        ({"model": "together_ai/a/b"}, "together", "a/b"),
        ({"model": "dashscope/qwen"}, "alibaba", "qwen"),
        ({"model": "litellm_proxy/m"}, None, "m"),
    ],
    ids=str,
)
def test_providers_that_speak_openais_format(params: dict[str, Any], dialect: str | None, model: str):
    made = read_model(**params, api_base=ADDRESS, api_key=KEY)
    assert (type(made), made.dialect, made.model) == (ChatOpenAI, dialect, model)


@pytest.mark.parametrize(
    ("params", "kind", "fields"),
    [
        ({"model": "anthropic/claude-x"}, "ChatAnthropic", {"model": "claude-x"}),
        ({"model": "gemini/gemini-x"}, "ChatGoogleGenerativeAI", {"model": "gemini-x"}),
        ({"model": "mistral/m"}, "ChatMistralAI", {"model": "m"}),
        ({"model": "cohere_chat/c"}, "ChatCohere", {"model": "c"}),
        ({"model": "ollama_chat/o"}, "ChatOllama", {"model": "o"}),
        ({"model": "openai/responses/o"}, "ChatOpenAI", {"model": "o", "use_responses_api": True}),
        (
            {"model": "bedrock/converse/eu.x:1", "aws_region_name": "eu-west-1"},
            "ChatBedrockConverse",
            {"model": "eu.x:1", "region_name": "eu-west-1"},
        ),
        (
            {"model": "vertex_ai/gemini-x", "vertex_project": "shop", "vertex_location": "eu"},
            "ChatVertexAI",
            {"model": "gemini-x", "project": "shop", "location": "eu"},
        ),
        ({"model": "vertex_ai/claude-x", "vertex_project": "p"}, "ChatAnthropicVertex", {"model": "claude-x"}),
    ],
    ids=lambda value: value.get("model") if isinstance(value, dict) else value,
)
def test_other_providers(params: dict[str, Any], kind: str, fields: Mapping[str, Any]):
    made = read_model(**params, api_key=KEY)
    assert type(made).__name__ == kind
    assert {name: getattr(made, name) for name in fields} == fields


@pytest.mark.parametrize(
    ("base", "version", "url"),
    [
        ("https://x.openai.azure.com", "2024-10-21", "openai/deployments/dep/chat/completions?api-version=2024-10-21"),
        ("https://x.openai.azure.com/", None, "openai/v1/chat/completions"),
        ("https://x.openai.azure.com", "preview", "openai/v1/chat/completions"),
        ("https://gate/llm", "2024-10-21", "llm/openai/deployments/dep/chat/completions?api-version=2024-10-21"),
    ],
)
def test_azure(base: str, version: str | None, url: str):
    model = read_model(model="azure/dep", api_base=base, api_key=KEY, api_version=version)
    assert model.render("hi").url.split("/", 3)[3] == url


def test_options_go_with_each_request():
    given = {"temperature": 0.2, "max_tokens": "7", "extra_body": {"a": 1}, "extra_headers": {"x-team": "t"}}
    model = read_model(model="openai/m", api_base=ADDRESS, api_key=KEY, **given)
    request = model.render("hi")
    assert request.json.items() >= {"temperature": 0.2, "max_tokens": 7, "a": 1}.items()
    assert request.headers["x-team"] == "t"
    assert read_model(model="openai/m", api_base=ADDRESS, drop_params=True).unsupported == "drop"


@pytest.mark.parametrize(
    ("params", "settings", "limits"),
    [
        ({"timeout": 30}, {}, Timeout(connect=10, first_token=30, idle=30, total=30)),
        ({"timeout": "30", "stream_timeout": 5}, {}, Timeout(connect=10, first_token=5, idle=5, total=30)),
        ({}, {"timeout": 7}, Timeout(connect=10, first_token=7, idle=7, total=7)),
        ({"timeout": 2}, {"timeout": 7, "stream_timeout": 3}, Timeout(connect=10, first_token=3, idle=3, total=2)),
        ({"stream_timeout": 3}, {}, Timeout(connect=10, first_token=3, idle=3, total=1200)),
    ],
    ids=str,
)
def test_limits_on_time(params: dict[str, Any], settings: dict[str, Any], limits: Timeout):
    """A deployment has them for each attempt, and the router for all of them."""
    router = read(write(**params), router_settings={"num_retries": 1, **settings})["g"]
    assert router.deployments[0].model.timeout == limits
    assert router.timeout == Timeout(total=2 * (limits.total or 0))


@pytest.mark.parametrize(
    ("settings", "fields"),
    [
        ({}, {"by": "weight", "cooldown": 30, "allowed_fails": 3, "store": None, "timeout": None}),
        ({"routing_strategy": "least-busy"}, {"by": "weight"}),
        ({"routing_strategy": "latency-based-routing"}, {"by": "latency"}),
        ({"routing_strategy": "usage-based-routing-v2"}, {"by": "headroom"}),
        ({"routing_strategy": "cost-based-routing"}, {"by": "cost"}),
        ({"cooldown_time": 5, "allowed_fails": 0}, {"cooldown": 5, "allowed_fails": 1}),
        ({"redis_host": "cache", "redis_password": "p/w", "redis_port": 1}, {"store": "redis://:p%2Fw@cache:1/0"}),
        ({"redis_url": "rediss://cache"}, {"store": "rediss://cache"}),
    ],
    ids=str,
)
def test_settings(settings: dict[str, Any], fields: dict[str, Any]):
    router = read(write(), router_settings=settings)["g"]
    assert {name: getattr(router, name) for name in fields} == fields
    assert router.name == "g"


def test_settings_of_the_library_hold_where_the_routers_say_nothing():
    lite = {"num_retries": 4, "request_timeout": 9, "fallbacks": [{"g": ["h"]}], "drop_params": True}
    models = read(write(), write("h"), litellm_settings=lite, router_settings={"num_retries": 1})
    router = models["g"].runnable
    assert (router.retry.max_attempts, router.timeout.total) == (2, 18)
    assert router.deployments[0].model.unsupported == "drop"


@pytest.mark.parametrize(
    ("entries", "weights"),
    [
        ([{}, {}], [1, 1]),
        ([{"weight": 3}, {}], [3, 0]),
        ([{"weight": 0}, {"rpm": "60"}], [0, 60]),
        ([{"tpm": 5}, {"tpm": 1}], [5, 1]),
    ],
    ids=str,
)
def test_shares(entries: list[dict[str, Any]], weights: list[float]):
    router = read(*[write(**params) for params in entries])["g"]
    assert [one.weight for one in router.deployments] == weights
    assert not any(one.rate_limiter for one in router.deployments)  # LiteLLM shares by them, and limits nothing


def test_limits_are_kept_where_the_strategy_goes_by_them():
    router = read(
        write(rpm=60, max_parallel_requests=2), write(), router_settings={"routing_strategy": "usage-based-routing"}
    )["g"]
    first, second = router.deployments
    assert isinstance(first.rate_limiter, RateLimiter) and first.rate_limiter.acquire(blocking=False)
    assert first.model.max_in_flight == 2 and second.rate_limiter is None


async def test_another_files_limits_do_not_bind(tmp_path: Path):
    """Where both name the same group and deployment in one store: each keeps its own numbers, or none."""
    store, entry = f"sqlite:///{tmp_path / 'limits.db'}", {**write(rpm=600), "model_info": {"id": "eu"}}
    by_usage = {"routing_strategy": "usage-based-routing-v2"}
    files = [
        {"model_list": [entry], "router_settings": by_usage},
        {"model_list": [entry]},
        {
            "model_list": [{**entry, "litellm_params": {**entry["litellm_params"], "rpm": 60}}],
            "router_settings": by_usage,
        },
    ]
    routers: list[Any] = [routers_from_litellm(file, store=store)["g"] for file in files]
    for router in routers:
        await router.ainvoke("hi")
    limiters = [router._all[0].limiter for router in routers]
    assert [(await limiter.astate()).requests_per_minute for limiter in limiters] == [600, None, 60]


async def test_a_deployment_is_called_by_its_id():
    router = read({**write(), "model_info": {"id": "eu", "mode": "chat"}}, write())["g"]
    assert (await router.astate())[0].name == "eu"


async def test_fallbacks_are_asked_behind_a_group():
    """What that gives takes tools and types as a model does. Its own mistakes are the caller's."""
    async with serve(OpenAIFormat(), Status(500)) as server:
        broken = write("g", model="openai/m", api_base=server.url, api_key=KEY)
        settings = {"num_retries": 0, "fallbacks": [{"g": ["h"]}], "model_group_alias": {"al": "g"}}
        models = read(broken, write("h", model="fake/from h"), router_settings=settings)
        assert (await models["g"].ainvoke("hi")).text == "from h"
        assert isinstance(models["g"], RunnableWithFallbacks) and isinstance(models["al"], ChatRouter)
        assert models["g"].runnable is models["al"] and models["g"].fallbacks == [models["h"]]


# -- what is refused


@pytest.mark.parametrize(
    ("config", "says"),
    [
        ([], "the LiteLLM file is list; it is a mapping"),
        ({}, "the LiteLLM file has no model_list"),
        ({"model_lst": [write()]}, "the LiteLLM file has no model_list, but 'model_lst'"),
        ({"model_list": None}, "model_list is NoneType; it is a list"),
        ({"model_list": {}}, "model_list is dict"),
        ({"model_list": []}, "model_list is empty"),
        ({"model_list": ["x"]}, "model_list[0] is str; it is a mapping"),
        ({"model_list": [{"model_name": "g"}]}, "model_list[0] has no model_name, or no litellm_params.model"),
        ({"model_list": [{"litellm_params": {"model": "fake/x"}}]}, "model_list[0] has no model_name"),
        ({"model_list": [{"model_name": 7, "litellm_params": {"model": "fake/x"}}]}, "model_list[0] has no model_name"),
        ({"model_list": [write(rpm="many")]}, "model_list[0] g.rpm is no number of 0 or more"),
        ({"model_list": [write(timeout=0)]}, "model_list[0] g.timeout is no number above 0"),
        ({"model_list": [write(weight=float("nan"))]}, "weight is no number"),
        ({"model_list": [write(weight=True)]}, "weight is no number"),
        ({"model_list": [write(max_parallel_requests=0)]}, "max_parallel_requests is no number"),
        ({"model_list": [write()], "router_settings": {"cooldown_time": 0}}, "cooldown_time is no number above 0"),
        ({"model_list": [write()], "router_settings": []}, "router_settings is list"),
        ({"model_list": [write()], "router_settings": {"fallbacks": [{"g": "h"}]}}, "fallbacks.g is str; it is a list"),
        ({"model_list": [write()], "router_settings": {"fallbacks": ["h"]}}, "an item of fallbacks is str"),
        ({"model_list": [{**write(), "model_info": {"id": "a"}}] * 2}, "two deployments are called 'a'"),
        (
            {"model_list": [write(api_key="os.environ/NO_SUCH_A"), write(seed="os.environ/NO_SUCH_B")]},
            "NO_SUCH_A, NO_SUCH_B",
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("unsupported", ["raise", "warn"])
def test_what_is_no_such_file(config: Any, says: str, unsupported: Any):
    with pytest.raises(InvalidInput) as raised:
        routers_from_litellm(config, unsupported=unsupported)
    assert says in str(raised.value)


UNSUPPORTED: list[tuple[dict[str, Any], str]] = [
    ({"model_list": [write("fake/*")]}, "model_list[1] fake/* (a wildcard; name each model)"),
    ({"model_list": [write("h", model="replicate/x")]}, "model_list[1] h (no provider is called 'replicate'"),
    ({"model_list": [write("h", model="vertex_ai/meta/llama")]}, "model_list[1] h (no provider is called"),
    ({"model_list": [{**write("h"), "model_info": {"mode": "embedding"}}]}, "h.model_info.mode (it is 'embedding'"),
    ({"model_list": [write("h", api_version="2024-10-21")]}, "model_list[1] h.litellm_params.api_version"),
    ({"model_list": [write("h", input_cost_per_token=1e-6)]}, "h.litellm_params.input_cost_per_token"),
    ({"model_list": [{**write("h"), "model_info": {"tier": "free"}}]}, "h.model_info.tier"),
    (
        {"model_list": [write("h", model="openai/m", api_base=ADDRESS, top_k=3)]},
        "model_list[1] h.top_k (openai_compatible takes no",
    ),
    (
        {"model_list": [write("h", model="openai/m", api_base=ADDRESS, temperature="hot")]},
        "h (temperature: Input should be",
    ),
    ({"model_list": [write("h", model="openai/m", api_base="nonsense")]}, "it must begin with http://"),
    (
        {"router_settings": {"routing_strategy": "lar1"}},
        "router_settings.routing_strategy (it is 'lar1'; known are: simple-shuffle, ",
    ),
    ({"router_settings": {"routing_strategy": "simple-shufle"}}, "did you mean 'simple-shuffle'?"),
    ({"router_settings": {"num_retires": 2}}, "router_settings.num_retires (did you mean 'num_retries'?)"),
    ({"litellm_settings": {"context_window_fallbacks": [{"g": ["h"]}]}}, "fallbacks (write them under fallbacks"),
    ({"litellm_settings": {"cache": True}}, "litellm_settings.cache (`hocket serve --cache CACHE`, or"),
    ({"router_setings": {"num_retries": 2}}, "router_setings (did you mean 'router_settings'?)"),
    ({"router_settings": {"retry_policy": {"TimeoutErrorRetries": 3}}}, "router_settings.retry_policy"),
    (
        {"router_settings": {"fallbacks": [{"g": ["none"]}]}},
        "router_settings.fallbacks, for g (there is no group 'none'; known are: g)",
    ),
    ({"router_settings": {"fallbacks": [{"g": [{"model": "h"}]}]}}, "router_settings.fallbacks.g"),
    ({"router_settings": {"fallbacks": [{"gg": ["g"]}]}}, "fallbacks (there is no group 'gg'; did you mean 'g'?)"),
    (
        {"router_settings": {"model_group_alias": {"al": "gg"}}},
        "model_group_alias, for al (there is no group 'gg'; did you mean 'g'?)",
    ),
    ({"router_settings": {"model_group_alias": {"al": {"model": "g", "hidden": True}}}}, "model_group_alias.al.hidden"),
    ({"litellm_settings": {"callbacks": ["otel"]}}, "litellm_settings.callbacks"),
    (
        {"general_settings": {"master_key": KEY}},
        "general_settings.master_key (clients' keys are given with `hocket serve --key-file",
    ),
    ({"environment_variables": {"A": "b"}}, "environment_variables (set them where the process is started)"),
]


def join(parts: dict[str, Any]) -> dict[str, Any]:
    return {**parts, "model_list": [write(), *parts.get("model_list", [])]}


@pytest.mark.parametrize(("parts", "says"), UNSUPPORTED, ids=[says for _, says in UNSUPPORTED])
def test_what_is_not_done_here_is_named(parts: dict[str, Any], says: str):
    with pytest.raises(InvalidInput) as raised:
        routers_from_litellm(join(parts))
    assert says in str(raised.value)
    with pytest.warns(HocketWarning) as caught:
        models = routers_from_litellm(join(parts), unsupported="warn")
    assert "g" in models and says in str(caught[0].message) and len(caught) == 1


def test_all_of_it_is_named_at_once():
    parts: dict[str, Any] = {"model_list": [write()]}
    for more, _ in UNSUPPORTED:
        parts |= {
            key: value if key == "environment_variables" else {**parts.get(key, {}), **value}
            for key, value in more.items()
            if key != "model_list"
        }
        parts["model_list"] = parts["model_list"] + more.get("model_list", [])
    with pytest.raises(InvalidInput) as raised:
        routers_from_litellm(parts)
    assert str(raised.value).count(";") >= len(UNSUPPORTED) - 5


def test_what_is_empty_is_not_set():
    read(
        write(tags=[], model_info=None),
        router_settings={"fallbacks": None, "set_verbose": False},
        general_settings=None,
    )


def test_where_nothing_is_left_that_is_an_error():
    with pytest.raises(InvalidInput, match="a wildcard"):
        read(write("*"), unsupported="warn")


# -- secrets


@pytest.fixture
def secret(monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("A_KEY", KEY)
    return "os.environ/A_KEY"


def test_variables_are_read_from_the_environment(secret: str):
    model = read_model(model="openai/m", api_base=ADDRESS, api_key=secret)
    assert model.api_key.get_secret_value() == KEY


@pytest.mark.parametrize(
    "params", [{"api_base": "URL"}, {"seed": "URL"}, {"timeout": "URL"}, {"api_base": ADDRESS}], ids=str
)
@pytest.mark.parametrize("given", ["a variable", "the file"])
def test_no_secret_is_shown(params: dict[str, str], given: str, secret: str):
    """Not where a key stands in the wrong place, either."""
    value = secret if given == "a variable" else KEY
    params = {key: value if one == "URL" else one for key, one in params.items()}
    settings = {"redis_host": "cache", "redis_password": value}
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            shown = repr(read(write(model="openai/m", api_key=value, **params), router_settings=settings))
        except InvalidInput as error:
            shown = repr(error) + str(error.__context__)
    assert KEY not in shown + "".join(str(one.message) for one in caught)


# -- files


def test_a_file_is_read(tmp_path: Path, secret: str):
    """With anchors and merged keys, as many have it."""
    path = tmp_path / "config.yaml"
    path.write_text(f"""
model_list:
  - model_name: g
    litellm_params: &common
      model: anthropic/claude-x
      api_key: {secret}
  - model_name: g
    litellm_params: {{<<: *common, max_tokens: 5}}
""")
    for given in (path, str(path)):
        router = routers_from_litellm(given)["g"]
        assert isinstance(router, ChatRouter) and [type(one.model) for one in router.deployments] == [ChatAnthropic] * 2


BOMB = "".join(f"{chr(98 + at)}: &{chr(98 + at)} [{', '.join([f'*{chr(97 + at)}'] * 9)}]\n" for at in range(8))
MERGED = "".join(
    f"{chr(98 + at)}: &{chr(98 + at)} {{<<: [{', '.join([f'*{chr(97 + at)}'] * 9)}]}}\n" for at in range(8)
)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "the LiteLLM file has no model_list"),
        ("just a text", "what it holds is str; it is a mapping"),
        ("- a\n- b", "what it holds is list"),
        (f"model_list: [\n{KEY}: {{", "line 2"),
        (f"a: !!python/object/apply:os.system [{KEY}]", "line 1: could not determine a constructor for the tag"),
        (f"a: !secret {KEY}", "line 1: could not determine a constructor"),
        ("a: &a [x, x]\n" + BOMB, "it stands for more than 100,000 values"),
        ("a: &a {x: 1}\n" + MERGED, "it stands for more than 100,000 values"),
        ("a: &a [*a]", "it stands for more than"),
        ("a: 1\nb:\n  c: 1\n  c: 2", "line 3: the key 'c' is there twice"),
        ("{a: " * 5000, "it is no text of plain YAML"),
        ("a: 2024-99-99", "it is no text of plain YAML"),
        ("a: \x00", "no YAML"),
        ("a: " + "x" * 1_000_001, "it is larger than 1,000,000 bytes"),
    ],
    ids=lambda value: value[:20],
)
def test_files_that_will_not_do(text: str, says: str, tmp_path: Path):
    """In a moment, and without a line of them."""
    path = tmp_path / "config.yaml"
    path.write_text(text)
    with pytest.raises(InvalidInput) as raised:
        routers_from_litellm(path)
    assert says in str(raised.value) and KEY not in str(raised.value)


def test_what_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    path = tmp_path / "latin.yaml"
    path.write_bytes(b"a: \xff\xfe")
    for given, says in ((path, "no text"), (tmp_path, "Is a directory"), (tmp_path / "none.yaml", "No such file")):
        with pytest.raises(InvalidInput, match=says):
            routers_from_litellm(given)
    path.write_text("a: 1")
    monkeypatch.setitem(sys.modules, "yaml", None)
    with pytest.raises(MissingDependency, match=r"hocket\[yaml\]"):
        routers_from_litellm(path)
    with pytest.raises(InvalidInput, match="it is 'raise' or 'warn'"):
        routers_from_litellm({}, unsupported="drop")  # type: ignore[arg-type]
