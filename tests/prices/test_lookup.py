"""The price of a model: what the program says, what nobody bills, what the package says; else None, and never 0."""

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from decimal import Decimal
from types import ModuleType

import pytest

from hocket import ScriptedChatModel
from hocket.errors import InvalidInput
from hocket.language_models import init_chat_model
from hocket.messages import UsageMetadata
from hocket.prices import Price, aprice_of, lookup, packaged, price_of, set_prices
from hocket.prices.batch import batch_price_of
from hocket.prices.lookup import identify_model
from hocket.providers.local import ChatLocal

_NOW = datetime(2026, 11, 1, tzinfo=UTC)
NAMES = ("my-model", "openai:gpt-9", "gpt-9", "ollama:*", "*", "gpt-9*", "gpt-*", "scripted-chat-model")


@pytest.fixture(autouse=True)
def no_prices_are_left() -> Iterator[None]:
    lookup._find_packaged.cache_clear()
    yield
    set_prices(dict.fromkeys(NAMES))


def test_what_is_not_known_is_none() -> None:
    assert price_of("nobody-has-heard-of-it") is None
    assert price_of("gpt-4o", "a-provider-of-my-own") is None


def test_the_program_says_prices_by_name_and_by_provider() -> None:
    set_prices({"gpt-9": Price(1, 1), "openai:gpt-9": Price(2, 2)})
    assert price_of("gpt-9") == Price(1, 1)
    assert price_of("GPT-9 ", "groq") == Price(1, 1)
    assert price_of("gpt-9", "OpenAI") == price_of("openai:gpt-9") == Price(2, 2)


def test_an_exact_name_counts_before_patterns_and_a_longer_pattern_before_a_shorter_one() -> None:
    set_prices({"*": Price(1, 1), "gpt-*": Price(2, 2), "gpt-9*": Price(3, 3), "gpt-9": Price(4, 4)})
    found = [price_of(name) for name in ("llama", "gpt-8", "gpt-9-mini", "gpt-9")]
    assert found == [Price(1, 1), Price(2, 2), Price(3, 3), Price(4, 4)]


def test_what_was_said_can_be_taken_back() -> None:
    set_prices({"my-model": Price(1, 1)})
    set_prices({"my-model": None})
    assert price_of("my-model") is None


def test_a_bracket_in_a_name_is_no_pattern() -> None:
    set_prices({"gpt-9*": Price(1, 1)})
    assert price_of("gpt-9[1m]") == Price(1, 1)


@pytest.mark.parametrize(
    "name", ["ollama:qwen3:8b", "local", "vllm:meta-llama/Llama-3.3-70B", "lmstudio:x", "llamacpp:x"]
)
def test_models_on_machines_of_ones_own_cost_nothing(name: str) -> None:
    provider, _, model = name.partition(":")
    assert price_of(model or name, provider) == Price(0, 0)
    if model:
        assert price_of(name) == Price(0, 0)


def test_models_on_ollamas_own_servers_do() -> None:
    assert price_of("gpt-oss:120b-cloud", "ollama") is None
    assert price_of("glm-4.6:cloud", "ollama") is None


def test_a_program_may_price_its_own_machines() -> None:
    set_prices({"ollama:*": Price("0.1", "0.1")})
    assert price_of("qwen3:8b", "ollama") == Price("0.1", "0.1")


def test_a_model_is_asked_for_its_names() -> None:
    assert identify_model(init_chat_model("openai:gpt-5", api_key="k")) == ("gpt-5", "openai")
    assert price_of(ChatLocal()) == Price(0, 0)
    assert price_of(init_chat_model("ollama:qwen3:8b")) == Price(0, 0)
    model = ScriptedChatModel(script=[])
    assert price_of(model) is None
    set_prices({"scripted-chat-model": Price(1, 2)})
    assert price_of(model) == Price(1, 2)


@pytest.mark.parametrize("model", ["", "  ", None, 5, object], ids=str)
def test_what_has_no_name_is_refused(model: object) -> None:
    with pytest.raises(InvalidInput, match="neither a model nor the name of one"):
        price_of(model)


