"""Text models: texts in, texts out.

Unlike a chat model's, the hook of a text model answers many prompts in one request; each of them is a run. `LLM` is the
form for models that answer one.
"""

import functools
from abc import ABC
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast
from uuid import UUID

from hocket._pipeline.call import Go
from hocket._pipeline.compose import compose_text
from hocket._pipeline.hook import default_hook
from hocket._pipeline.text_call import TextCall
from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC, BLOCKING, Runtime, drive
from hocket._runtime.stream import Producer, Sink, Stream, SyncStream
from hocket.callbacks import AsyncCallbackManager, BaseCallbackManager, CallbackManager
from hocket.errors import InvalidInput
from hocket.language_models.base import BaseLanguageModel, LanguageModelInput
from hocket.language_models.option_policy import DROPPED_OPTIONS
from hocket.language_models.prompt_cache import answer_missing
from hocket.messages.base import copy_containers
from hocket.outputs import GenerationChunk, LLMResult
from hocket.prompt_values import PromptValue
from hocket.runnables.config import RunnableConfig, read_config

__all__ = ["BaseLLM"]

_OURS = frozenset(
    {"stream", "timeout", "retry", "unsupported"}
)  # arguments of a call that neither hook nor cache key sees


class BaseLLM(BaseLanguageModel[str], ABC):
    """A text model. Subclass it to add a provider: define `_llm_type` and any one of four hooks.

    ``_agenerate`` and ``_generate`` take a list of prompts, ``_astream`` and ``_stream`` one; see `BaseChatModel`. With
    stream hooks alone, several prompts are answered one after another. The inputs of a batch are requests of their own,
    each with its own outcome: LangChain sends them as one, whose error is everybody's.
    """

    _ls_model_type: ClassVar[str] = "llm"

    # -- hooks

    @default_hook
    async def _agenerate(self, prompts: list[str], stop: list[str] | None = None, **kwargs: Any) -> LLMResult:
        """Answer several prompts.

        Args:
            prompts: at least one.
            stop: texts at which an answer is cut.
            run_manager: the first prompt's run. It need not be in the signature.
            kwargs: options of the call.
        """
        return await ASYNC.call_sync(self._generate, prompts, stop, **kwargs)

    @default_hook
    def _generate(self, prompts: list[str], stop: list[str] | None = None, **kwargs: Any) -> LLMResult:
        """Answer several prompts, in sync code. See `_agenerate`."""
        raise NotImplementedError

    @default_hook
    def _astream(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> AsyncIterator[GenerationChunk]:
        """Yield an answer in pieces. Define it with ``async def`` and ``yield``; handlers are told for it."""
        raise NotImplementedError

    @default_hook
    def _stream(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> Iterator[GenerationChunk]:
        """Yield an answer in pieces, in sync code. See `_astream`."""
        raise NotImplementedError

    # -- one answer

    async def ainvoke(  # stop has a place of its own
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Answer.

        Args:
            input: a text, a prompt value, or messages, which are read as one text.
            config: callbacks, tags, metadata, run_name and run_id of the run.
            stop: texts at which the answer is cut.
            kwargs: options of the call, handed to the hook.

        Raises:
            InvalidInput: ``input`` is none of these.
            EmptyResponse: the model gave no answer.
        """
        return _text(await self._go()(self._open_call(ASYNC, input, config, stop, kwargs)))

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Answer: the sync face of `ainvoke`. A sync hook runs in this thread."""
        if not self._hooks.steps:
            return run_in_portal(functools.partial(self.ainvoke, input, config, stop=stop, **kwargs))
        return _text(drive(self._run(self._open_call(BLOCKING, input, config, stop, kwargs))))

    def astream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> Stream[str]:
        """Return the answer as it comes; a model that cannot stream gives one piece. Arguments as in `ainvoke`."""
        return Stream(self._producer(self._open_call(ASYNC, input, config, stop, {**kwargs, "stream": True})))

    def stream(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> SyncStream[str]:
        """Return the answer as it comes: the sync face of `astream`."""
        stepped = self._hooks.steps_stream
        call = self._open_call(BLOCKING if stepped else ASYNC, input, config, stop, {**kwargs, "stream": True})
        return SyncStream(self._producer(call), stepped=stepped)

    def _producer(self, call: TextCall) -> Producer[str]:
        async def produce(sink: Sink[str]) -> None:
            call.sink = sink
            await self._run(call)

        return produce

    async def _produce(
        self, runtime: Runtime, input: LanguageModelInput, config: Any, kwargs: dict[str, Any], sink: Sink[str]
    ) -> None:
        params = {**kwargs, "stream": True}
        await self._producer(self._open_call(runtime, input, config, params.pop("stop", None), params))(sink)

    @property
    def _can_step(self) -> bool:
        return self._hooks.steps_stream

    async def _run(self, call: TextCall) -> LLMResult:
        return cast(LLMResult, await self._go()(call))

    # -- several answers

    async def agenerate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Any = None,
        *,
        tags: list[str] | list[list[str]] | None = None,
        metadata: dict[str, Any] | list[dict[str, Any]] | None = None,
        run_name: str | list[str] | None = None,
        run_id: UUID | list[UUID | None] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer several prompts with one request.

        Args:
            prompts: the texts. Only those that the cache does not answer are asked, and are runs.
            callbacks: for all prompts; or a list of lists (or of managers), one for each prompt, in which case tags,
                metadata and run_name, where given, are lists of the same length, too.
            run_id: of the first prompt's run, or a list of one for each.

        Returns:
            candidates for each prompt, in order, and the runs that were made.

        Raises:
            InvalidInput: ``prompts`` is no list, or a list of another length was given for it.
        """
        return await self._answer(
            self._open_calls(ASYNC, prompts, stop, callbacks, tags, metadata, run_name, run_id, kwargs)
        )

    def generate(
        self,
        prompts: list[str],
        stop: list[str] | None = None,
        callbacks: Any = None,
        *,
        tags: list[str] | list[list[str]] | None = None,
        metadata: dict[str, Any] | list[dict[str, Any]] | None = None,
        run_name: str | list[str] | None = None,
        run_id: UUID | list[UUID | None] | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer several prompts with one request: the sync face of `agenerate`."""
        if not self._hooks.steps:
            options: dict[str, Any] = {"tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
            return run_in_portal(functools.partial(self.agenerate, prompts, stop, callbacks, **options, **kwargs))
        return drive(
            self._answer(self._open_calls(BLOCKING, prompts, stop, callbacks, tags, metadata, run_name, run_id, kwargs))
        )

    async def agenerate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Answer several prompts: `agenerate` of their texts."""
        return await self.agenerate([prompt.to_string() for prompt in prompts], stop, callbacks, **kwargs)

    def generate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Answer several prompts: the sync face of `agenerate_prompt`."""
        return self.generate([prompt.to_string() for prompt in prompts], stop, callbacks, **kwargs)

    async def _answer(self, call: TextCall) -> LLMResult:
        if not call.prompts:
            return LLMResult(generations=[], llm_output={}, run=[])
        if len(call.prompts) == 1:
            return await self._run(call)
        return await answer_missing(call, self.cache)

    # -- making calls

    def _compose(self) -> Go:
        return compose_text(self)

    def _open_call(
        self, runtime: Runtime, input: Any, config: Any, stop: list[str] | None, params: dict[str, Any]
    ) -> TextCall:
        config = read_config(config)
        prompt = input if input.__class__ is str else self._convert_input(input).to_string()
        call = self._new_call(runtime, [prompt], stop, params, (config.get("run_id"),))
        callbacks = config.get("callbacks")
        if self._is_watched(callbacks):
            self._watch(call, [callbacks], [config.get("tags")], [config.get("metadata")], [config.get("run_name")])
        return call

    def _new_call(
        self, runtime: Runtime, prompts: list[str], stop: list[str] | None, params: dict[str, Any], run_ids: Any
    ) -> TextCall:
        self._check_stop(stop)
        streaming = self._hooks.can_stream() and len(prompts) == 1 and self._is_streaming(params)
        sent = {key: value for key, value in params.items() if key not in _OURS} if params else params
        stop, sent, dropped = self._settle(stop, sent, params.get("unsupported"))
        call = TextCall(self, prompts, stop, sent, runtime, run_ids)
        call.streaming, call.dropped = streaming, dropped
        self._limit(call, params)
        return call

    def _is_streaming(self, params: Mapping[str, Any]) -> bool:
        return bool(params.get("stream", getattr(self, "streaming", False)))

    def _open_calls(
        self,
        runtime: Runtime,
        prompts: Any,
        stop: list[str] | None,
        callbacks: Any,
        tags: Any,
        metadata: Any,
        run_name: Any,
        run_id: Any,
        params: dict[str, Any],
    ) -> TextCall:
        if not isinstance(prompts, list):
            raise InvalidInput(
                f"Argument 'prompts' is expected to be of type list[str], received {type(prompts)}; "
                "for one prompt, call invoke or pass [prompt]"
            )
        texts = cast("list[str]", prompts)
        if not all(isinstance(text, str) for text in texts):
            wrong = next(text for text in texts if not isinstance(text, str))
            raise InvalidInput(f"prompts must be texts; one is {type(wrong).__name__}")
        count = len(texts)
        each = _is_per_prompt(callbacks)
        many = [
            _spread("callbacks", callbacks, count, each),
            _spread("tags", tags, count, each and tags is not None),
            _spread("metadata", metadata, count, each and metadata is not None),
            _spread("run_name", run_name, count, each and run_name is not None),
        ]
        call = self._new_call(runtime, texts, stop, params, _run_ids(run_id, count))
        if any(self._is_watched(one) for one in many[0]):
            self._watch(call, *many)
        return call

    def _watch(self, call: TextCall, callbacks: Any, tags: Any, metadata: Any, run_names: Any) -> None:
        """Give each prompt the manager of its run, and what that will tell."""
        facts = self._get_ls_params(stop=call.stop, **call.params)
        if call.dropped:
            facts = {**facts, DROPPED_OPTIONS: list(call.dropped)}
        managers: list[AsyncCallbackManager | CallbackManager] = []
        for one, tag_list, facts_given in zip(callbacks, tags, metadata, strict=True):
            managers.append(self._manager(call.runtime, one, tag_list, facts_given, facts))
        if not any(manager.handlers for manager in managers):
            return
        call.managers = managers
        call.details = functools.partial(self._details, call.stop, call.params, run_names)

    def _details(
        self, stop: list[str] | None, params: dict[str, Any], run_names: Sequence[str | None], index: int
    ) -> dict[str, Any]:
        """Return what handlers are told of one prompt's run at its start."""
        return {
            "invocation_params": copy_containers(self._get_invocation_params(stop=stop, **params)),
            "options": {"stop": copy_containers(stop)},
            "batch_size": len(run_names),
            "name": run_names[index] or self.name,
        }


def _is_per_prompt(callbacks: Any) -> bool:
    """Whether callbacks are given for each prompt: a list that starts with a list, a manager or None (LangChain's rule)."""
    return bool(
        isinstance(callbacks, list)
        and callbacks
        and (callbacks[0] is None or isinstance(callbacks[0], list | BaseCallbackManager))
    )


def _spread(name: str, value: Any, count: int, each: bool) -> list[Any]:
    """Return one value a prompt."""
    if not each:
        return [value] * count
    if not isinstance(value, list) or len(value) != count:
        given = f"a list of {len(value)}" if isinstance(value, list) else type(value).__name__
        raise InvalidInput(
            f"{name} must be a list of the same length as prompts, since callbacks is one for each prompt: "
            f"it is {given}, for {count} prompts"
        )
    return value


def _run_ids(run_id: Any, count: int) -> list[UUID | None]:
    if isinstance(run_id, list):
        if len(run_id) != count:
            raise InvalidInput(
                f"Number of manually provided run_id's does not match batch length: {len(run_id)} != {count}"
            )
        return cast("list[UUID | None]", run_id)
    return [run_id, *[None] * (count - 1)][:count]


def _text(result: LLMResult) -> str:
    return result.generations[0][0].text
