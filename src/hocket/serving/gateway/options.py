"""The options of a request: which go to the model, and which are left out where the model refuses them.

An option goes to the model, which knows what it takes, unless it would not reach the model at all: hocket's own
(``retry``, ``callbacks`` ...), what would write into the request past all checks (``extra_body``), and several answers
(``n``), of which all would be paid for and one shown.

Many programs send every option that the API has, at the API's own default. Such a value asks for nothing: where a model
takes the option it is sent, and where it does not, the request is as good without it.
"""

from collections.abc import Collection, Iterable, Mapping

from hocket.language_models.call_parts import NOT_SENT
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.serving.gateway.fields import find_field, refuse_field
from hocket.serving.refusals import Refusal

__all__ = ["AMBIGUOUS", "find_spare", "read_options"]

_ARGUMENTS = {"input", "messages", "prompt", "prompts", "stop", "config", "run_manager", "self"}
_OURS = NOT_SENT | RunnableConfig.__annotations__.keys() | _ARGUMENTS
_PAST_CHECKS = frozenset({"extra_body", "extra_headers", "extra_query", "api_key", "base_url"})
_COUNTS = ("n", "best_of", "candidate_count")  # of answers, as providers call it

_DEFAULTS: Mapping[str, object] = {
    "frequency_penalty": 0,
    "include": [],
    "logit_bias": {},
    "logprobs": False,
    "parallel_tool_calls": True,
    "presence_penalty": 0,
    "service_tier": "auto",
    "store": False,
    "temperature": 1,
    "thinking": {"type": "disabled"},
    "top_logprobs": 0,
    "top_p": 1,
    "truncation": "disabled",
}
"""What the APIs do anyway, by the names of options."""


AMBIGUOUS = frozenset({"context_management"})
"""Options that are one thing to Anthropic and another to OpenAI: a model is told those of its own format alone."""


def read_options(fields: FieldsView, elsewhere: Collection[str]) -> Fields:
    """Return the options of a call: all that is not read elsewhere.

    Raises:
        Refusal: one is no option of a request.
    """
    options = {name: value for name, value in fields.items() if name not in elsewhere}
    if name := next((name for name in options if name in _OURS or name in _PAST_CHECKS), None):
        raise Refusal(status=400, message=f"there is no field {name!r} in a request", param=name)
    for name in _COUNTS:
        if type(count := options.pop(name, 1)) is not int or count != 1:
            raise refuse_field(name, count, "1 here: ask again for a further answer")
    find_field(options, "max_tokens", int, "a whole number")  # some models are asked in another way for long answers
    return options


def find_spare(options: FieldsView, further: Iterable[str] = ()) -> frozenset[str]:
    """Return the names of options that may be left out: those at their API's default, and further ones."""
    spare = (name for name, value in options.items() if name in _DEFAULTS and _DEFAULTS[name] == value)
    return frozenset((*spare, *further))
