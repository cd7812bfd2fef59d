"""How the servers that speak OpenAI's formats differ, as data.

None of the differences is code elsewhere: what encodes or decodes asks the dialect. A server that is not in the table
is spoken to in `COMPATIBLE`, which expects nothing beyond what they all do; a dialect of one's own is
``replace(named_dialect("vllm"), base_url="https://llm.example.com/v1", echo=("reasoning",))``.

Sources: the providers' API references and their own SDKs, as of 2026.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from types import MappingProxyType
from typing import Literal

from hocket.errors import InvalidInput
from hocket.language_models.option_policy import VOCABULARY
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.remote.endpoint import Endpoint, is_local

__all__ = ["COMPATIBLE", "DIALECTS", "Dialect", "dialect_at", "named_dialect"]


@dataclass(frozen=True, kw_only=True)
class Dialect(Endpoint):
    """One server's, or one kind of server's, way of speaking OpenAI's formats. `Endpoint` has its address and its key.

    Attributes:
        root: the path of the API, for a base URL without a path.
        deployments: whether an ``api-version`` in the query asks for Azure's older URLs, with the model in the path.
        token_limit: the name that it gives ``max_tokens``.
        refuses: options of the format that it ignores or has no word for.
        words: the options beyond the format that it takes, and what it calls them.
        stream_usage: whether it takes ``stream_options``.
        finishes: whether each of its streams holds a finish reason; if not, ``[DONE]`` is an end as well.
        sends_done: whether it ends streams with ``[DONE]``.
        echo: the fields of reasoning that it wants back, with each message that calls tools.
        echo_empty: whether it wants the first of these even where there was no reasoning.
        audio_as_url: whether recordings are sent as ``data:`` URLs.
        takes_video: whether it knows the part ``video_url``.
        holds_to_schema: whether it knows the response format ``json_schema``.
        cache_key: whether it takes ``prompt_cache_key``, by which a prompt finds the machine that has its beginning.
        tool_choices: the choices among tools that it heeds; where names are not among them, only the named are offered.
        batch_upload: the path that the file of a batch goes to.
        batch_form: what the form says beside the file.
        repeats_metadata: whether it keeps the metadata of a batch, by which hocket finds it again.
    """

    root: str = ""
    deployments: bool = False
    token_limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    refuses: frozenset[str] = frozenset()
    words: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    stream_usage: bool = True
    finishes: bool = True
    sends_done: bool = True
    echo: tuple[str, ...] = ()
    echo_empty: bool = False
    audio_as_url: bool = False
    takes_video: bool = False
    holds_to_schema: bool = True
    cache_key: bool = False
    tool_choices: frozenset[ToolChoiceKind] = frozenset(ToolChoiceKind) - {ToolChoiceKind.SUBSET}
    batch_upload: str = "files"
    batch_form: Mapping[str, str] = field(default_factory=lambda: {"purpose": "batch"}, hash=False)
    repeats_metadata: bool = True

    @cached_property
    def refused(self) -> frozenset[str]:
        """The options that it has no word for, of the format and beyond."""
        return self.refuses | (_BEYOND - self.words.keys())


_BEYOND = VOCABULARY - {
    *("temperature", "max_tokens", "top_p", "seed", "stop", "n", "frequency_penalty", "presence_penalty", "logit_bias"),
    *("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call", "response_format"),
    *("reasoning_effort", "logprobs", "top_logprobs", "prompt_cache", "extra_body"),
}
"""Options that are not of OpenAI's format."""

_SAMPLING = {"top_k": "top_k", "min_p": "min_p", "repetition_penalty": "repetition_penalty"}


def _find_token(fields: Mapping[str, object]) -> Mapping[str, object]:
    """Return what azure-identity will find, as the field that has it."""
    from hocket.clouds.azure import azure_token, is_azure_identity_here  # OpenAI's own users need none of it

    return {"api_key": azure_token()} if is_azure_identity_here() else {}


_AZURE = Dialect(
    name="azure",
    hosts=("openai.azure.com", "cognitiveservices.azure.com", "services.ai.azure.com"),
    url_variable="AZURE_OPENAI_ENDPOINT",
    key_variables=("AZURE_OPENAI_API_KEY",),
    key_header="api-key",
    query_variables={"api-version": "OPENAI_API_VERSION"},
    root="/openai/v1",
    deployments=True,
    token_limit="max_completion_tokens",
    cache_key=True,
    tool_choices=frozenset(ToolChoiceKind),
)

COMPATIBLE = Dialect(name="openai_compatible", needs_key=False, finishes=False)
"""What a server speaks of which nothing is known."""

