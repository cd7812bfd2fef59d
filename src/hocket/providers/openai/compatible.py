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
"""Alibaba Cloud's Model Studio (Qwen); the key is in ``DASHSCOPE_API_KEY``."""

azure: CompatibleProvider = CompatibleProvider("azure")
"""OpenAI's models at Azure; the key is in ``AZURE_OPENAI_API_KEY``, the address is your resource's."""

azure_entra: CompatibleProvider = CompatibleProvider("azure_entra")
"""OpenAI's models at Azure, signed in with Microsoft Entra ID: a token, mostly from a function, and no key."""

cerebras: CompatibleProvider = CompatibleProvider("cerebras")
"""Cerebras; the key is in ``CEREBRAS_API_KEY``."""

deepseek: CompatibleProvider = CompatibleProvider("deepseek")
"""DeepSeek; the key is in ``DEEPSEEK_API_KEY``."""

fireworks: CompatibleProvider = CompatibleProvider("fireworks")
"""Fireworks AI; the key is in ``FIREWORKS_API_KEY``."""

gemini_compatible: CompatibleProvider = CompatibleProvider("gemini_compatible")
"""Gemini by its OpenAI format; the key is in ``GEMINI_API_KEY``. `ChatGoogleGenerativeAI` can do more."""

github: CompatibleProvider = CompatibleProvider("github")
"""GitHub Models; the key is in ``GITHUB_API_KEY`` or ``GITHUB_TOKEN``."""

groq: CompatibleProvider = CompatibleProvider("groq")
"""Groq; the key is in ``GROQ_API_KEY``."""

huggingface: CompatibleProvider = CompatibleProvider("huggingface")
"""Hugging Face's router to many providers; the token is in ``HF_TOKEN``."""

llamacpp: CompatibleProvider = CompatibleProvider("llamacpp")
"""llama.cpp's server, at ``http://localhost:8080/v1``; no key."""

lmstudio: CompatibleProvider = CompatibleProvider("lmstudio")
"""LM Studio, at ``http://localhost:1234/v1``; no key."""

moonshot: CompatibleProvider = CompatibleProvider("moonshot")
"""Moonshot AI (Kimi); the key is in ``MOONSHOT_API_KEY``."""

nebius: CompatibleProvider = CompatibleProvider("nebius")
"""Nebius AI Studio; the key is in ``NEBIUS_API_KEY``."""

ollama_compatible: CompatibleProvider = CompatibleProvider("ollama_compatible")
"""Ollama by its OpenAI format, at ``http://localhost:11434/v1``; no key. `ChatOllama` can do more."""

openai_responses: CompatibleProvider = CompatibleProvider(None, use_responses_api=True)
"""OpenAI by its newer API, ``/responses``; the key is in ``OPENAI_API_KEY``."""

openrouter: CompatibleProvider = CompatibleProvider("openrouter")
"""OpenRouter, a router to many providers; the key is in ``OPENROUTER_API_KEY``."""

sambanova: CompatibleProvider = CompatibleProvider("sambanova")
"""SambaNova; the key is in ``SAMBANOVA_API_KEY``."""

together: CompatibleProvider = CompatibleProvider("together")
"""Together AI; the key is in ``TOGETHER_API_KEY``."""

vllm: CompatibleProvider = CompatibleProvider("vllm")
"""vLLM's server, at ``http://localhost:8000/v1`` or ``VLLM_BASE_URL``; a key only if it wants one."""

xai: CompatibleProvider = CompatibleProvider("xai")
"""xAI (Grok); the key is in ``XAI_API_KEY``."""

zai: CompatibleProvider = CompatibleProvider("zai")
"""Z.ai (GLM); the key is in ``ZAI_API_KEY``."""
