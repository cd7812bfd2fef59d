"""`init_chat_model`: which provider a name means, what it is given, and what is said where there is none."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from hocket.errors import InvalidInput, UnknownModel
from hocket.language_models import FakeListChatModel, init_chat_model, registry as module
from hocket.language_models.registry import list_providers, load_provider, register_provider

Register = Callable[[str], dict[str, Any]]


@pytest.fixture
def register() -> Iterator[Register]:
    """Register a provider for one test; what its factory was called with is in the dict returned."""
    before = dict(module._registered)

    def add(name: str) -> dict[str, Any]:
        given: dict[str, Any] = {}

        def make(**options: Any) -> FakeListChatModel:
            given.clear()
            given.update(options)
            return FakeListChatModel(responses=[name])

        register_provider(name, make)
        return given

    yield add
    module._registered.clear()
    module._registered.update(before)


NAMES = [
    ("prov:m", "prov", "m"),
    ("prov:qwen3:8b", "prov", "qwen3:8b"),
    ("prov:openai/gpt-oss", "prov", "openai/gpt-oss"),
    ("prov/m", "prov", "m"),
    ("prov/org/m:free", "prov", "org/m:free"),
    ("PROV:m", "prov", "m"),
    ("my-house:m", "my_house", "m"),
    ("gpt-5.2", "openai", "gpt-5.2"),
    ("chatgpt-4o-latest", "openai", "chatgpt-4o-latest"),
    ("o3", "openai", "o3"),
    ("o1-mini", "openai", "o1-mini"),
    ("ft:gpt-4o:me::1", "openai", "ft:gpt-4o:me::1"),
    ("deepseek-chat", "deepseek", "deepseek-chat"),
    ("grok-4", "xai", "grok-4"),
    ("grok:grok-4", "xai", "grok-4"),
    ("accounts/fireworks/models/x", "fireworks", "accounts/fireworks/models/x"),
    ("azure_openai:mine", "azure", "mine"),
    ("./qwen.GGUF", "local", "./qwen.GGUF"),
    ("ollama:qwen3:8b", "ollama", "qwen3:8b"),
    ("gemini-3-pro", "google", "gemini-3-pro"),
]


@pytest.mark.parametrize(("name", "provider", "model"), NAMES)
def test_a_name_means_a_provider_and_a_model(register: Register, name: str, provider: str, model: str) -> None:
    """The first colon separates them if it follows a provider; without one the model's family tells."""
    register("prov")
    register("my-house")
    given = register(provider)

    init_chat_model(name, temperature=1)
    assert given == {"model": model, "temperature": 1}


def test_a_provider_alone_gets_no_model(register: Register) -> None:
    """Its default is its own business."""
    given = register("prov")
    init_chat_model("prov", temperature=1)
    assert given == {"temperature": 1}


def test_model_provider_takes_the_name_as_it_stands(register: Register) -> None:
    """As in LangChain; aliases are understood there, too."""
    register("prov")
    given = register("xai")
    init_chat_model("prov:m", model_provider="grok")
    assert given == {"model": "prov:m"}


@pytest.mark.parametrize("name", ["qwen3:8b", "deepseek-r1:7b", "openai/gpt-oss-20b", "grok-clone"])
def test_a_server_of_ones_own_needs_no_provider(register: Register, name: str) -> None:
    """With `base_url`, a name without a provider is a model of that server, whatever it looks like."""
    given = register("openai")
    init_chat_model(name, base_url="http://localhost:1")
    assert given == {"model": name, "base_url": "http://localhost:1"}


def test_a_provider_stands_before_a_server_of_ones_own(register: Register) -> None:
    """A colon after a provider's name counts with `base_url`, too; a `base_url` of None is none."""
    given = register("vllm")
    init_chat_model("vllm:a/b", base_url="http://localhost:1")
    assert given == {"model": "a/b", "base_url": "http://localhost:1"}

    given = register("xai")
    init_chat_model("grok-4", base_url=None)
    assert given == {"model": "grok-4", "base_url": None}


def test_a_real_provider_comes_before_a_stand_in(register: Register) -> None:
    """An alias only serves while no provider has the name."""
    given = register("ollama")
    init_chat_model("ollama:qwen3:8b")
    assert given == {"model": "qwen3:8b"}


