"""The tables behind `find_profile`: one row for a model, as of October 2026.

A row is the name, the tokens that go in and out at most (``-``: not known), and what the model can do: ``image``,
``audio``, ``video``, ``pdf`` go in; ``draws``, ``speaks``; ``reasons``; ``tools``, ``schema`` (held to a JSON schema by the
server), ``temperature``. What a row does not name the model cannot do; ``schema?`` says that it is not known, and a row of
sizes alone that nothing else is. ``no-system``: it refuses system messages.

A wrong "cannot" refuses what would have worked, so where sources differ the kinder one counts.

Sources: models.dev (MIT licence), as of 2026-10-26; the providers' model pages; for OpenAI's retired models the sizes
that its documentation gave. Llama's and Qwen's are those of the weights.
"""

from collections.abc import Mapping

from hocket.profiles.profile import ModelProfile

__all__ = ["TABLES"]

_KEYS = {
    "image": "image_inputs",
    "audio": "audio_inputs",
    "video": "video_inputs",
    "pdf": "pdf_inputs",
    "draws": "image_outputs",
    "speaks": "audio_outputs",
    "reasons": "reasoning_output",
    "tools": "tool_calling",
    "schema": "structured_output",
    "temperature": "temperature",
}

_OPENAI = """
gpt-3.5-turbo              16385    4096  tools temperature
gpt-3.5-turbo-0125         16385    4096  tools temperature
gpt-3.5-turbo-1106         16385    4096  tools temperature
gpt-3.5-turbo-0613          4096    4096  tools temperature
gpt-3.5-turbo-16k          16385    4096  tools temperature
gpt-3.5-turbo-16k-0613     16385    4096  tools temperature
gpt-3.5-turbo-instruct      4096    4096  temperature
gpt-4                       8192    8192  tools temperature
gpt-4-0613                  8192    8192  tools temperature
gpt-4-32k                  32768   32768  tools temperature
gpt-4-32k-0613             32768   32768  tools temperature
gpt-4-1106-preview        128000    4096  tools temperature
gpt-4-0125-preview        128000    4096  tools temperature
gpt-4-turbo-preview       128000    4096  tools temperature
gpt-4-turbo               128000    4096  image pdf tools temperature
gpt-4.1                  1047576   32768  image pdf tools schema temperature
gpt-4.1-mini             1047576   32768  image pdf tools schema temperature
gpt-4.1-nano             1047576   32768  image pdf tools schema temperature
gpt-4o                    128000   16384  image pdf tools schema temperature
gpt-4o-2024-05-13         128000    4096  image pdf tools temperature
gpt-4o-mini               128000   16384  image pdf tools schema temperature
gpt-4o-audio-preview      128000   16384  audio speaks tools schema? temperature
gpt-4o-mini-audio-preview 128000   16384  audio speaks tools schema? temperature
chatgpt-4o-latest         128000   16384
gpt-5                     272000  128000  image pdf reasons tools schema
gpt-5-mini                272000  128000  image pdf reasons tools schema
gpt-5-nano                272000  128000  image pdf reasons tools schema
gpt-5-pro                 272000  272000  image pdf reasons tools schema
gpt-5-chat                128000   16384
gpt-5-codex               272000  128000  image pdf reasons tools schema
gpt-5.1                   272000  128000  image pdf reasons tools schema temperature
gpt-5.1-chat              128000   16384
gpt-5.1-codex             272000  128000
gpt-5.1-codex-max         272000  128000
gpt-5.1-codex-mini        272000  128000
gpt-5.2                   272000  128000  image pdf reasons tools schema temperature
gpt-5.2-chat              128000   16384
gpt-5.2-codex             272000  128000
gpt-5.2-pro               272000  128000  image pdf reasons tools
gpt-5.3-chat              128000   16384
gpt-5.3-codex             272000  128000  image pdf reasons tools schema temperature
gpt-5.4                  1050000  128000  image pdf reasons tools schema temperature
gpt-5.4-mini              272000  128000  image pdf reasons tools schema temperature
gpt-5.4-nano              272000  128000  image pdf reasons tools schema temperature
gpt-5.4-pro              1050000  128000  image pdf reasons tools
gpt-5.5                  1050000  128000  image pdf reasons tools schema
gpt-5.5-pro              1050000  128000  image pdf reasons tools schema?
gpt-5.6                  1050000  128000  image pdf reasons tools schema
gpt-5.6-luna             1050000  128000  image pdf reasons tools schema
gpt-5.6-sol              1050000  128000  image pdf reasons tools schema
gpt-5.6-terra            1050000  128000  image pdf reasons tools schema
gpt-6-astra              1050000  128000  image pdf reasons tools schema
gpt-6-luna               1050000  128000  image pdf reasons tools schema
gpt-6-sol                1050000  128000  image pdf reasons tools schema
gpt-6.1-sol              1050000  128000  image pdf reasons tools schema
gpt-6.1-terra            1050000  128000  image pdf reasons tools schema
gpt-oss-120b              131072   65536  reasons tools schema temperature
gpt-oss-20b               131072   65536  reasons tools schema temperature
o1                        200000  100000  image pdf reasons tools schema
o1-pro                    200000  100000  image pdf reasons tools schema
o1-mini                   128000   65536  reasons no-system
o1-preview                128000   32768  reasons no-system
o3                        200000  100000  image pdf reasons tools schema
o3-pro                    200000  100000  image pdf reasons tools schema
o3-mini                   200000  100000  reasons tools schema
o4-mini                   200000  100000  image pdf reasons tools schema
text-davinci-003            4097       -
text-curie-001              2048       -
text-babbage-001            2048       -
text-ada-001                2048       -
code-davinci-002            8000       -
code-cushman-001            2048       -
babbage-002                16384       -
davinci-002                16384       -
"""

