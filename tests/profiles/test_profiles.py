"""What is known of a model by its name; and that nothing is guessed."""

from collections.abc import Iterator

import pytest

from hocket.errors import HocketWarning, InvalidInput
from hocket.profiles import ModelProfile, find_profile, set_profile
from hocket.profiles.tables import TABLES

WINDOWS = {
    16385: ("gpt-3.5-turbo", "gpt-3.5-turbo-16k", "gpt-3.5-turbo-0125", "gpt-3.5-turbo-1106"),
    8192: ("gpt-4", "gpt-4-0613"),
    32768: ("gpt-4-32k", "gpt-4-32k-0613"),
    128000: (
        *("gpt-4-turbo", "gpt-4-turbo-preview", "gpt-4-turbo-2024-04-09", "gpt-4-1106-preview", "gpt-4-0125-preview"),
        *("gpt-4o", "gpt-4o-2024-05-13", "gpt-4o-2024-08-06", "gpt-4o-mini", "gpt-4o-mini-2024-07-18"),
    ),
    4097: ("text-davinci-003",),
    2048: ("text-curie-001", "text-babbage-001", "text-ada-001", "code-cushman-001"),
    8000: ("code-davinci-002",),
}


@pytest.mark.parametrize(("window", "model"), [(size, name) for size, names in WINDOWS.items() for name in names])
def test_the_windows_of_models_of_old(window: int, model: str) -> None:
    """Whoever names them still gets the right number."""
    assert (find_profile(model) or {}).get("max_input_tokens") == window


@pytest.mark.parametrize(
    ("name", "provider", "row"),
    [
        ("gpt-4o-2024-08-06", "openai", "gpt-4o"),
        ("GPT-4o ", None, "gpt-4o"),
        ("gpt-35-turbo", "azure", "gpt-3.5-turbo"),
        ("gpt-35-turbo-16k-0613", None, "gpt-3.5-turbo-16k-0613"),
        ("gpt-4o-mini-2024-07-18", "azure", "gpt-4o-mini"),
        ("ft:gpt-4o-mini-2024-07-18:me::abc", "openai", "gpt-4o-mini"),
        ("openai/gpt-5-mini", "openrouter", "gpt-5-mini"),
        ("o3-2025-04-16", None, "o3"),
        ("gpt-5-chat-latest", None, "gpt-5-chat"),
        ("claude-sonnet-4-20250514", "anthropic", "claude-sonnet-4"),
        ("claude-sonnet-4@20250514", "vertex", "claude-sonnet-4"),
        ("us.anthropic.claude-sonnet-4-5-20250929-v1:0", "bedrock", "claude-sonnet-4-5"),
        ("eu.anthropic.claude-sonnet-4-5-v1:0", "bedrock", "claude-sonnet-4-5"),
        (
            "arn:aws:bedrock:eu-west-1:1:inference-profile/eu.anthropic.claude-sonnet-4-5-v1:0",
            None,
            "claude-sonnet-4-5",
        ),
        ("claude-3-5-sonnet-latest", None, "claude-3-5-sonnet"),
        ("deepseek/deepseek-v4-flash:free", "openrouter", "deepseek-v4-flash"),
        ("accounts/fireworks/models/qwen3-8b", "fireworks", "qwen3-8b"),
        ("Qwen/Qwen3-8B", "vllm", "qwen3-8b"),
        ("magistral-medium-latest", "mistral", "magistral-medium"),
    ],
)
def test_a_snapshot_is_known_by_its_model(name: str, provider: str | None, row: str) -> None:
    """Dates, ``-latest``, a router's or a cloud's marks, a tuned model's base."""
    expected = next(table[row] for table in TABLES.values() if row in table)
    assert find_profile(name, provider) == expected


@pytest.mark.parametrize(
    ("name", "provider"),
    [
        ("gpt-4.5-preview", "openai"),
        ("gpt-5.9", "openai"),
        ("gpt-5-and-a-half", "openai"),
        ("o3-deep-research", "openai"),
        ("claude-opus-9", "anthropic"),
        ("mistral-large-2407", "mistral"),
        ("gpt-4o", "anthropic"),
        ("my-gpt-4o", None),
        ("qwen3:8b", None),
        ("m", None),
        ("", None),
        ("/", None),
    ],
)
def test_nothing_is_guessed(name: str, provider: str | None) -> None:
    """Another model is another model, however alike the names are."""
    assert find_profile(name, provider) is None