@pytest.mark.parametrize("prices", [{"": Price(1, 1)}, {5: Price(1, 1)}, {"x": 0}, {"x": "1"}, {"x": (1, 1)}], ids=str)
def test_what_is_no_price_is_refused_and_changes_nothing(prices: dict[str, Price]) -> None:
    with pytest.raises(InvalidInput):
        set_prices({"my-model": Price(1, 1), **prices})
    assert price_of("my-model") is None


@pytest.mark.anyio
async def test_a_price_is_found_from_a_loop_without_holding_it_up() -> None:
    set_prices({"my-model": Price(1, 1)})
    packaged._load.cache_clear()
    assert await aprice_of("my-model") == Price(1, 1)
    assert await aprice_of("nobody-has-heard-of-it") is None
    assert packaged.is_loaded()


@pytest.mark.anyio
async def test_what_the_program_said_needs_no_tables() -> None:
    set_prices({"my-model": Price(1, 1)})
    packaged._load.cache_clear()
    assert await aprice_of("my-model") == Price(1, 1)
    assert not packaged.is_loaded()


def test_without_the_package_prices_are_unknown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "genai_prices", ModuleType("genai_prices"))  # as if it were not there
    monkeypatch.setitem(sys.modules, "genai_prices.data_snapshot", None)
    packaged._load.cache_clear()
    try:
        assert price_of("gpt-4o", "openai") is None
    finally:
        packaged._load.cache_clear()
        lookup._find_packaged.cache_clear()


class TestPackage:
    """The prices of genai-prices."""

    @pytest.fixture(autouse=True)
    def package(self) -> None:
        pytest.importorskip("genai_prices", reason="the extra `prices`")

    def test_known_models_have_prices(self) -> None:
        assert price_of("gpt-4o", "openai") == Price("2.5", 10, "1.25", batch=Price("1.25", 5, "1.25"))
        assert price_of("gpt-4o") == price_of("openai:gpt-4o") == price_of("gpt-4o-2024-08-06", "openai")
        assert price_of("claude-sonnet-4-5", "anthropic").cache_write_1h == 6  # type: ignore[union-attr]

    def test_names_of_providers_that_differ(self) -> None:
        assert price_of("grok-4", "xai") is not None
        assert price_of("gpt-4o", "openai_responses") == price_of("gpt-4o", "azure_entra") == price_of("gpt-4o")
        assert price_of("gemini-2.5-pro", "gemini_compatible") == price_of("gemini-2.5-pro", "google")
        assert price_of("mistral-large-latest", "mistralai") == price_of("mistral-large-latest", "mistral") is not None

    def test_a_provider_that_it_does_not_know_has_no_prices(self) -> None:
        assert price_of("gpt-4o", "openai_compatible") is None
        assert price_of("gpt-4o", "huggingface") is None

    def test_a_model_that_is_billed_by_more_than_its_tokens_has_none(self) -> None:
        assert price_of("gemini-2.5-flash-image", "google") is None
        assert price_of("gpt-image-1", "openai") is None

    def test_calls_cost_what_the_package_says(self) -> None:
        """For every model of the package, in calls and batches with all kinds of tokens: the same, to the last digit."""
        from genai_prices import Usage
        from genai_prices.data_snapshot import get_snapshot

        compared, in_batches = 0, 0
        for provider in get_snapshot().providers:
            for model in provider.models:
                price = packaged._read_prices(model, _NOW)
                if price is None:
                    continue
                in_batches += price.batch is not None
                for scale in (1, 7, 300):
                    counts = {"input_tokens": 1000 * scale, "output_tokens": 500 * scale}
                    read, written, reasoned = 300 * scale, 200 * scale, 100 * scale
                    theirs = Usage(
                        **counts,
                        cache_read_tokens=read,
                        cache_write_tokens=written,
                        output_reasoning_tokens=reasoned,
                    )
                    ours: UsageMetadata = {
                        **counts,
                        "total_tokens": 0,
                        "input_token_details": {"cache_read": read, "cache_creation": written},
                        "output_token_details": {"reasoning": reasoned},
                    }  # type: ignore[typeddict-item]
                    context = {"processing": "batch"}
                    for mine, its in ((price, None), (price.batch, context)):
                        if mine is not None:
                            said = model.calc_price(
                                theirs, provider, genai_request_timestamp=_NOW, price_context=its
                            ).total_price
                            assert mine.cost(ours) == said, (provider.id, model.id, scale, its)
                    compared += 1
        assert compared > 3000
        assert in_batches > 80

    def test_a_price_of_batches_that_is_not_in_force_yet_is_none(self) -> None:
        """The package then gives the price of calls, and does not say so."""
        from genai_prices.data_snapshot import get_snapshot

        _, model = get_snapshot().find_provider_model("gpt-5.2", None, "openai", None)
        before, now = (packaged._read_prices(model, moment) for moment in (datetime(2026, 9, 1, tzinfo=UTC), _NOW))
        assert before is not None and before.batch is None
        assert now is not None and now.batch == now.halve()

    def test_what_bedrock_calls_its_models_has_its_prices(self) -> None:
        """They differ by region; a model of Anthropic's has them behind its own API, too, and where no provider is named."""
        name = "anthropic.claude-sonnet-4-5-20250929-v1:0"
        there, here = price_of(f"global.{name}", "bedrock"), price_of(f"eu.{name}", "bedrock")
        assert there is not None and here is not None and here.input == there.input * Decimal("1.1")
        assert here == price_of(f"eu.{name}", "anthropic") == price_of(f"eu.{name}")
        assert here == price_of(f"arn:aws:bedrock:eu-west-1:1:inference-profile/eu.{name}", "bedrock")
        for model in ("amazon.nova-pro-v1:0", "amazon.titan-embed-text-v2:0"):
            assert price_of(model, "bedrock") is not None and price_of(model, "anthropic") is None
        assert price_of("claude-sonnet-4-5@20250929", "google_vertexai") is not None

    @pytest.mark.parametrize(
        ("name", "in_a_batch"),
        [
            ("openai:gpt-5.2", Price("0.875", 7, "0.0875")),
            ("azure:o4-mini", None),
            ("azure:gpt-5.2", Price("0.875", 7, "0.0875")),  # the package has OpenAI's prices for Azure's
            ("groq:openai/gpt-oss-120b", Price("0.075", "0.3", "0.075")),
        ],
    )
    def test_batches_cost_what_the_package_says(self, name: str, in_a_batch: Price | None) -> None:
        """Half, or something else; where it says nothing, and the provider does not, nobody knows."""
        provider, _, model = name.partition(":")
        assert price_of(name) is not None
        assert batch_price_of(name) == batch_price_of(model, provider) == in_a_batch