_ANTHROPIC = """
claude-3-haiku            200000    4096  image tools temperature schema?
claude-3-opus             200000    4096  image tools temperature schema?
claude-3-5-haiku          200000    8192  image pdf tools temperature schema?
claude-3-5-sonnet         200000    8192  image pdf tools temperature schema?
claude-3-7-sonnet         200000   64000  image pdf reasons tools temperature schema?
claude-sonnet-4           200000   64000  image pdf reasons tools temperature schema?
claude-opus-4             200000   32000  image pdf reasons tools temperature schema?
claude-opus-4-1           200000   32000  image pdf reasons tools temperature schema?
claude-haiku-4-5          200000   64000  image pdf reasons tools schema temperature
claude-sonnet-4-5         200000   64000  image pdf reasons tools schema temperature
claude-opus-4-5           200000   64000  image pdf reasons tools schema temperature
claude-opus-4-6          1000000  128000  image pdf reasons tools schema temperature
claude-sonnet-4-6        1000000  128000  image pdf reasons tools schema temperature
claude-opus-4-7          1000000  128000  image pdf reasons tools schema
claude-opus-4-8          1000000  128000  image pdf reasons tools schema
claude-opus-5            1000000  128000  image pdf reasons tools schema
claude-sonnet-5          1000000  128000  image pdf reasons tools schema
claude-fable-5           1000000  128000  image pdf reasons tools schema
claude-fable-5-1         1000000  128000  image pdf reasons tools schema
claude-opus-5-5          1000000  128000  image pdf reasons tools schema
claude-sonnet-5-5        1000000  128000  image pdf reasons tools schema
claude-haiku-5-5         1000000  128000  image pdf reasons tools schema?
"""

_GOOGLE = """
gemini-2.0-flash         1048576    8192  image audio video pdf tools schema temperature
gemini-2.0-flash-lite    1048576    8192  image audio video pdf tools schema temperature
gemini-2.5-flash         1048576   65536  image audio video pdf reasons tools schema temperature
gemini-2.5-flash-lite    1048576   65536  image audio video pdf reasons tools schema temperature
gemini-2.5-pro           1048576   65536  image audio video pdf reasons tools schema temperature
gemini-2.5-flash-image     32768   32768  image pdf draws schema? temperature
gemini-3-flash-preview   1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.1-flash-lite    1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.1-pro-preview   1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.5-flash         1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.5-flash-lite    1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.6-flash         1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.7-flash         1048576   65536  image audio video pdf reasons tools schema temperature
gemini-3.8-flash         1048576   65536  image audio video pdf reasons tools schema temperature
gemini-4-argon           1048576   65536  image audio video pdf reasons tools schema
gemini-flash             1048576   65536  image audio video pdf reasons tools schema temperature
gemini-flash-lite        1048576   65536  image audio video pdf reasons tools schema temperature
"""

_MISTRAL = """
mistral-large             262144  262144  image tools schema? temperature pdf?
mistral-large-2512        262144  262144  image tools schema? temperature pdf?
mistral-large-2411        131072   16384  tools schema? temperature pdf?
mistral-medium            262144  262144  image reasons tools schema temperature pdf?
mistral-medium-2604       262144  262144  image reasons tools schema temperature pdf?
mistral-medium-2505       131072  131072  image tools schema? temperature pdf?
mistral-medium-2508       262144  262144  image tools schema? temperature pdf?
mistral-small             256000  256000  image reasons tools schema? temperature pdf?
mistral-small-2603        256000  256000  image reasons tools schema? temperature pdf?
mistral-small-2506        128000   16384  image tools schema? temperature pdf?
mistral-nemo              128000  128000  tools schema? temperature pdf?
open-mistral-nemo         128000  128000  tools schema? temperature pdf?
open-mistral-7b             8000    8000  tools schema? temperature pdf?
open-mixtral-8x7b          32000   32000  tools schema? temperature pdf?
open-mixtral-8x22b         64000   64000  tools schema? temperature pdf?
magistral-medium          128000   16384  reasons tools schema? temperature pdf?
magistral-small           128000  128000  reasons tools schema? temperature pdf?
ministral-3b              128000  128000  tools schema? temperature pdf?
ministral-8b              128000  128000  tools schema? temperature pdf?
codestral                 256000    4096  tools schema? temperature pdf?
devstral-2512             262144  262144  tools schema? temperature pdf?
devstral                  262144  262144  tools schema? temperature pdf?
devstral-medium           262144  262144  tools schema? temperature pdf?
pixtral-12b               128000  128000  image tools schema? temperature pdf?
pixtral-large             128000  128000  image tools schema? temperature pdf?
"""

