"""What chat models and text models have in common: their configuration, and everything that is not a verb.

A model is configuration and nothing else: validated, picklable, safe to share between tasks, threads and event loops.
Whatever is open or in flight lives elsewhere.
"""

import functools
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Generic, Self, TypeVar, cast

from pydantic import ConfigDict, Field, field_validator, model_validator

from hocket import globals as settings
from hocket._pipeline.cache_key import model_key
from hocket._pipeline.call import Call, Go
from hocket._pipeline.concurrency_limit import InFlight
from hocket._pipeline.hook import Hooks
from hocket._runtime.runtime import Runtime
from hocket.caches import BaseCache
from hocket.callbacks import AsyncCallbackManager, BaseCallbackHandler, BaseCallbackManager, CallbackManager
from hocket.callbacks.ambient import has_ambient_handlers
from hocket.errors import DroppedStateWarning, InvalidHook, InvalidInput
from hocket.language_models.option_policy import Choosing
from hocket.load import dumpd
from hocket.messages import BaseMessage, MessageLikeRepresentation, convert_to_messages
from hocket.outputs import LLMResult
from hocket.prompt_values import ChatPromptValue, PromptValue, StringPromptValue
from hocket.rate_limiters import BaseRateLimiter
from hocket.retries import RetryPolicy, RetryPolicyLike
from hocket.runnables import Runnable, RunnableSerializable
from hocket.timeouts import Timeout, TimeoutLike

if TYPE_CHECKING:
    from hocket.tokens import Tokenizer

__all__ = [
    "BaseLanguageModel",
    "LangSmithParams",
    "LanguageModelInput",
    "LanguageModelLike",
    "LanguageModelOutput",
]

LanguageModelInput = PromptValue | str | Sequence[MessageLikeRepresentation]
LanguageModelOutput = BaseMessage | str
LanguageModelLike = Runnable[LanguageModelInput, LanguageModelOutput]
LangSmithParams = dict[str, Any]

Output = TypeVar("Output", bound=BaseMessage | str)

_PIPELINE = "_pipeline"  # in a model's __dict__: (cache, rate limiter, calls in flight, the pipeline composed of them)
_PLACES = "_places"  # the same: the places of its calls in flight
_OWN = (_PIPELINE, _PLACES)
_SHARED = ("cache", "rate_limiter", "callbacks")  # what copies share and pickles leave behind


if TYPE_CHECKING:

    class _Runnable(RunnableSerializable[LanguageModelInput, Output], Generic[Output]): ...

else:

    class _Runnable(RunnableSerializable):
        """One class for all types of answers, on which no field depends: pydantic would make and build one for each."""

        def __class_getitem__(cls, output: Any) -> Any:
            return cls