def test_a_batch_costs_half_at_those_who_say_so_and_elsewhere_nobody_knows() -> None:
    set_prices({"gpt-9*": Price(3, 8, "0.5", above={1000: Price(6, 16)})})
    half = Price("1.5", 4, "0.25", above={1000: Price(3, 8)})
    for provider in ("openai", "OpenAI", "openai_responses", "anthropic", "google_genai", "mistralai"):
        assert batch_price_of("gpt-9", provider) == half
    for provider in ("azure", "azure_entra", "openai_compatible", "groq", "together", "gemini_compatible", None):
        assert batch_price_of("gpt-9", provider) is None
    assert batch_price_of("openai:gpt-9") == half
    assert batch_price_of("nobody-has-heard-of-it", "openai") is None


def test_what_the_program_says_of_batches_goes_first() -> None:
    set_prices({"gpt-9": Price(2, 2, batch=Price("1.5", 2)), "together:*": Price(1, 1, batch=Price("0.7", "0.7"))})
    assert batch_price_of("gpt-9", "openai") == Price("1.5", 2)
    assert batch_price_of("llama", "together") == Price("0.7", "0.7")
    set_prices({"together:*": None})


def test_what_is_free_is_free_in_a_batch() -> None:
    assert batch_price_of("qwen3:8b", "ollama") == batch_price_of("vllm:x") == Price(0, 0)
    set_prices({"my-model": Price(0, 0, above={5: Price(0, 1)})})
    assert batch_price_of("my-model", "together") is None
