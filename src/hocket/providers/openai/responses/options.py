"""Options, in the words of the Responses API. Pure functions.

The options themselves are fields of `hocket.providers.openai.options.ModelOptions`, for a model may be made for either API.
"""

from hocket.errors import Unsupported
from hocket.language_models.option_policy import VOCABULARY
from hocket.language_models.options import collect_options
from hocket.messages.content import Fields, FieldsView
from hocket.providers.openai.options import OF_COMPLETIONS, ModelOptions
from hocket.remote.options import write_options

__all__ = ["ENCRYPTED", "REFUSED", "encode_options"]

_TAKEN = frozenset(
    {
        *("temperature", "max_tokens", "top_p", "logprobs", "top_logprobs", "tools", "tool_choice", "extra_body"),
        *("parallel_tool_calls", "functions", "function_call", "response_format", "reasoning_effort"),
        "prompt_cache",
    }
)
REFUSED = (VOCABULARY - _TAKEN) | OF_COMPLETIONS
"""Options that the API has no word for."""

ENCRYPTED = "reasoning.encrypted_content"
_LOGPROBS = "message.output_text.logprobs"

_APART = ("response_format", "verbosity", "text", "reasoning_effort", "reasoning", "include", "logprobs")
_HANDLED = ("previous_response_id", "use_previous_response_id")


def encode_options(options: ModelOptions, *, can_reason: bool) -> Fields:
    """Return the options of a call as fields of a body, but for tools and what is said about the conversation.

    Args:
        options: of the call.
        can_reason: whether the model may reason. Then ``store=False`` asks for its reasoning encrypted: it could not go on
            from there otherwise. Models that do not reason refuse to be asked.

    Raises:
        Unsupported: ``background``, which needs somebody who looks again later.
    """
    body = write_options(collect_options(options), {"max_tokens": "max_output_tokens"}, *_APART, *_HANDLED)
    effort = {} if options.reasoning_effort is None else {"effort": options.reasoning_effort}
    if reasoning := {**effort, **(options.reasoning or {})}:
        body["reasoning"] = reasoning
    verbosity = {} if options.verbosity is None else {"verbosity": options.verbosity}
    form = {} if options.response_format is None else {"format": _encode_format(options.response_format)}
    if text := {**form, **verbosity, **(options.text or {})}:
        body["text"] = text
    wanted = list(options.include or ())
    if options.store is False and can_reason:
        wanted.append(ENCRYPTED)
    if options.logprobs or options.top_logprobs:
        wanted.append(_LOGPROBS)
    if wanted:
        body["include"] = list(dict.fromkeys(wanted))
    if {**body, **(options.extra_body or {})}.get("background"):
        raise Unsupported(
            "background=True is not supported: the answer would have to be asked for later; leave it out, and stream the "
            "answer, or give it time with timeout=...",
            provider="openai",
        )
    return body


def _encode_format(form: FieldsView) -> Fields:
    inner: Fields = form.get("json_schema") or {}
    return {**{name: value for name, value in form.items() if name != "json_schema"}, **inner}
