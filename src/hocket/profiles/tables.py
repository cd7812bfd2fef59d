"""The tables behind `find_profile`: ``models.txt``, read."""

from collections.abc import Mapping

from hocket._runtime.data_files import read_data_file
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
    "finds": "tool_search",
    "schema": "structured_output",
    "temperature": "temperature",
}


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


def _read_tables() -> Mapping[str, Mapping[str, ModelProfile]]:
    tables: dict[str, dict[str, ModelProfile]] = {}
    table: dict[str, ModelProfile] = {}
    for line in read_data_file("hocket.profiles", "models.txt").splitlines():
        if line.startswith("["):
            table = tables[line.strip("[]")] = {}
        elif line and not line.startswith("#"):
            name, tokens_in, tokens_out, *words = line.split()
            table[name] = _profile(tokens_in, tokens_out, words)
    return tables


TABLES: Mapping[str, Mapping[str, ModelProfile]] = _read_tables()
"""The profiles of each provider's models, by their names in small letters."""
