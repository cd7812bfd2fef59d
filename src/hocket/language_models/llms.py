"""Text models: texts in, texts out.

Unlike a chat model's, the hook of a text model answers many prompts in one request; each of them is a run. `LLM` is the
form for models that answer one.
"""

import functools
from abc import ABC
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, cast
from uuid import UUID

from hocket._pipeline.accounts import find_books
from hocket._pipeline.cache_access import CacheKey
from hocket._pipeline.cache_key import prompt_key
from hocket._pipeline.call import Call, Next
from hocket._pipeline.compose import compose_text
from hocket._pipeline.hooks import default_hook
from hocket._pipeline.request import CallRequest
from hocket._pipeline.runs import NO_RUNS, CallRuns, StartEvent
from hocket._pipeline.text_answer import TEXT
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket._runtime.portal import run_in_portal
from hocket._runtime.stream import Producer, Sink, Stream, SyncStream
from hocket.callbacks.run_facts import describe_server
from hocket.errors import InvalidInput
from hocket.language_models.base import BaseLanguageModel, LanguageModelInput
from hocket.language_models.cached_prompts import answer_missing
from hocket.language_models.call_parts import configure_manager
from hocket.language_models.per_prompt import PerPrompt, run_ids_of
from hocket.messages.base import copy_containers
from hocket.outputs import GenerationChunk, LLMResult
from hocket.prompt_values import PromptValue
from hocket.runnables.config import RunnableConfig, read_config

__all__ = ["BaseLLM"]


