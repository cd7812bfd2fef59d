"""Servers that speak OpenAI's format, each by its name: ``groq(model="llama-3.3-70b")``. The table of dialects, callable."""

from dataclasses import dataclass
from typing import Any

from hocket.providers.openai.chat_model import ChatOpenAI
from hocket.remote.service import explain_setup

__all__ = [
    "CompatibleProvider",
    "alibaba",
    "azure",
    "azure_entra",
    "cerebras",
    "deepseek",
    "fireworks",
    "gemini_compatible",
    "github",
    "groq",
    "huggingface",
    "llamacpp",
    "lmstudio",
    "moonshot",
    "nebius",
    "ollama_compatible",
    "openai_responses",
    "openrouter",
    "sambanova",
    "together",
    "vllm",
    "xai",
    "zai",
]


@dataclass(frozen=True)
class CompatibleProvider:
    """What makes the models of one dialect, or of one API.

    Attributes:
        dialect: its name; None: known by the address.
        use_responses_api: whether they speak the Responses API.
    """

    dialect: str | None
    use_responses_api: bool | None = None

    def __call__(self, **options: Any) -> ChatOpenAI:
        """Return a model of this dialect and API.

        Args:
            options: fields of `ChatOpenAI`, ``model`` at least.

        Raises:
            InvalidInput: the server needs a key, or has no address of its own, and none was given.
        """
        fields: dict[str, Any] = {"dialect": self.dialect, "use_responses_api": self.use_responses_api, **options}
        return ChatOpenAI(**fields)

    def setup_needed(self) -> str | None:
        """Return what has to be done before a model can be called, in a line; None: nothing. Asks the environment only."""
        return explain_setup(ChatOpenAI, {"dialect": self.dialect})

    def key_variables(self) -> tuple[str, ...]:
        """Return the names of the environment variables that may hold the key, the one to use first."""
        return ChatOpenAI._choose_endpoint({"dialect": self.dialect}).key_variables  # pyright: ignore[reportPrivateUsage]  # as its constructor does


alibaba: CompatibleProvider = CompatibleProvider("alibaba")
azure: CompatibleProvider = CompatibleProvider("azure")
azure_entra: CompatibleProvider = CompatibleProvider("azure_entra")
cerebras: CompatibleProvider = CompatibleProvider("cerebras")
deepseek: CompatibleProvider = CompatibleProvider("deepseek")
fireworks: CompatibleProvider = CompatibleProvider("fireworks")
gemini_compatible: CompatibleProvider = CompatibleProvider("gemini_compatible")
github: CompatibleProvider = CompatibleProvider("github")
groq: CompatibleProvider = CompatibleProvider("groq")
huggingface: CompatibleProvider = CompatibleProvider("huggingface")
llamacpp: CompatibleProvider = CompatibleProvider("llamacpp")
lmstudio: CompatibleProvider = CompatibleProvider("lmstudio")
moonshot: CompatibleProvider = CompatibleProvider("moonshot")
nebius: CompatibleProvider = CompatibleProvider("nebius")
ollama_compatible: CompatibleProvider = CompatibleProvider("ollama_compatible")
openai_responses: CompatibleProvider = CompatibleProvider(None, use_responses_api=True)
openrouter: CompatibleProvider = CompatibleProvider("openrouter")
sambanova: CompatibleProvider = CompatibleProvider("sambanova")
together: CompatibleProvider = CompatibleProvider("together")
vllm: CompatibleProvider = CompatibleProvider("vllm")
xai: CompatibleProvider = CompatibleProvider("xai")
zai: CompatibleProvider = CompatibleProvider("zai")