class BaseLanguageModel(Choosing, _Runnable[Output], ABC):
    """A model.

    Args:
        cache: True: the global cache (an error if there is none); False: none; None: the global one, if set; or a cache.
        rate_limiter: asked before each real request, after the cache.
        callbacks: handlers of this model's runs; runs inside those do not get them.
        tags, metadata: for this model's runs.
        verbose: print runs to standard output; by default what `hocket.globals.set_verbose` says.
        timeout: limits on time, a `Timeout`; a number: seconds for all of a call; None: none. A call may give its own.
        retry: when a failed request is made again, a `RetryPolicy`; a number: attempts in all; None: never. As above.
        max_in_flight: requests of this object, and of what is bound to it, that run at once, over all verbs, threads and
            event loops; further ones queue. A stream counts until it ends or is left, so where it is the last allowed,
            another call in between waits for ever. A copy counts for itself.
        custom_get_token_ids: how text is split into tokens, for counting.
        profile: what the model can take and give; default: what is known by its name (`hocket.profiles`), if anything.
        unsupported: what becomes of an option that the server or, by its profile, the model cannot take: "raise" an error,
            "drop" it, or "warn" and drop it. A call may say otherwise. What was dropped the run's metadata tell, under
            ``dropped_options``.
    """

    model_config = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    cache: BaseCache | bool | None = Field(default=None, exclude=True, repr=False)
    rate_limiter: BaseRateLimiter | None = Field(default=None, exclude=True, repr=False)
    callbacks: list[BaseCallbackHandler] | BaseCallbackManager | None = Field(default=None, exclude=True, repr=False)
    tags: list[str] | None = Field(default=None, exclude=True, repr=False)
    metadata: dict[str, Any] | None = Field(default=None, exclude=True, repr=False)
    verbose: bool = Field(default_factory=settings.get_verbose, exclude=True, repr=False)
    timeout: TimeoutLike | None = Field(default=None, repr=False)
    retry: RetryPolicyLike | None = Field(default=None, repr=False)
    max_in_flight: int | None = Field(default=None, ge=1, repr=False)
    custom_get_token_ids: Callable[[str], list[int]] | None = Field(default=None, exclude=True, repr=False)

    _hooks: ClassVar[Hooks]
    _hook_names: ClassVar[str] = "_agenerate, _astream (async), _generate, _stream (sync)"
    _key_fields: ClassVar[tuple[str, ...]]
    _unkeyed: ClassVar[frozenset[str]] = frozenset()
    _call_verbs = frozenset({"generate", "agenerate", "generate_prompt", "agenerate_prompt", "render"})
    """Fields that do not change an answer, and so are in no cache key."""

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        super().__pydantic_init_subclass__(**kwargs)
        cls._hooks = cls._find_hooks()
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

    def dict(self, **kwargs: Any) -> dict[str, Any]:  # LangChain's name
        """Return `asdict`. (pydantic's ``dict`` is `model_dump`.)"""
        return self.asdict()

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return a short hash of everything but the prompt that changes the answer: the second half of a cache key."""
        more = {"type": self._llm_type, "params": dict(self._identifying_params), "stop": stop, "call": kwargs}
        return model_key(self, self._key_fields, more)

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: Any) -> LangSmithParams:
        """Return what tracers want to know: provider, model, kind, temperature, limits (LangSmith's names)."""
        provider, kind, own = _ls_sources(type(self))
        params: LangSmithParams = {"ls_provider": provider, "ls_model_type": kind}
        for key, name in own:
            value = getattr(self, name)
            if value is not None:
                params[key] = value
        if kwargs:
            params.update((key, kwargs[name]) for name, key in _TRACED.items() if name in kwargs)
            params = {key: value for key, value in params.items() if value is not None}
        if stop:
            params["ls_stop"] = stop
        return params

    _ls_model_type: ClassVar[str]

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: Any) -> Any:
        """Return what handlers are told of how the model is called."""
        return {**self.asdict(), "stop": stop, **kwargs}

    def _told(self) -> Any:
        """Return what handlers are told of the model itself."""
        if self.is_lc_serializable():
            return {**dumpd(self), "name": self.get_name()}
        return {**_unserialized(type(self)), "name": self.name or type(self).__name__}

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

    # -- counting

    def _find_tokenizer(self) -> "Tokenizer | None":
        """Return how this model splits text into tokens; None: that is not known here. A hook, for providers to override.

        May load tables: where an event loop runs, `hocket.tokens.acount_tokens` calls it in a worker thread.
        """
        from hocket.tokens.counting import Tokenizer, name_of, tokenizer_of  # few programs count

        if self.custom_get_token_ids is not None:
            return Tokenizer(self.custom_get_token_ids)
        if type(self).get_token_ids is not BaseLanguageModel.get_token_ids:
            return Tokenizer(self.get_token_ids)
        return tokenizer_of(name_of(self))

    def get_token_ids(self, text: str) -> list[int]:
        """Return the tokens of ``text``.

        Raises:
            InvalidInput: this model's tokenizer is not known, and it has no ``custom_get_token_ids``.
            MissingDependency: it is one of OpenAI's, and the extra ``tokens`` is not installed.
        """
        from hocket.tokens.counting import token_ids

        return token_ids(self._find_tokenizer(), text, self)

    def get_num_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` has, as a `TokenCount`: exact with a tokenizer, else 1 for 4 Latin characters."""
        from hocket.tokens.counting import count_text

        return count_text(self._find_tokenizer(), text)

    def get_num_tokens_from_messages(self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        """Return how many tokens ``messages`` have, and ``tools`` with them, as a `TokenCount`, which may be approximate.

        `hocket.tokens.count_tokens` tells when. With ``custom_get_token_ids``, each message is counted as text with its
        role in front, as in LangChain.
        """
        from hocket.tokens.counting import count_messages

        return count_messages(self._find_tokenizer(), messages, tools)

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
        if isinstance(input, Sequence) and not isinstance(input, bytes):
            return ChatPromptValue(messages=convert_to_messages(input))
        raise InvalidInput(
            f"Invalid input type {type(input)}: a model takes a text, a PromptValue, or a list of messages"
        )

    @staticmethod
    def _check_stop(stop: Any) -> None:
        """Refuse a text instead of a list of stop words: it would be read letter by letter."""
        if stop.__class__ is str:
            raise InvalidInput(f"stop is the text {stop!r}; it must be a list of texts: [{stop!r}]")

    def _limit(self, call: Call, params: Mapping[str, Any]) -> None:
        """Give a call its limits on time and attempts: what ``params`` says of them, over the model's."""
        fields = self.__dict__
        timeout, retry = fields["timeout"], fields["retry"]
        if timeout is None and retry is None and not params:
            return
        call.retry = retry
        if timeout is not None:
            call.timeout = Timeout.of(timeout)  # a number, where the field was assigned to
        if "timeout" in params:
            given = params["timeout"]
            call.timeout = None if given is None else Timeout.of(given).over(call.timeout)
        if "retry" in params:
            given = params["retry"]
            call.retry = None if given is None else RetryPolicy.of(given)

    def _get_max_attempts(self, params: Mapping[str, Any]) -> float:
        retry = params.get("retry", self.retry)
        return 1 if retry is None else RetryPolicy.of(retry).max_attempts

    def _go(self) -> Go:
        """Return the pipeline, composed anew when a field that is part of it has changed."""
        fields: Any = self.__dict__
        held = fields.get(_PIPELINE)
        if (
            held is None
            or held[0] is not fields["cache"]
            or held[1] is not fields["rate_limiter"]
            or held[2] != fields["max_in_flight"]
        ):
            parts = fields["cache"], fields["rate_limiter"], fields["max_in_flight"]
            held = fields[_PIPELINE] = (*parts, self._compose())
        return cast(Go, held[3])

    @property
    def _in_flight(self) -> InFlight:
        """The places of this object's calls, as many as ``max_in_flight`` says."""
        fields: Any = self.__dict__
        places: InFlight = fields.setdefault(_PLACES, InFlight())  # in one step: two threads may be the first
        if self.max_in_flight is not None:
            places.resize(self.max_in_flight)
        return places

    @abstractmethod
    def _compose(self) -> Go:
        """Return the pipeline of this model, out of its fields."""

    def _is_watched(self, callbacks: Any) -> bool:
        """Whether anybody listens to a run started now."""
        own = self.__dict__
        return bool(callbacks or own["callbacks"] or own["verbose"] or settings.get_debug() or has_ambient_handlers())

    def _manager(
        self,
        runtime: Runtime,
        callbacks: Any,
        tags: list[str] | None,
        metadata: Mapping[str, Any] | None,
        facts: LangSmithParams,
    ) -> AsyncCallbackManager | CallbackManager:
        """Return the manager of a call; ``facts``, for tracers, come over the metadata."""
        cls, own = AsyncCallbackManager if runtime.is_async else CallbackManager, self.__dict__
        told = {**metadata, **facts} if metadata else facts
        return cls.configure(callbacks, own["callbacks"], own["verbose"], tags, own["tags"], told, own["metadata"])

    # -- copies and pickles

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        fields = {name: value for name, value in state["__dict__"].items() if name not in _OWN}
        dropped = [name for name in _SHARED if not isinstance(fields[name], bool | None)]
        if dropped:
            warnings.warn(
                f"pickling {type(self).__name__} leaves its {', '.join(dropped)} behind; set them again where it is loaded",
                DroppedStateWarning,
                stacklevel=2,
            )
        return {**state, "__dict__": {**fields, **dict.fromkeys(dropped)}}

    def __copy__(self) -> Self:
        return _without_state(super().__copy__())

    def __deepcopy__(self, memo: Any = None) -> Self:
        memo = {} if memo is None else memo
        for name in (*_SHARED, *_OWN):
            memo[id(self.__dict__.get(name))] = self.__dict__.get(name)
        return _without_state(super().__deepcopy__(memo))


Model = TypeVar("Model", bound=BaseLanguageModel[Any])


def _without_state(copied: Model) -> Model:
    """Return a copy without what is the original's alone."""
    for name in _OWN:
        vars(copied).pop(name, None)
    return copied


_TRACED = {
    "model_name": "ls_model_name",
    "model": "ls_model_name",
    "temperature": "ls_temperature",
    "max_tokens": "ls_max_tokens",
}


@functools.lru_cache(maxsize=256)
def _ls_sources(cls: type[BaseLanguageModel[Any]]) -> tuple[str, str, list[tuple[str, str]]]:
    """Return the provider that a class's name speaks of, its kind, and the attributes that say what tracers ask."""
    name = cls.__name__
    provider = name.removeprefix("Chat").removesuffix("Chat").removesuffix("LLM").lower() or name.lower()
    own = [(key, one) for one, key in _TRACED.items() if one in cls.__pydantic_fields__ or hasattr(cls, one)]
    return provider, cls._ls_model_type, own


@functools.lru_cache(maxsize=256)
def _unserialized(cls: type[BaseLanguageModel[Any]]) -> dict[str, Any]:
    return {"lc": 1, "type": "not_implemented", "id": cls.lc_id(), "repr": None}
