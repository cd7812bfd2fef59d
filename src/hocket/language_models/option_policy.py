"""What becomes of an option that a model's server, or the model itself, cannot take.

Decided once for all providers, before a run begins, out of data: the options that the server has no word for, and the
model's profile. By default such an option is an error; a program that talks to several models may have it left out
instead, and then the run says so. A name that nobody knows is no such option but a mistake: the provider refuses it.
"""

from collections.abc import Iterable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, ClassVar, Literal, Self, cast, get_args

from pydantic import BaseModel, Field, SkipValidation, field_validator, model_validator

from hocket._runtime.callers import warn_caller
from hocket.errors import InvalidInput, Unsupported, UnsupportedOptionWarning
from hocket.messages import AIMessage, BaseMessage, ToolMessage
from hocket.profiles import ModelProfile
from hocket.profiles.lookup import checked_profile

__all__ = [
    "DROPPED_OPTIONS",
    "VOCABULARY",
    "HookOptions",
    "OptionPolicy",
    "OptionPolicyMixin",
    "dropped_options",
    "find_refused",
    "find_unreadable",
    "find_unreadable_part",
]

OptionPolicy = Literal["raise", "drop", "warn"]
"""What becomes of an option that a model cannot take: an error, left out in silence, or with a warning."""

DROPPED_OPTIONS = "dropped_options"
"""The key, in the metadata of a run, of the names of the options that were left out."""

dropped_options: ContextVar[set[str] | None] = ContextVar("hocket_dropped_options", default=None)
"""Where to note the options that models leave out, for a server that tells its clients."""

_SAMPLING = (
    *("temperature", "top_p", "top_k", "min_p", "repetition_penalty", "frequency_penalty", "presence_penalty"),
    *("logit_bias", "logprobs", "top_logprobs"),
)
_TOOLS = ("tools", "tool_choice", "parallel_tool_calls", "functions", "function_call")
_LIMITS = ("max_tokens", "min_length", "stop", "seed", "n", "candidate_count")
_FORMS = ("response_format", "response_mime_type", "reasoning_effort", "prompt_cache", "extra_body")

VOCABULARY = frozenset((*_SAMPLING, *_TOOLS, *_LIMITS, *_FORMS))
"""The names of the options that models have in common: those of `hocket.language_models.options`, which is loaded later."""

_NEEDED: Mapping[str, str] = {
    **dict.fromkeys(_SAMPLING, "temperature"),
    **dict.fromkeys(_TOOLS, "tool_calling"),
    "reasoning_effort": "reasoning_output",
}
"""Options that not every model can take, and the key of its profile that says whether it can."""

_INPUTS: Mapping[object, str] = {
    "image": "image_inputs",
    "image_url": "image_inputs",
    "audio": "audio_inputs",
    "input_audio": "audio_inputs",
    "video": "video_inputs",
    "video_url": "video_inputs",
}
"""Types of parts that not every model can read, and the key of its profile that says whether it can."""

_NOTHING: frozenset[str] = frozenset()


HookOptions = tuple[list[str] | None, dict[str, Any], Sequence[str]]
"""What goes to a model's hook: stop words, options (one that is None unsets the model's own), and what was left out."""