class BaseLLM(BaseLanguageModel[str], ABC):
    """A text model. Subclass it to add a provider: define `_llm_type` and any one of four hooks.

    ``_agenerate`` and ``_generate`` take a list of prompts, ``_astream`` and ``_stream`` one; see `BaseChatModel`. With
    stream hooks alone, several prompts are answered one after another. The inputs of a batch are requests of their own,
    each with its own outcome: LangChain sends them as one, whose error is everybody's.
    """

    _ls_model_type: ClassVar[str] = "llm"

    @property
    def OutputType(self) -> object:
        """The type of an output: a text."""
        return str

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
        return _first_text(await self._get_pipeline()(self._open_call(ASYNC, input, config, stop, kwargs)))

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> str:
        """Answer: the sync face of `ainvoke`. A sync hook runs in this thread."""
        if not self._hooks.can_step:
            return run_in_portal(functools.partial(self._invoke, ASYNC, input, config, {"stop": stop, **kwargs}))
        return _first_text(drive(self._run(self._open_call(BLOCKING, input, config, stop, kwargs))))

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
        stepped = self._hooks.can_step_stream
        call = self._open_call(BLOCKING if stepped else ASYNC, input, config, stop, {**kwargs, "stream": True})
        return SyncStream(self._producer(call), stepped=stepped)

    def _producer(self, call: Call) -> Producer[str]:
        async def produce(sink: Sink[str]) -> None:
            call.delivery.attach(sink)
            await self._run(call)

        return produce

    async def _produce(
        self, mode: Mode, input: LanguageModelInput, config: Any, kwargs: dict[str, Any], sink: Sink[str]
    ) -> None:
        params: dict[str, Any] = {**kwargs, "stream": True}
        await self._producer(self._open_call(mode, input, config, params.pop("stop", None), params))(sink)

    @property
    def _can_step(self) -> bool:
        return self._hooks.can_step_stream

    async def _run(self, call: Call) -> LLMResult:
        return cast(LLMResult, await self._get_pipeline()(call))

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
        config = {"callbacks": callbacks, "tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
        return await self._answer(self._open_calls(ASYNC, prompts, stop, config, kwargs))

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
        config: dict[str, Any] = {"tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
        if not self._hooks.can_step:
            return run_in_portal(functools.partial(self.agenerate, prompts, stop, callbacks, **config, **kwargs))
        return drive(
            self._answer(self._open_calls(BLOCKING, prompts, stop, {**config, "callbacks": callbacks}, kwargs))
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

    async def _answer(self, call: Call) -> LLMResult:
        if not call.request.prompts:
            return LLMResult(generations=[], llm_output={}, run=[])
        if len(call.request.prompts) == 1:
            return await self._run(call)
        listeners = [book.record_hit for book in find_books(self.ledger)]
        return await answer_missing(call, self.cache, self._make_cache_key, self._compose_attempts(), listeners)

    # -- making calls

    def _compose(self) -> Next:
        listeners = [book.record_hit for book in find_books(self.ledger)]
        return compose_text(self.cache, self._make_cache_key, self._compose_attempts(), listeners)

    def _make_cache_key(self, request: CallRequest) -> CacheKey:
        return prompt_key(request.prompts[0]), self._get_llm_string(request.stop, **request.params)

    def _open_call(
        self,
        mode: Mode,
        input: LanguageModelInput,
        config: RunnableConfig | None,
        stop: list[str] | None,
        params: dict[str, Any],
    ) -> Call:
        """Return a call for one prompt, complete."""
        config = read_config(config)
        is_text = input.__class__ is str and not self._overrides.convert_input
        prompt = cast(str, input) if is_text else self._convert_input(input).to_string()
        each = PerPrompt(
            [config.get("callbacks")], [config.get("tags")], [config.get("metadata")], [config.get("run_name")]
        )
        return self._make_call(mode, [prompt], stop, params, [config.get("run_id")], each)

    def _open_calls(
        self,
        mode: Mode,
        prompts: object,
        stop: list[str] | None,
        config: Mapping[str, Any],
        params: dict[str, Any],
    ) -> Call:
        """Return a call for several prompts, complete. Values of ``config`` are for all prompts, or lists of one each."""
        if not isinstance(prompts, list):
            raise InvalidInput(
                f"Argument 'prompts' is expected to be of type list[str], received {type(prompts)}; "
                "for one prompt, call invoke or pass [prompt]"
            )
        for text in cast("list[object]", prompts):
            if not isinstance(text, str):
                raise InvalidInput(f"prompts must be texts; one is {type(text).__name__}")
        texts = cast("list[str]", prompts)
        run_ids = run_ids_of(config["run_id"], len(texts))
        return self._make_call(mode, texts, stop, params, run_ids, PerPrompt.spread(config, len(texts)))

    def _make_call(
        self,
        mode: Mode,
        prompts: list[str],
        stop: list[str] | None,
        params: dict[str, Any],
        run_ids: Sequence[UUID | None],
        each: PerPrompt,
    ) -> Call:
        metadata = each.metadata[0] if each.metadata else None  # a request has one payer
        request, dropped = self._make_request(mode, prompts, run_ids, stop, params, metadata=metadata)
        limits = self._make_limits(params)
        is_heard = any(self._has_listeners(one) for one in each.callbacks)
        return Call(TEXT, request, mode, limits, self._make_runs(mode, request, dropped, each) if is_heard else NO_RUNS)

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        """Whether a call for one prompt goes to a stream hook, if there is one."""
        if "stream" in kwargs:
            return bool(kwargs["stream"])
        return self._has_streaming_switch and bool(self.streaming)  # type: ignore[attr-defined]  # of a subclass

    def _make_runs(self, mode: Mode, request: CallRequest, dropped: Sequence[str], each: PerPrompt) -> CallRuns:
        """Return the runs of a call, one a prompt."""
        facts = self._make_tracing_facts(request, dropped)
        managers = [
            configure_manager(mode, self.__dict__, callbacks, tags, metadata, facts)
            for callbacks, tags, metadata in zip(each.callbacks, each.tags, each.metadata, strict=True)
        ]
        if not any(manager.handlers for manager in managers):
            return NO_RUNS

        def describe(index: int) -> StartEvent:
            return (self._serialize_for_handlers(), [request.prompts[index]]), {
                "invocation_params": copy_containers(self._get_invocation_params(stop=request.stop, **request.params)),
                "options": {"stop": copy_containers(request.stop)},
                "batch_size": len(request.prompts),
                "name": each.run_names[index] or self.name,
                "stream": request.streaming,
                **describe_server(self.__dict__.get("base_url")),
            }

        return CallRuns(mode, TEXT.start_event, request.run_ids, managers, describe)


def _first_text(result: LLMResult) -> str:
    return result.generations[0][0].text
