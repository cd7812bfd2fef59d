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
    "openrouter",
    "sambanova",
    "together",
    "vllm",
    "xai",
    "zai",
]


@dataclass(frozen=True)
class CompatibleProvider:
    """What makes the models of one dialect.

    Attributes:
        dialect: its name.
    """

    dialect: str

    def __call__(self, **options: Any) -> ChatOpenAI:
        """Return a model of this dialect.

        Args:
            options: fields of `ChatOpenAI`, ``model`` at least.

        Raises:
            InvalidInput: the server needs a key, or has no address of its own, and none was given.
        """
        fields: dict[str, Any] = {"dialect": self.dialect, **options}
        return ChatOpenAI(**fields)

    def setup_needed(self) -> str | None:
        """Return what has to be done before a model can be called, in a line; None: nothing. Asks the environment only."""
        return explain_setup(ChatOpenAI, {"dialect": self.dialect})


alibaba = CompatibleProvider("alibaba")
azure = CompatibleProvider("azure")
azure_entra = CompatibleProvider("azure_entra")
cerebras = CompatibleProvider("cerebras")
deepseek = CompatibleProvider("deepseek")
fireworks = CompatibleProvider("fireworks")
gemini_compatible = CompatibleProvider("gemini_compatible")
github = CompatibleProvider("github")
groq = CompatibleProvider("groq")
huggingface = CompatibleProvider("huggingface")
llamacpp = CompatibleProvider("llamacpp")
lmstudio = CompatibleProvider("lmstudio")
moonshot = CompatibleProvider("moonshot")
nebius = CompatibleProvider("nebius")
ollama_compatible = CompatibleProvider("ollama_compatible")
openrouter = CompatibleProvider("openrouter")
sambanova = CompatibleProvider("sambanova")
together = CompatibleProvider("together")
vllm = CompatibleProvider("vllm")
xai = CompatibleProvider("xai")
zai = CompatibleProvider("zai")