class OptionPolicyMixin(BaseModel, defer_build=True):
    """What lets a model say what it can take, and what is to become of the rest.

    A provider says what its server has no word for in ``_refused_options``, and what is known of its model in
    ``_resolve_model_profile``.
    """

    profile: SkipValidation[ModelProfile] | None = Field(default=None, exclude=True, repr=False)
    unsupported: OptionPolicy = Field(default="raise", repr=False)

    _api_options: ClassVar[frozenset[str]] = frozenset()
    """The names of options beyond those that models have in common, which ``_refused_options`` may name as well."""

    _reasoning_options: ClassVar[frozenset[str]] = frozenset()
    """The names of those among them that ask a model to reason, as ``reasoning_effort`` does."""

    _profile_fields: ClassVar[frozenset[str]] = frozenset({"model"})
    """The names of the fields that ``_resolve_model_profile`` reads."""

    _option_fields: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        known = VOCABULARY | cls._api_options | cls._reasoning_options
        cls._option_fields = tuple(name for name in cls.__pydantic_fields__ if name in known)

    @field_validator("profile", mode="before")
    @classmethod
    def _check_profile(cls, profile: Any) -> object:
        return None if profile is None else checked_profile(profile)

    @model_validator(mode="before")
    @classmethod
    def _leave_out_foreign(cls, values: object) -> object:
        """Do with options that other models take, and this class has no field for, what ``unsupported`` says."""
        if not isinstance(values, dict):
            return values
        fields = cast("dict[str, Any]", values)
        foreign = (fields.keys() & VOCABULARY) - cls.__pydantic_fields__.keys()
        if not foreign or not cls._option_fields or cls.model_config.get("extra") == "allow":
            return fields
        if said := sorted(name for name in foreign if fields[name] is not None):
            _refuse(
                cls.__name__, said, [f"{cls.__name__} takes no {', '.join(said)}"], fields.get("unsupported", "raise")
            )
        return {name: value for name, value in fields.items() if name not in foreign}

    @model_validator(mode="after")
    def _fill_profile(self) -> Self:
        self._look_up_profile()
        own = {name for name in self._option_fields if self.__dict__[name] is not None} & self.model_fields_set
        if self.unsupported == "raise" and (refused := sorted(own & self._refused_options)):
            who = self._server_name
            _refuse(who, refused, [f"{who} takes no {', '.join(refused)}"], "raise", _EXTRA_BODY)
        return self

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except ValueError as error:
            if not hasattr(self, name) and not name.startswith("_"):
                error.add_note(
                    f"Declare it in the class: {name!s}: <its type>, which callers may give and which is part of the cache "
                    f"key; or _{name!s}: <its type> = PrivateAttr(...), for what does not change the answer."
                )
            raise
        if name in self._profile_fields:  # another model, another profile
            self._look_up_profile()

    def _look_up_profile(self) -> None:
        if "profile" not in self.model_fields_set:
            fields: Any = self.__dict__
            fields["profile"] = self._resolve_model_profile()  # and not said by the user

    def _resolve_model_profile(self) -> ModelProfile | None:
        """Return the profile of the model, unless it is given. (LangChain's name.)"""
        return None

    @property
    def _refused_options(self) -> frozenset[str]:
        """The names of options (`ChatOptions`) that the server has no word for."""
        return _NOTHING

    def _apply_option_policy(
        self,
        stop: list[str] | None,
        params: dict[str, Any],
        policy: object = None,
        messages: Iterable[BaseMessage] = (),
    ) -> HookOptions:
        """Return what goes to the hook, without the options that cannot be taken.

        Args:
            stop, params: what the call says.
            policy: what it says of options that cannot be taken; None: nothing, so that the model's own word counts.
            messages: what the model is asked.

        Raises:
            Unsupported: an option cannot be taken, and is not to be dropped; or a message holds what the model cannot
                read: that is never left out.
            InvalidInput: there is no such policy, or two options contradict each other.
        """
        if policy is not None and policy not in get_args(OptionPolicy):
            raise InvalidInput(f"unsupported={policy!r} is none of {', '.join(map(repr, get_args(OptionPolicy)))}")
        fields = self.__dict__
        refuses = self._refused_options
        profile = self._profile_for(params["model"]) if "model" in params else fields["profile"]
        if not refuses and not profile:
            if params:
                _check_forms({**fields, **params})
            return stop, params, ()
        if profile and (unread := find_unreadable(messages, profile)):
            raise Unsupported(
                f"the model {self._name_for(params)!r} reads no {unread[0]} (its profile: {unread[1]} is False); remove "
                "it, use a model that does, or, if this one does after all, give it another profile"
            )
        options = {name: fields[name] for name in self._option_fields} | params
        if stop is not None:
            options["stop"] = stop
        options = {name: value for name, value in options.items() if value is not None and value != []}
        _check_forms(options)
        refused = find_refused(options, refuses, profile or {}, self._reasoning_options)
        if not refused:
            return stop, params, ()
        return self._without(refused, stop, params, cast(OptionPolicy, policy or self.unsupported))

    @property
    def _server_name(self) -> str:
        return getattr(self, "_provider", None) or type(self).__name__

    def _name_for(self, params: Mapping[str, object]) -> object:
        return params.get("model") or self.__dict__.get("model") or type(self).__name__

    def _profile_for(self, model: str | None) -> ModelProfile | None:
        """Return the profile of the model that a call names, which may be another one than this object does."""
        own = self.__dict__.get("model")
        if model is None or own is None or model == own:
            return self.profile
        return self.model_copy(update={"model": model})._resolve_model_profile()

    def _without(
        self, refused: Mapping[str, str | None], stop: list[str] | None, params: dict[str, Any], policy: OptionPolicy
    ) -> HookOptions:
        """Do with refused options what the policy says."""
        who = self._server_name
        by_server = [name for name, key in refused.items() if key is None]
        by_model = [f"{name} (its profile: {key} is False)" for name, key in refused.items() if key is not None]
        said = [f"{who} takes no {', '.join(by_server)}"] if by_server else []
        said += [f"the model {self._name_for(params)!r} takes no {', '.join(by_model)}"] if by_model else []
        way_out = "; if the model can, give it another profile" if by_model else ""
        way_out += _EXTRA_BODY if by_server and "extra_body" not in self._refused_options else ""
        _refuse(who, refused, said, policy, way_out)
        if (dropped := dropped_options.get()) is not None:
            dropped.update(refused)
        unset = {name: None for name in refused if self.__dict__.get(name) is not None}
        kept = {name: value for name, value in params.items() if name not in refused}
        return None if "stop" in refused else stop, {**kept, **unset}, tuple(refused)


