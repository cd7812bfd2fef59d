"""What chat models and text models have in common: their configuration, and everything that is not a verb.

A model is configuration and nothing else: validated, picklable, safe to share between tasks, threads and event loops.
Whatever is open or in flight lives elsewhere.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast
from uuid import UUID

from pydantic import ConfigDict, Field, SkipValidation, field_validator, model_validator

from hocket import globals as settings
from hocket._metering.attempt import LedgerLike
from hocket._pipeline.accounts import BudgetLike, make_reservers
from hocket._pipeline.cache_access import CacheKey
from hocket._pipeline.cache_key import model_key
from hocket._pipeline.call import NO_LIMITS, CallLimits, Next
from hocket._pipeline.compose import compose_attempts
from hocket._pipeline.concurrency_limit import ConcurrencyLimiter
from hocket._pipeline.hooks import Hooks
from hocket._pipeline.request import CallRequest
from hocket._runtime.clock import new_run_id
from hocket._runtime.mode import Mode
from hocket.caches import BaseCache
from hocket.callbacks import Callbacks
from hocket.callbacks.base_manager import list_handlers
from hocket.callbacks.run_listeners import has_ambient_handlers
from hocket.errors import InvalidHook, InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.language_models.call_parts import (
    NOT_SENT,
    LangSmithParams,
    Params,
    check_stop,
    describe_unserializable,
    ls_params,
)
from hocket.language_models.model_state import PIPELINE, PLACES, keep_shared, pickle_state, without_own_state
from hocket.language_models.option_policy import DROPPED_OPTIONS, OptionPolicyMixin
from hocket.language_models.overrides import Overrides, refuse_overrides
from hocket.language_models.token_counting import TokenCountingMixin
from hocket.load import dumpd
from hocket.load.field_docs import inherit_field_docs
from hocket.messages import BaseMessage, MessageLikeRepresentation, convert_to_messages
from hocket.outputs import LLMResult
from hocket.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
from hocket.rate_limiters import BaseRateLimiter
from hocket.retries import RetryPolicy, RetryPolicyLike
from hocket.runnables import Runnable, RunnableSerializable
from hocket.runnables.config import refuse_config_keys
from hocket.timeouts import TimeoutLike

__all__ = ["BaseLanguageModel", "LangSmithParams", "LanguageModelInput", "LanguageModelLike", "LanguageModelOutput"]

LanguageModelInput = PromptValue | str | Sequence[MessageLikeRepresentation]
"""What a model can be asked with: a text, messages or what stands for them, or what a prompt made."""

LanguageModelOutput = BaseMessage | str
"""What a model answers with: a message of a chat model, a text of the other kind."""

LanguageModelLike = Runnable[LanguageModelInput, LanguageModelOutput]
"""Whatever takes what a model takes, and gives what a model gives: a model, or one with fallbacks, say."""

Output = TypeVar("Output", bound=BaseMessage | str)

_PIPELINE_FIELDS = ("cache", "rate_limiter", "max_in_flight", "budget", "ledger")
"""The fields that a pipeline is composed of, in the order in which they are compared."""


if TYPE_CHECKING:

    class _Runnable(RunnableSerializable[LanguageModelInput, Output], Generic[Output]): ...

else:

    class _Runnable(RunnableSerializable):
        """One class for all types of answers, on which no field depends: pydantic would make and build one for each."""

        def __class_getitem__(cls, output: Any) -> Any:
            return cls


class BaseLanguageModel(TokenCountingMixin, OptionPolicyMixin, _Runnable[Output], ABC):
    """A model.

    Args:
        cache: True: the global cache (an error if there is none); False: none; None: the global one, if set; or a cache.
        rate_limiter: asked before each real request, after the cache.
        budget: what may be spent, a `hocket.budgets.Budget` or several: each attempt reserves its most before it is made.
        ledger: books each attempt and each hit of the cache (`hocket.ledger`). None: the process's, if there is one; True:
            that, and an error if there is none; False: none.
        callbacks: handlers of this model's runs; runs inside those do not get them.
        tags, metadata: for this model's runs.
        verbose: print runs to standard output; by default what `hocket.globals.set_verbose` says.
        timeout: limits on time, a `Timeout`; a number: seconds for all of a call; None: none. A call may give its own.
        retry: when a failed request is made again, a `RetryPolicy`; a number: attempts in all; None: never. As above.
        max_in_flight: requests of this object, and of what is bound to it, that run at once, over all verbs, threads and
            event loops; further ones queue. A stream counts until it ends or is left, so where it is the last allowed,
            another call in between waits for ever. A copy counts for itself.
        custom_get_token_ids: how text is split into tokens, for counting.
        profile: the abilities of the model; default: those known by its name (`hocket.profiles`), if any.
        unsupported: what becomes of an option that the server or, by its profile, the model cannot take: "raise" an error,
            "drop" it, or "warn" and drop it. A call may say otherwise. What was dropped the run's metadata tell, under
            ``dropped_options``.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    cache: BaseCache | bool | None = Field(default=None, exclude=True, repr=False)
    rate_limiter: BaseRateLimiter | None = Field(default=None, exclude=True, repr=False)
    budget: BudgetLike | None = Field(default=None, exclude=True, repr=False)
    ledger: LedgerLike | bool | None = Field(default=None, exclude=True, repr=False)
    callbacks: SkipValidation[Callbacks] = Field(default=None, exclude=True, repr=False)
    tags: list[str] | None = Field(default=None, exclude=True, repr=False)
    metadata: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)
    verbose: bool = Field(default_factory=settings.get_verbose, exclude=True, repr=False)
    timeout: TimeoutLike | None = Field(default=None, repr=False)
    retry: RetryPolicyLike | None = Field(default=None, repr=False)
    max_in_flight: int | None = Field(default=None, ge=1, repr=False)

    _hooks: ClassVar[Hooks]
    _overrides: ClassVar[Overrides] = Overrides()
    _has_streaming_switch: ClassVar[bool] = False
    """Whether there is an attribute ``streaming``; to ask pydantic for one that is missing takes two microseconds."""
    _hook_names: ClassVar[str] = "_agenerate, _astream (async), _generate, _stream (sync)"
    _key_fields: ClassVar[tuple[str, ...]]
    _unkeyed: ClassVar[frozenset[str]] = frozenset()
    """Fields that do not change an answer, and so are in no cache key."""
    _first_fields: ClassVar[tuple[str, ...]] = (
        *("temperature", "max_tokens", "reasoning_effort", "stop", "timeout", "retry"),
        *("base_url", "api_key", "cache", "rate_limiter", "budget"),
    )
    """What most people give, where a model has it: a signature begins with these."""

    _call_verbs = frozenset({"generate", "agenerate", "generate_prompt", "agenerate_prompt", "render"})

    def __init_subclass__(cls, **kwargs: Any) -> None:
        """Refuse what no verb would ask."""
        refuse_overrides(cls)
        super().__init_subclass__(**kwargs)

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        inherit_field_docs(cls)
        own = cls._overrides = Overrides.of(cls)
        is_behind_async = own.agenerate_with_cache and not own.generate_with_cache
        cls._hooks = cls._find_hooks()._replace(is_behind_async=is_behind_async)
        cls._has_streaming_switch = "streaming" in cls.__pydantic_fields__ or hasattr(cls, "streaming")
        left_out = {*BaseLanguageModel.__pydantic_fields__, "disable_streaming", "streaming", *cls._unkeyed}
        cls._key_fields = tuple(
            name for name, field in cls.__pydantic_fields__.items() if name not in left_out and not field.exclude
        )

    @classmethod
    def _find_hooks(cls) -> Hooks:
        """Return which hooks this class defines."""
        return Hooks.of(cls)

    @model_validator(mode="before")
    @classmethod
    def _take_callback_manager(cls, values: Any) -> Any:
        """Take ``callback_manager``, callbacks' name until LangChain 0.1.7."""
        if isinstance(values, dict) and "callback_manager" in values:
            warnings.warn("callback_manager is deprecated; use callbacks", DeprecationWarning, stacklevel=3)
            values = {**cast("dict[str, Any]", values)}
            manager = values.pop("callback_manager")
            values.setdefault("callbacks", manager)
        return cast(Any, values)

    @field_validator("callbacks")
    @classmethod
    def _check_callbacks(cls, value: Callbacks) -> Callbacks:
        list_handlers(value)
        return value

    @field_validator("cache", mode="before")
    @classmethod
    def _check_cache(cls, cache: Any) -> object:
        if cache is not None and not isinstance(cache, BaseCache | bool):
            raise ValueError(
                f"cache is {type(cache).__name__}; it is a BaseCache, such as SQLiteCache(path) or RedisCache(url) of "
                "hocket.caches, or True (the global one) or False (none)"
            )
        return cache

    @field_validator("verbose", mode="before")
    @classmethod
    def _default_verbose(cls, value: Any) -> Any:
        return settings.get_verbose() if value is None else value

    @model_validator(mode="after")
    def _require_hook(self) -> Self:
        if not any(self._hooks[:4]):
            raise InvalidHook(f"{type(self).__name__} defines no hook: define one of {self._hook_names}")
        return self

    # -- identity

    def __str__(self) -> str:
        return repr(self)  # pydantic's leaves out the class: of a model without fields nothing would be left

    @property
    @abstractmethod
    def _llm_type(self) -> str:
        """The kind of model, for logs and traces."""

    @property
    def _identifying_params(self) -> Mapping[str, Any]:
        """What identifies the model beside its fields: in `asdict`, in its cache key, and in what handlers are told."""
        return self.lc_attributes

    def asdict(self) -> dict[str, Any]:
        """Return the identifying parameters, and under ``_type`` the kind of model."""
        return {**self._identifying_params, "_type": self._llm_type}

    def dict(self, **kwargs: Any) -> Params:  # LangChain's name
        """Return `asdict`. (pydantic's ``dict`` is `model_dump`.)"""
        return self.asdict()

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return a short hash of everything but the prompt that changes the answer: the second half of a cache key."""
        more = {"type": self._llm_type, "params": dict(self._identifying_params), "stop": stop, "call": kwargs}
        return model_key(self, self._key_fields, more)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        """Return what tracers want to know: provider, model, kind, temperature, limits (LangSmith's names)."""
        return ls_params(self, self._ls_model_type, stop, kwargs)

    _ls_model_type: ClassVar[str]

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        """Return what handlers are told of how the model is called. (In LangChain, a model's own ``stop`` is not told.)"""
        own = self.asdict()
        return {**own, "stop": own.get("stop") if stop is None else stop, **kwargs}

    def _serialize_for_handlers(self) -> Params:
        """Return what handlers are told of the model itself."""
        if self.is_lc_serializable():
            return {**dumpd(self), "name": self.get_name()}
        cls: Any = type(self)
        return {**describe_unserializable(cls), "name": self.name or cls.__name__}

    # -- prompts in, LLMResult out

    @abstractmethod
    async def agenerate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Answer several prompts. Returns a list of candidates for each, in order."""

    @abstractmethod
    def generate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Answer several prompts: the sync face of `agenerate_prompt`."""

    # -- running

    def _convert_input(self, input: LanguageModelInput) -> PromptValue:
        """Return the input as a prompt value (LangChain's rule).

        Raises:
            InvalidInput: it is neither a prompt value nor a text nor a sequence of message-likes.
        """
        if isinstance(input, PromptValue):
            return input
        if isinstance(input, str):
            return StringPromptValue(text=input)
        if isinstance(input, Sequence) and not isinstance(input, bytes):  # pyright: ignore  # callers are not checked
            return ChatPromptValue(messages=convert_to_messages(input))
        hint = "; a prompt makes messages of a mapping: (prompt | model)" if isinstance(input, Mapping) else ""
        raise InvalidInput(
            f"Invalid input type {type(input)}: a model takes a text, a PromptValue, or a list of messages{hint}"
            f"{bridge_hint(input)}",
            page="tutorials/first-program.md",
        )

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        retry = params.get("retry", self.retry)
        return 1 if retry is None else RetryPolicy.of(retry).max_attempts

    def _get_pipeline(self) -> Next:
        """Return the pipeline, composed again when a field that is part of it has changed."""
        fields: Any = self.__dict__
        held = fields.get(PIPELINE)
        if (
            held is None
            or held[0] is not fields["cache"]
            or held[1] is not fields["rate_limiter"]
            or held[2] != fields["max_in_flight"]
            or held[3] is not fields["budget"]
            or held[4] is not fields["ledger"]
        ):
            parts = tuple(fields[name] for name in _PIPELINE_FIELDS)
            made = (*parts, self._compose())
            held = fields[PIPELINE] = made if held else fields.setdefault(PIPELINE, made)  # the first of two threads
        return cast(Next, held[-1])

    @abstractmethod
    def _compose(self) -> Next:
        """Return the pipeline of this model, out of its fields."""

    def _compose_attempts(self) -> Next:
        """Return what makes a real request, out of this model's fields."""
        places = None if self.max_in_flight is None else self._places
        return compose_attempts(self.rate_limiter, places, make_reservers(self.budget, self.ledger))

    @property
    def _places(self) -> ConcurrencyLimiter:
        """The places of this object's calls in flight, as many as ``max_in_flight`` says."""
        fields: Any = self.__dict__
        places: ConcurrencyLimiter = fields.setdefault(PLACES, ConcurrencyLimiter())  # in one step, for two threads
        if self.max_in_flight is not None:
            places.resize(self.max_in_flight)
        return places

    @abstractmethod
    def _make_cache_key(self, request: CallRequest) -> CacheKey:
        """Return the key of what is asked: of the prompt, and of everything else that changes the answer."""

    def _make_request(
        self,
        mode: Mode,
        prompts: Sequence[Any],
        run_ids: Sequence[UUID | None],
        stop: list[str] | None,
        params: Params,
        messages: Sequence[BaseMessage] = (),
        metadata: Mapping[str, Any] | None = None,
    ) -> tuple[CallRequest, Sequence[str]]:
        """Return what is asked of the hook, and the names of options that were left out.

        Args:
            mode: of the call.
            prompts: one list of messages, or texts.
            run_ids: of their runs; None: a new one.
            stop, params: what the verb was given.
            messages: whose parts the model must be able to read.
            metadata: of the call, beside the model's.

        Raises:
            InvalidInput: ``stop`` or a parameter is of no use.
            Unsupported: the model cannot take an option, or read a part of a message.
        """
        if stop is not None:
            check_stop(stop)
        options = params
        if params:
            refuse_config_keys(params)
            options = {key: value for key, value in params.items() if key not in NOT_SENT}
        hooks = self._hooks
        streaming = (
            (hooks.astream or hooks.stream)
            and len(prompts) == 1
            and self._should_stream(async_api=mode.is_async, **params)
        )
        stop, options, dropped = self._apply_option_policy(stop, options, params.get("unsupported"), messages)
        ids = (run_ids[0] or new_run_id(),) if len(run_ids) == 1 else [one or new_run_id() for one in run_ids]
        return CallRequest(self, prompts, stop, options, bool(streaming), ids, metadata), dropped

    def _make_limits(self, params: Params) -> CallLimits:
        """Return the limits of a call: what its arguments say, over what the model says."""
        fields = self.__dict__
        if fields["timeout"] is None and fields["retry"] is None and not params:
            return NO_LIMITS
        return CallLimits.of(fields["timeout"], fields["retry"], params)

    def _has_listeners(self, callbacks: object) -> bool:
        """Whether anybody listens to a run started now with these callbacks."""
        own = self.__dict__
        return bool(callbacks or own["callbacks"] or own["verbose"] or settings.get_debug() or has_ambient_handlers())

    def _make_tracing_facts(self, request: CallRequest, dropped: Sequence[str]) -> Params:
        """Return what tracers want to know of a call, and what was left out of it."""
        facts = self._get_ls_params(stop=request.stop, **request.params)
        return {**facts, DROPPED_OPTIONS: list(dropped)} if dropped else facts

    @abstractmethod
    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        """Whether a call goes to a stream hook, if there is one."""

    # -- copies and pickles

    def __getstate__(self) -> Any:
        return pickle_state(type(self).__name__, super().__getstate__())

    def __copy__(self) -> Self:
        return without_own_state(super().__copy__())

    def __deepcopy__(self, memo: Any = None) -> Self:
        return without_own_state(super().__deepcopy__(keep_shared(self, {} if memo is None else memo)))