_ALL = (
    Dialect(
        name="openai",
        base_url="https://api.openai.com/v1",
        url_variable="OPENAI_BASE_URL",
        key_variables=("OPENAI_API_KEY",),
        account_variables={"organization": "OPENAI_ORG_ID", "project": "OPENAI_PROJECT_ID"},
        token_limit="max_completion_tokens",
        cache_key=True,
        tool_choices=frozenset(ToolChoiceKind),
    ),
    _AZURE,
    # Signed in by Microsoft Entra ID: a token, mostly from a callable, and no key.
    replace(
        _AZURE,
        name="azure_entra",
        key_variables=("AZURE_OPENAI_AD_TOKEN",),
        key_header="authorization",
        find_credentials=_find_token,
        extra="entra",
    ),
    Dialect(
        name="groq",
        base_url="https://api.groq.com/openai/v1",
        key_variables=("GROQ_API_KEY",),
        token_limit="max_completion_tokens",
        refuses=frozenset({"logprobs", "top_logprobs", "logit_bias"}),
    ),
    Dialect(
        name="deepseek",
        base_url="https://api.deepseek.com",
        key_variables=("DEEPSEEK_API_KEY",),
        echo=("reasoning_content",),
        echo_empty=True,
        holds_to_schema=False,
    ),
    Dialect(
        name="moonshot",
        base_url="https://api.moonshot.ai/v1",
        key_variables=("MOONSHOT_API_KEY", "MOONSHOTAI_API_KEY"),
        echo=("reasoning_content",),
    ),
    Dialect(
        name="openrouter",
        base_url="https://openrouter.ai/api/v1",
        key_variables=("OPENROUTER_API_KEY",),
        words=_SAMPLING,
        echo=("reasoning_details",),
        takes_video=True,
    ),
    Dialect(
        name="together",
        base_url="https://api.together.xyz/v1",
        hosts=("api.together.ai",),
        key_variables=("TOGETHER_API_KEY",),
        words=_SAMPLING,
        batch_upload="files/upload",
        batch_form={"purpose": "batch-api", "file_name": "batch.jsonl"},
        repeats_metadata=False,
    ),
    Dialect(
        name="fireworks",
        base_url="https://api.fireworks.ai/inference/v1",
        key_variables=("FIREWORKS_API_KEY",),
        words=_SAMPLING,
    ),
    Dialect(name="xai", base_url="https://api.x.ai/v1", key_variables=("XAI_API_KEY",)),
    Dialect(
        name="cerebras",
        base_url="https://api.cerebras.ai/v1",
        key_variables=("CEREBRAS_API_KEY",),
        token_limit="max_completion_tokens",
    ),
    Dialect(name="sambanova", base_url="https://api.sambanova.ai/v1", key_variables=("SAMBANOVA_API_KEY",)),
    Dialect(name="nebius", base_url="https://api.studio.nebius.com/v1", key_variables=("NEBIUS_API_KEY",)),
    Dialect(name="huggingface", base_url="https://router.huggingface.co/v1", key_variables=("HF_TOKEN",)),
    Dialect(
        name="github",
        base_url="https://models.github.ai/inference",
        key_variables=("GITHUB_API_KEY", "GITHUB_TOKEN"),
    ),
    Dialect(name="zai", base_url="https://api.z.ai/api/paas/v4", key_variables=("ZAI_API_KEY",)),
    Dialect(
        name="alibaba",
        base_url="https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        hosts=("dashscope.aliyuncs.com",),
        key_variables=("DASHSCOPE_API_KEY", "ALIBABA_API_KEY"),
        audio_as_url=True,
        takes_video=True,
        holds_to_schema=False,
    ),
    Dialect(
        name="gemini_compatible",
        base_url="https://generativelanguage.googleapis.com/v1beta/openai",
        key_variables=("GEMINI_API_KEY",),
    ),
    Dialect(
        name="vllm",
        base_url="http://localhost:8000/v1",
        url_variable="VLLM_BASE_URL",
        key_variables=("VLLM_API_KEY",),
        needs_key=False,
        words={**_SAMPLING, "min_length": "min_tokens"},
        takes_video=True,
    ),
    Dialect(
        name="llamacpp",
        base_url="http://localhost:8080/v1",
        needs_key=False,
        words={"top_k": "top_k", "min_p": "min_p", "repetition_penalty": "repeat_penalty"},
        tool_choices=frozenset(ToolChoiceKind) - {ToolChoiceKind.SUBSET, ToolChoiceKind.ONE},
    ),
    Dialect(
        name="lmstudio",
        base_url="http://localhost:1234/v1",
        needs_key=False,
        start_command="lms server start",
        words={"top_k": "top_k", "repetition_penalty": "repeat_penalty"},
    ),
    Dialect(
        name="ollama_compatible",
        base_url="http://localhost:11434/v1",
        needs_key=False,
        start_command="ollama serve",
        refuses=frozenset({"n", "logit_bias"}),
    ),
    COMPATIBLE,
)

DIALECTS: Mapping[str, Dialect] = MappingProxyType({dialect.name: dialect for dialect in _ALL})
"""The dialects, by name."""


def named_dialect(name: str) -> Dialect:
    """Return the dialect of this name.

    Raises:
        InvalidInput: there is none; the message lists those there are.
    """
    if name not in DIALECTS:
        raise InvalidInput(f"no dialect is called {name!r}; there are: {', '.join(sorted(DIALECTS))}")
    return DIALECTS[name]


@lru_cache(maxsize=256)
def dialect_at(base_url: str) -> Dialect:
    """Return the dialect of the server at this URL, known by its host; `COMPATIBLE` where the host is not known."""
    if is_local(base_url):  # a server on this machine may be any
        return COMPATIBLE
    return next((dialect for dialect in _ALL if dialect.has_host(base_url)), COMPATIBLE)
