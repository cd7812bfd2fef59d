"""Chat models: messages in, a message out.

A provider is a subclass with one hook. The verbs are here, each once; what happens between verb and hook is the
pipeline's business.
"""

import functools
from abc import ABC
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast
from uuid import UUID

from hocket._pipeline.cache_key import prompt_key
from hocket._pipeline.call import Go
from hocket._pipeline.chat_call import ChatCall, as_chunk
from hocket._pipeline.compose import compose_chat
from hocket._pipeline.hook import default_hook
from hocket._pipeline.observe import observed, run_all
from hocket._runtime.portal import run_in_portal
from hocket._runtime.runtime import ASYNC, BLOCKING, Runtime, drive
from hocket._runtime.stream import Producer, Sink
from hocket.errors import InvalidInput
from hocket.language_models.base import BaseLanguageModel, LanguageModelInput
from hocket.language_models.conversation import conversation
from hocket.language_models.option_policy import DROPPED_OPTIONS
from hocket.language_models.stream import ChatStream, SyncChatStream, Withheld
from hocket.language_models.structured.with_structured_output import Structuring
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from hocket.messages.base import copy_containers
from hocket.outputs import ChatGenerationChunk, ChatResult, LLMResult, RunInfo
from hocket.prompt_values import PromptValue
from hocket.runnables.config import RunnableConfig, read_config

__all__ = ["BaseChatModel"]

_STRUCTURED = ("structured_output_format", "ls_structured_output_format")  # for tracers
# Arguments of a call that neither hook nor cache key sees:
_OURS = frozenset({"stream", "timeout", "retry", "unsupported", *_STRUCTURED})


