"""Messages and options, written as the body of a request to the Gemini API. Pure functions.

Gemini 3 and later want a thought signature on the first call of each step that the model made since the user last spoke.
Where another model made the call there is none; for that case the API documents a word to send in its place.
"""

import re
from collections.abc import Sequence

from hocket.errors import InvalidInput, Unsupported
from hocket.language_models.options import collect_options
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.messages.roles import calls_of
from hocket.providers.google.content import call_in, encode_content, encode_result, is_signed
from hocket.providers.google.options import GoogleOptions
from hocket.providers.google.service import PROVIDER
from hocket.providers.google.tools import encode_tools
from hocket.remote.turns import USER, join_turns, split_instructions

__all__ = ["encode_conversation", "encode_request"]

NO_SIGNATURE = "skip_thought_signature_validator"
"""What the API takes instead of a signature, for calls that another model made."""

_SIGNING = re.compile(r"gemini(?!-[12]\b)")
"""Models that want signatures: Gemini 3 and later, and names without a number, which mean the newest."""

_BUDGETED = re.compile(r"gemini-[12]\b")
"""Models that think within a budget, and know no level."""

_BUDGETS = {"none": 0, "minimal": 1024, "low": 1024, "medium": 8192, "high": 24_576, "xhigh": 24_576, "max": 24_576}
"""Tokens to think with. (Google's own numbers, for OpenAI's words.)"""

_LEVELS = {"none": "MINIMAL", "max": "XHIGH"}

_WORDS = {
    "temperature": "temperature",
    "top_p": "topP",
    "top_k": "topK",
    "max_tokens": "maxOutputTokens",
    "stop": "stopSequences",
    "seed": "seed",
    "n": "candidateCount",
    "candidate_count": "candidateCount",
    "presence_penalty": "presencePenalty",
    "frequency_penalty": "frequencyPenalty",
    "logprobs": "responseLogprobs",
    "top_logprobs": "logprobs",
    "response_mime_type": "responseMimeType",
    "response_modalities": "responseModalities",
    "image_config": "imageConfig",
    "speech_config": "speechConfig",
    "media_resolution": "mediaResolution",
}
"""Options that are fields of ``generationConfig``."""

_TOP_WORDS = {"cached_content": "cachedContent", "service_tier": "serviceTier", "labels": "labels"}


def encode_request(messages: Sequence[BaseMessage], options: GoogleOptions, *, stream: bool) -> Fields:
    """Return the body of a request; `hocket.remote.RemoteChatModel` tells the arguments.

    Raises:
        InvalidInput: several answers as one stream, a tool choice that names no tool; or see `encode_conversation`.
        Unsupported: content, or a form of answer, that the API has no place for.
    """
    count = options.candidate_count or options.n or 1
    if stream and count > 1:
        raise InvalidInput(f"{count} answers cannot come as one stream; use ainvoke or agenerate, or n=1")
    values = collect_options(options)
    body = encode_conversation(messages, options.model)
    body |= encode_tools(options.tools or (), options.tool_choice, options.tool_config)
    config: Fields = {word: values[name] for name, word in _WORDS.items() if name in values}
    config |= _encode_format(options.response_format) if options.response_format else {}
    if thinking := _encode_thinking(options):
        config["thinkingConfig"] = thinking
    if config:
        body["generationConfig"] = config
    if settings := options.safety_settings:
        pairs = settings.items() if isinstance(settings, dict) else ()
        listed = [{"category": category, "threshold": threshold} for category, threshold in pairs]
        body["safetySettings"] = listed or settings
    body |= {word: values[name] for name, word in _TOP_WORDS.items() if name in values}
    return body


def encode_conversation(messages: Sequence[BaseMessage], model: str) -> Fields:
    """Return the fields ``contents`` and ``systemInstruction``. Tools' results are turns of their own.

    Args:
        messages: the conversation.
        model: which is asked.

    Raises:
        InvalidInput: nothing is asked; a message is of a speaker that the API does not know; or see `encode_result`.
        Unsupported: see `encode_content`.
    """
    names: dict[str, str] = {}
    told_ids: set[str] = set()

    def write(message: BaseMessage) -> list[Fields]:
        if isinstance(message, ToolMessage):
            return [encode_result(message, names, told_ids)]
        parts = encode_content(message)
        if isinstance(message, AIMessage):
            names.update((call["id"], call["name"] or "") for call in calls_of(message) if call["id"])
            told_ids.update(str(call["id"]) for part in parts if (call := call_in(part)) and call.get("id"))
        return parts

    instructions, others = split_instructions(messages)
    turns = join_turns(others, write, results_apart=True)
    if not turns:
        raise InvalidInput("nothing is asked: the conversation has no message but system messages; add a HumanMessage")
    contents = [{"role": "user" if speaker == USER else "model", "parts": parts} for speaker, parts in turns]
    if _SIGNING.search(model):
        _sign(contents)
    system = [part for message in instructions for part in encode_content(message)]
    return {"contents": contents, **({"systemInstruction": {"role": "user", "parts": system}} if system else {})}


def _sign(contents: list[Fields]) -> None:
    """Put the word for a missing signature on the first call of each step since the user last spoke."""
    for turn in reversed(contents):
        parts: list[Fields] = turn["parts"]
        if turn["role"] == "user":
            if not all("functionResponse" in part for part in parts):
                return
            continue
        at = next((at for at, part in enumerate(parts) if call_in(part)), None)
        if at is not None and not is_signed(parts[at]):
            parts[at] = {**parts[at], "thoughtSignature": NO_SIGNATURE}


def _encode_thinking(options: GoogleOptions) -> Fields:
    """Return how much to think, and whether to tell of it.

    Raises:
        InvalidInput: there is no such effort.
    """
    effort, level, budget = options.reasoning_effort, options.thinking_level, options.thinking_budget
    if effort is not None and effort not in _BUDGETS:
        raise InvalidInput(f"reasoning_effort={effort!r} is none of {', '.join(_BUDGETS)}")
    if effort is not None and level is None and budget is None:
        if _BUDGETED.search(options.model):
            budget = _BUDGETS[effort]
        else:
            level = _LEVELS.get(effort, effort)
    said = {
        "includeThoughts": options.include_thoughts,
        "thinkingLevel": level and level.upper(),
        "thinkingBudget": budget,
    }
    return {name: value for name, value in said.items() if value is not None}


def _encode_format(form: FieldsView) -> Fields:
    match form.get("type"):
        case "text":
            return {}
        case "json_object":
            return {"responseMimeType": "application/json"}
        case "json_schema":
            schema = form.get("json_schema", form).get("schema", {})
            return {"responseMimeType": "application/json", "responseJsonSchema": schema}
        case kind:
            raise Unsupported(
                f"an answer of the form {kind!r} cannot be asked for: the API knows text, json_object and json_schema",
                options=("response_format",),
                provider=PROVIDER,
            )