UNKNOWN = [
    ("opnai:gpt-5.2", "no provider is called 'opnai'; did you mean openai?; there are: openai, alibaba, "),
    ("qwen3:8b", "no provider is called 'qwen3'; there are: alibaba, "),
    ("wizard", "no provider is known for 'wizard'; put one before it, as in 'openai:wizard'; there are: "),
    ("lokal", "did you mean local?"),
    ("sonar-pro", "'sonar-pro' is a model of 'perplexity', for which hocket has no provider here; "),
    ("", "no provider is known for ''"),
]


@pytest.mark.parametrize(("name", "message"), UNKNOWN)
def test_an_unknown_name_lists_what_there_is(name: str, message: str) -> None:
    """With the near misses first."""
    with pytest.raises(UnknownModel) as caught:
        init_chat_model(name)
    assert message in str(caught.value)
    assert {"fake", "local", "openai"} <= set(str(caught.value).rpartition("there are: ")[2].split(", "))


def test_wrong_names_are_refused() -> None:
    """A model by something else than its name, and a provider whose name could not be written before a colon."""
    with pytest.raises(InvalidInput, match="not by FakeListChatModel"):
        init_chat_model(FakeListChatModel(responses=[]))  # type: ignore[arg-type]
    with pytest.raises(InvalidInput, match="'a:b'"):
        register_provider("a:b", FakeListChatModel)
    with pytest.raises(UnknownModel, match="no provider is called 'nobody'"):
        init_chat_model("x", model_provider="nobody")


def test_the_fake_answers_its_name() -> None:
    """ "fake:TEXT" is a provider like the others; its options are those of `FakeListChatModel`."""
    assert init_chat_model("fake:as: written").invoke("hi").content == "as: written"
    assert init_chat_model("fake", responses=["a", "b"]).invoke("hi").content == "a"


def test_what_is_registered_goes_first_and_is_listed(register: Register) -> None:
    """An application may replace a provider, and sees its own in the list."""
    given = register("local")
    register("Our-House")
    init_chat_model("local:x")
    assert given == {"model": "x"}
    assert "our_house" in list_providers()


def test_every_installed_provider_can_be_loaded() -> None:
    """The entry points of hocket itself lead somewhere."""
    for name in list_providers():
        assert callable(load_provider(name))


def test_listing_imports_no_provider() -> None:
    """And a fake model comes without httpx."""
    code = (
        "import sys; from hocket.language_models.registry import init_chat_model, list_providers\n"
        "init_chat_model('fake:x'); assert 'openai' in list_providers()\n"
        "print([name for name in sys.modules if name.startswith(('hocket.providers', 'httpx'))])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


ANNOUNCED = """
from hocket.language_models.registry import init_chat_model, list_providers
from hocket.errors import MissingDependency
print([name for name in list_providers() if "extra" in name or name == "bare"])
print(init_chat_model("local").__class__.__name__)
for name in ("extra-one", "bare"):
    try:
        init_chat_model(f"{name}:m")
    except MissingDependency as error:
        print(error)
"""


def test_another_package_announces_its_providers(tmp_path: Any) -> None:
    """By entry point. It cannot take hocket's names, and where something is missing its extra is named."""
    package = tmp_path / "pack-1.0.dist-info"
    package.mkdir()
    (package / "METADATA").write_text("Metadata-Version: 2.1\nName: pack\nVersion: 1.0\nProvides-Extra: extra-one\n")
    (package / "entry_points.txt").write_text(
        "[hocket.providers]\nextra-one=no_such:f\nbare=no_such:f\nlocal=no_such:f\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", ANNOUNCED], env={"PYTHONPATH": str(tmp_path)}, capture_output=True, text=True, check=True
    )
    missing = "cannot be loaded: No module named 'no_such'"
    assert done.stdout.splitlines() == [
        "['bare', 'extra_one']",
        "ChatLocal",
        f"the provider 'extra_one' {missing}; `pip install pack[extra_one]` brings what it needs",
        f"the provider 'bare' {missing}",
    ]


async def test_making_a_model_does_not_block_the_loop() -> None:
    """What exists was read when the module was imported; a provider's own module is an import like any other."""
    assert init_chat_model("openai:gpt-5.2", api_key="none")._llm_type == "openai-chat"


@pytest.mark.parametrize("name", ["bedrock:m", "aws:m", "amazon_bedrock:m"])
def test_roads_that_need_signing_say_the_way_round(name: str) -> None:
    """Who asks for a cloud's own road to a model is told which address and key to use instead."""
    with pytest.raises(UnknownModel, match=r"OpenAI-compatible endpoint .*docs/providers.md"):
        init_chat_model(name)