class BaseChatModel(BaseLanguageModel[AIMessage], Structuring, ABC):
    """A chat model. Subclass it to add a provider: define `_llm_type` and any one of four hooks.

    Hooks, all with LangChain's signatures: ``_agenerate`` and ``_astream`` (async), ``_generate`` and ``_stream`` (sync).
    Async verbs prefer async hooks, sync verbs sync ones; where only the other kind exists, a sync hook runs in a worker
    thread and an async one on hocket's kept event loop. An answer that is not wanted in pieces comes from a stream hook
    if there is no other, and the other way round.

    Args:
        disable_streaming: True: answer in one piece even when asked to stream; "tool_calling": only when tools are given.
    """

    disable_streaming: bool | Literal["tool_calling"] = False

    _ls_model_type: ClassVar[str] = "chat"

    # -- hooks

    @default_hook
    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        """Answer a conversation.

        Args:
            messages: in order; at least one.
            stop: texts at which the answer is cut.
            run_manager: the run, for what a hook wants to tell handlers. It need not be in the signature.
            kwargs: options of the call.
        """
        return await ASYNC.call_sync(self._generate, messages, stop, **kwargs)

    @default_hook
    def _generate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        """Answer a conversation, in sync code. See `_agenerate`."""
        raise NotImplementedError

    @default_hook
    def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        """Yield the answer in pieces. Define it with ``async def`` and ``yield``; handlers are told for it."""
        raise NotImplementedError

    @default_hook
    def _stream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any
    ) -> Iterator[ChatGenerationChunk]:
        """Yield the answer in pieces, in sync code. See `_astream`."""
        raise NotImplementedError

    def _combine_llm_outputs(self, llm_outputs: list[dict[str, Any] | None]) -> dict[str, Any]:
        """Return the ``llm_output`` of several answers out of those of each."""
        return {}

    # -- one answer

    async def ainvoke(  # stop has a place of its own
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer.

        Args:
            input: a text, messages or whatever `convert_to_messages` takes, or a prompt value.
            config: callbacks, tags, metadata, run_name and run_id of the run.
            stop: texts at which the answer is cut.
            kwargs: options of the call, handed to the hook.

        Raises:
            InvalidInput: ``input`` is none of these, or empty.
            EmptyResponse: the model gave no answer.
        """
        call = self._open_call(ASYNC, self._to_messages(input), config, stop, kwargs)
        return (await observed(call, self._go()))[0]  # type: ignore[no-any-return]  # `_run` in place: a coroutine less

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer: the sync face of `ainvoke`. A sync hook runs in this thread; works inside a running loop, too."""
        if not self._hooks.steps:
            return run_in_portal(functools.partial(self.ainvoke, input, config, stop=stop, **kwargs))
        return drive(self._run(self._open_call(BLOCKING, self._to_messages(input), config, stop, kwargs)))

    def astream(  # type: ignore[override]
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> ChatStream:
        """Return the answer as it comes. Its chunks fold to what `ainvoke` returns; a model that cannot stream gives one.

        The arguments are those of `ainvoke`. Nothing is sent before the first chunk is asked for.
        """
        return ChatStream(*self._streaming(ASYNC, input, config, stop, kwargs))

    def stream(  # type: ignore[override]
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> SyncChatStream:
        """Return the answer as it comes: the sync face of `astream`."""
        stepped = self._hooks.steps_stream
        runtime = BLOCKING if stepped else ASYNC
        return SyncChatStream(*self._streaming(runtime, input, config, stop, kwargs), stepped=stepped)

    def _streaming(
        self, runtime: Runtime, input: LanguageModelInput, config: Any, stop: list[str] | None, params: dict[str, Any]
    ) -> tuple[ChatCall, Producer[AIMessageChunk]]:
        params = {**params, "stream": True}
        call = self._open_call(runtime, self._to_messages(input), config, stop, params)

        async def produce(sink: Sink[AIMessageChunk]) -> None:
            call.sink = sink
            await self._run(call)

        async def produce_whole(sink: Sink[AIMessageChunk]) -> None:
            call.sink, call.hands_out = Withheld(sink), False
            answer = await self._run(call)
            waiting = sink.put(cast(AIMessageChunk, as_chunk(answer)))
            if waiting is not None:
                await waiting

        return call, produce if self._is_streaming(params) else produce_whole

    async def _produce(
        self, runtime: Runtime, input: LanguageModelInput, config: Any, kwargs: dict[str, Any], sink: Sink[Any]
    ) -> None:
        params = {**kwargs}
        await self._streaming(runtime, input, config, params.pop("stop", None), params)[1](sink)

    @property
    def _can_step(self) -> bool:
        return self._hooks.steps_stream

    async def _run(self, call: ChatCall) -> AIMessage:
        return cast(AIMessage, (await observed(call, self._go()))[0])

    # -- several answers

    async def agenerate(
        self,
        messages: Sequence[Sequence[BaseMessage]],
        stop: list[str] | None = None,
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer several conversations, at once.

        Args:
            messages: the conversations.
            run_id: of the first one's run.

        Returns:
            candidates, and a run, for each conversation, in order.

        Raises:
            Exception: what the first conversation to fail, by position, raised; the others have run to their end.
        """
        calls = self._open_calls(ASYNC, messages, stop, callbacks, tags, metadata, run_name, run_id, kwargs)
        return self._combined(calls, await run_all(calls, self._go()))

    def generate(
        self,
        messages: Sequence[Sequence[BaseMessage]],
        stop: list[str] | None = None,
        callbacks: Any = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        **kwargs: Any,
    ) -> LLMResult:
        """Answer several conversations, one after another if the hook is sync: the sync face of `agenerate`."""
        options: dict[str, Any] = {"tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id, **kwargs}
        if not self._hooks.steps:
            return run_in_portal(functools.partial(self.agenerate, messages, stop, callbacks, **options))
        calls = self._open_calls(BLOCKING, messages, stop, callbacks, tags, metadata, run_name, run_id, kwargs)
        return self._combined(calls, drive(run_all(calls, self._go())))

    async def agenerate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Answer several prompts: `agenerate` of their messages."""
        return await self.agenerate([prompt.to_messages() for prompt in prompts], stop, callbacks, **kwargs)

    def generate_prompt(
        self, prompts: list[PromptValue], stop: list[str] | None = None, callbacks: Any = None, **kwargs: Any
    ) -> LLMResult:
        """Answer several prompts: the sync face of `agenerate_prompt`."""
        return self.generate([prompt.to_messages() for prompt in prompts], stop, callbacks, **kwargs)

    def _combined(self, calls: Sequence[ChatCall], answers: Sequence[Sequence[BaseMessage]]) -> LLMResult:
        results = [call.whole(messages) for call, messages in zip(calls, answers, strict=True)]
        return LLMResult(
            generations=[list(result.generations) for result in results],
            llm_output=self._combine_llm_outputs([result.llm_output for result in results]),
            run=[RunInfo(run_id=call.run_ids[0]) for call in calls],
        )

    # -- the pipeline below a run, by LangChain's names

    async def _agenerate_with_cache(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        """Answer a conversation from the cache, or through rate limiter and hook; the run is the caller's."""
        return await self._below(ASYNC, messages, stop, run_manager, kwargs)

    def _generate_with_cache(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        """Answer a conversation from the cache, or through rate limiter and hook, in sync code."""
        if not self._hooks.steps:
            return run_in_portal(functools.partial(self._agenerate_with_cache, messages, stop, run_manager, **kwargs))
        return drive(self._below(BLOCKING, messages, stop, run_manager, kwargs))

    async def _below(
        self, runtime: Runtime, messages: list[BaseMessage], stop: list[str] | None, run: Any, params: dict[str, Any]
    ) -> ChatResult:
        call = self._open_call(runtime, messages, {"run_id": getattr(run, "run_id", None)}, stop, params, watched=False)
        if run is not None:
            call.runs = (run,)
        return call.whole(call.finished(await self._go()(call)))

    # -- making calls

    def _compose(self) -> Go:
        return compose_chat(self)

    def _to_messages(self, input: Any) -> list[BaseMessage]:
        """Return the input as messages, in a list of their own, with content in standard blocks.

        Raises:
            InvalidInput: it cannot be read as messages, or there are none.
        """
        if type(input) is str:
            return [HumanMessage(input)]
        return conversation(input if isinstance(input, list) else self._convert_input(input).to_messages())

    def _open_call(
        self,
        runtime: Runtime,
        messages: list[BaseMessage],
        config: Any,
        stop: list[str] | None,
        params: dict[str, Any],
        *,
        watched: bool = True,
    ) -> ChatCall:
        config = read_config(config)
        if stop is not None:
            self._check_stop(stop)
        streaming = self._is_streaming(params) if self._hooks.can_stream() else False
        sent = {key: value for key, value in params.items() if key not in _OURS} if params else params
        stop, sent, dropped = self._settle(stop, sent, params.get("unsupported"), messages)
        call = ChatCall(self, (messages,), stop, sent, runtime, (config.get("run_id"),))
        call.streaming, call.dropped = streaming, dropped
        self._limit(call, params)
        callbacks = config.get("callbacks")
        if watched and (callbacks or self._is_watched(None)):
            self._watch([call], params, callbacks, config.get("tags"), config.get("metadata"), config.get("run_name"))
        return call

    def _open_calls(
        self,
        runtime: Runtime,
        conversations: Sequence[Sequence[BaseMessage]],
        stop: list[str] | None,
        callbacks: Any,
        tags: list[str] | None,
        metadata: dict[str, Any] | None,
        run_name: str | None,
        run_id: UUID | None,
        params: dict[str, Any],
    ) -> list[ChatCall]:
        if isinstance(conversations, str | BaseMessage | PromptValue):
            raise InvalidInput(f"generate takes a list of conversations, not {type(conversations).__name__}")
        calls = [
            self._open_call(runtime, conversation(messages), {"run_id": id_}, stop, params, watched=False)
            for messages, id_ in zip(conversations, (run_id, *[None] * len(conversations)), strict=False)
        ]
        if calls and self._is_watched(callbacks):
            self._watch(calls, params, callbacks, tags, metadata, run_name)
        return calls

    def _watch(
        self,
        calls: Sequence[ChatCall],
        params: Mapping[str, Any],
        callbacks: Any,
        tags: Any,
        metadata: Any,
        run_name: str | None,
    ) -> None:
        """Give the calls the manager of their runs, and what it will tell."""
        first = calls[0]
        facts = self._get_ls_params(stop=first.stop, **first.params)
        if first.dropped:
            facts = {**facts, DROPPED_OPTIONS: list(first.dropped)}
        manager = self._manager(first.runtime, callbacks, tags, metadata, facts)
        if not manager.handlers:
            return
        details = functools.partial(self._details, first.stop, first.params, params, run_name, len(calls))
        for call in calls:
            call.managers, call.details = (manager,), details

    def _details(
        self,
        stop: list[str] | None,
        sent: dict[str, Any],
        params: Mapping[str, Any],
        run_name: str | None,
        batch_size: int,
        index: int,
    ) -> dict[str, Any]:
        """Return what handlers are told of a call at its start; ``sent`` are those of its ``params`` that the hook sees."""
        options: dict[str, Any] = {"stop": None if stop is None else copy_containers(stop)}
        if params:
            for name in _STRUCTURED:
                if params.get(name):
                    options["ls_structured_output_format"] = copy_containers(params[name])
        return {
            "invocation_params": copy_containers(self._get_invocation_params(stop=stop, **sent)),
            "options": options,
            "name": run_name or self.name,
            "batch_size": batch_size,
        }

    def _is_streaming(self, params: Mapping[str, Any]) -> bool:
        """Whether this call goes to a stream hook, if there is one: LangChain's rule, less its look at the handlers."""
        if self.disable_streaming is True:
            return False
        if self.disable_streaming == "tool_calling" and params.get("tools", getattr(self, "tools", None)):
            return False
        if "stream" in params:
            return bool(params["stream"])
        return bool(getattr(self, "streaming", False))

    def _cache_key(
        self, messages: Sequence[BaseMessage], stop: list[str] | None, params: dict[str, Any]
    ) -> tuple[str, str]:
        return prompt_key(messages), self._get_llm_string(stop, **params)