_EXTRA_BODY = "; extra_body is sent as it is"


def _refuse(who: str, options: Iterable[str], said: Iterable[str], policy: object, way_out: str = "") -> None:
    """Do what the policy says of options that cannot be taken, but for leaving them out."""
    if policy == "raise":
        hint = f"leave it out, or have it left out with unsupported='drop'{way_out}"
        raise Unsupported(f"{'; '.join(said)}: {hint}", options=tuple(options), provider=who)
    if policy == "warn":
        warn_caller(f"{'; '.join(said)}: left out", UnsupportedOptionWarning)


def find_refused(
    options: Mapping[str, Any],
    refuses: frozenset[str],
    profile: Mapping[str, Any],
    reasoning_options: frozenset[str] = frozenset(),
) -> dict[str, str | None]:
    """Return the options that cannot be taken.

    Args:
        options: those that are set.
        refuses: those that the server has no word for.
        profile: the model's.
        reasoning_options: those of one provider that ask the model to reason.

    Returns:
        for each, the key of the profile that says so; None: the server has no word for it.
    """
    refused: dict[str, str | None] = {}
    for name, value in options.items():
        key = _NEEDED.get(name)
        if name == "response_format" and isinstance(value, Mapping):
            is_schema = cast("Mapping[str, object]", value).get("type") == "json_schema"
            key = "structured_output" if is_schema else key
        elif name in reasoning_options and not _is_off(value):
            key = "reasoning_output"
        if name in refuses:
            refused[name] = None
        elif key is not None and profile.get(key) is False:
            refused[name] = key
    return refused


def _is_off(value: object) -> bool:
    """Whether an option asks the model not to reason, which each can do."""
    return not value or (isinstance(value, Mapping) and cast("Mapping[str, object]", value).get("type") == "disabled")


def _check_forms(options: Mapping[str, object]) -> None:
    """Refuse two options that both say what form the answer has."""
    if options.get("response_format") and options.get("response_mime_type"):
        raise InvalidInput("response_format and response_mime_type both say what form the answer has; give one")


def find_unreadable(messages: Iterable[BaseMessage], profile: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return the type of the first part that a model of this profile cannot read, and the key that says so.

    What models said, and tools, is not looked at: the provider decides what it sends of that.
    """
    for message in messages:
        if message.content.__class__ is str or isinstance(message, AIMessage | ToolMessage):
            continue
        if unread := find_unreadable_part(message.content, profile):
            return unread
    return None


def find_unreadable_part(content: Iterable[object], profile: Mapping[str, Any]) -> tuple[str, str] | None:
    """Return what `find_unreadable` does, of one content."""
    for part in content:
        if not isinstance(part, Mapping):
            continue
        fields = cast("Mapping[str, object]", part)
        key = "pdf_inputs" if fields.get("mime_type") == "application/pdf" else _INPUTS.get(str(fields.get("type")), "")
        if profile.get(key) is False:
            return str(fields["type"]), key
    return None