_DEEPSEEK = """
deepseek-chat             131072    8192  tools schema? temperature
deepseek-reasoner         131072   65536  reasons tools? schema? temperature?
deepseek-flash           1000000  384000  image reasons tools schema? temperature
deepseek-v4-flash        1000000  384000  image reasons tools schema? temperature
deepseek-v4-pro          1000000  384000  reasons tools schema? temperature
"""

_XAI = """
grok-3                    131072       -  tools schema temperature
grok-4                    256000       -  image reasons tools schema temperature
grok-4.20                1000000       -  image pdf reasons tools schema temperature
grok-4.20-reasoning      1000000       -  image pdf reasons tools schema temperature
grok-4.20-non-reasoning  1000000       -  image pdf tools schema temperature
grok-4.20-0309-reasoning 1000000       -  image pdf reasons tools schema temperature
grok-4.20-0309-non-reasoning 1000000       - image pdf tools schema temperature
grok-4.3                 1000000       -  image pdf reasons tools schema temperature
grok-4.5                  500000  500000  image pdf reasons tools schema temperature
"""

_META = """
llama-3.1-8b-instruct     131072       -  tools schema? temperature
llama-3.1-70b-instruct    131072       -  tools schema? temperature
llama-3.1-405b-instruct   131072       -  tools schema? temperature
llama-3.2-1b-instruct     131072       -  tools? schema? temperature
llama-3.2-3b-instruct     131072       -  tools? schema? temperature
llama-3.3-70b-instruct    131072       -  tools schema? temperature
llama-3.1-8b-instant      131072  131072  tools schema? temperature
llama-3.3-70b-versatile   131072   32768  tools schema? temperature
llama-4-scout-17b-16e-instruct     - - image tools schema? temperature
llama-4-maverick-17b-128e-instruct - - image tools schema? temperature
"""

_QWEN = """
qwen2.5-7b-instruct       131072    8192  tools schema? temperature
qwen2.5-14b-instruct      131072    8192  tools schema? temperature
qwen2.5-32b-instruct      131072    8192  tools schema? temperature
qwen2.5-72b-instruct      131072    8192  tools schema? temperature
qwen3-0.6b                 40960       -  reasons tools schema? temperature
qwen3-1.7b                 40960       -  reasons tools schema? temperature
qwen3-4b                   40960       -  reasons tools schema? temperature
qwen3-8b                   40960       -  reasons tools schema? temperature
qwen3-14b                  40960       -  reasons tools schema? temperature
qwen3-32b                  40960       -  reasons tools schema? temperature
qwen3-30b-a3b              40960       -  reasons tools schema? temperature
qwen3-235b-a22b            40960       -  reasons tools schema? temperature
qwen3-4b-instruct-2507        262144       -  tools schema? temperature
qwen3-30b-a3b-instruct-2507   262144       -  tools schema? temperature
qwen3-235b-a22b-instruct-2507 262144       -  tools schema? temperature
"""


def _profile(tokens_in: str, tokens_out: str, words: list[str]) -> ModelProfile:
    profile: dict[str, bool | int] = {}
    if words:
        unknown = {word.removesuffix("?") for word in words if word.endswith("?")}
        profile = {"text_inputs": True, "text_outputs": True}
        profile |= {key: word in words for word, key in _KEYS.items() if word not in unknown}
    if "no-system" in words:
        profile["system_messages"] = False
    for key, number in (("max_input_tokens", tokens_in), ("max_output_tokens", tokens_out)):
        if number != "-":
            profile[key] = int(number)
    return profile  # type: ignore[return-value]


def _table(text: str) -> Mapping[str, ModelProfile]:
    rows = [line.split() for line in text.strip().splitlines()]
    return {name: _profile(tokens_in, tokens_out, words) for name, tokens_in, tokens_out, *words in rows}


TABLES: Mapping[str, Mapping[str, ModelProfile]] = {
    "openai": _table(_OPENAI),
    "anthropic": _table(_ANTHROPIC),
    "google": _table(_GOOGLE),
    "mistral": _table(_MISTRAL),
    "deepseek": _table(_DEEPSEEK),
    "xai": _table(_XAI),
    "meta": _table(_META),
    "qwen": _table(_QWEN),
}
"""The profiles of each provider's models, by their names in small letters."""