THINKERS = (
    *("gpt-5", "GPT-5", "gpt-5-mini", "o1", "o1-preview", "o1-mini", "o3", "o3-mini", "o3-2025-04-16", "o4-mini"),
    *("claude-3-7-sonnet-20250219", "claude-sonnet-4-20250514", "claude-opus-4-20250514", "claude-sonnet-4-5"),
    *("deepseek-reasoner", "grok-4.20-reasoning", "gemini-2.5-pro"),
)
TALKERS = (
    *("gpt-4", "gpt-4o", "gpt-4-turbo", "gpt-3.5-turbo", "claude-3-opus-20240229", "claude-3-5-sonnet-20241022"),
    *("deepseek-chat", "grok-3", "grok-4.20-non-reasoning", "gemini-2.0-flash", "llama-3.1-8b-instruct"),
)


@pytest.mark.parametrize(("name", "thinks"), [*((n, True) for n in THINKERS), *((n, False) for n in TALKERS)])
def test_which_models_reason(name: str, thinks: bool) -> None:
    """Each is known by its name, in any case, and by that of a snapshot."""
    assert (find_profile(name) or {}).get("reasoning_output") is thinks


def test_the_longest_name_counts() -> None:
    """A snapshot with a row of its own is known by that."""
    assert (find_profile("gpt-4o-2024-05-13") or {})["max_output_tokens"] == 4096
    assert (find_profile("gpt-4o-2024-11-20") or {})["max_output_tokens"] == 16384


def test_the_rows_say_nothing_else_than_profiles_have() -> None:
    """Every key is a profile's, sizes are positive, and what is not known is absent."""
    for provider, table in TABLES.items():
        for name, profile in table.items():
            assert profile.keys() <= ModelProfile.__annotations__.keys(), (provider, name)
            assert name == name.lower()
            assert profile.get("max_output_tokens", 1) > 0
    assert find_profile("chatgpt-4o-latest") == {"max_input_tokens": 128000, "max_output_tokens": 16384}
    assert "structured_output" not in (find_profile("claude-3-haiku") or {})


@pytest.fixture
def own() -> Iterator[None]:
    yield
    for name, provider in (("gpt-4o", None), ("mine", None), ("mine", "vllm")):
        set_profile(name, None, provider)


@pytest.mark.usefixtures("own")
def test_a_program_may_know_better() -> None:
    """What it says counts for all snapshots, in its own copy, until it takes it back."""
    mine: ModelProfile = {"max_input_tokens": 7}
    set_profile("GPT-4o", mine)
    mine["max_input_tokens"] = 8
    found = find_profile("gpt-4o-2024-08-06", "openai")
    assert found == {"max_input_tokens": 7}
    found["max_input_tokens"] = 9
    assert find_profile("gpt-4o") == {"max_input_tokens": 7}
    set_profile("gpt-4o", None)
    assert (find_profile("gpt-4o") or {})["max_input_tokens"] == 128000


@pytest.mark.usefixtures("own")
def test_for_one_provider_alone() -> None:
    """Its word goes over what holds for all."""
    set_profile("mine", {"max_input_tokens": 1})
    set_profile("mine", {"max_input_tokens": 2}, "vllm")
    assert [(find_profile("mine", provider) or {})["max_input_tokens"] for provider in ("vllm", "groq", None)] == [
        2,
        1,
        1,
    ]


@pytest.mark.usefixtures("own")
def test_what_is_no_profile() -> None:
    """No dict is refused; a key that is none is kept, and warned about."""
    with pytest.raises(InvalidInput, match="a profile is a dict"):
        set_profile("mine", 8192)  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="temperature: Input should be a valid boolean"):
        set_profile("mine", {"temperature": "no"})  # type: ignore[typeddict-item]
    with pytest.warns(HocketWarning, match="no windows: nothing reads it"):
        set_profile("mine", {"windows": 1})  # type: ignore[typeddict-unknown-key]
    assert find_profile("mine") == {"windows": 1}
