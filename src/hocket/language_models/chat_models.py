"""Chat models: messages in, a message out.

A provider is a subclass with one hook. The verbs are here, each once; what happens between verb and hook is the
pipeline's business.
"""

import functools
from abc import ABC
from collections.abc import AsyncIterator, Iterator, Sequence
from typing import Any, cast
from uuid import UUID

from hocket._pipeline.accounts import find_books
from hocket._pipeline.call import NO_LIMITS, Call, Next
from hocket._pipeline.chat_answer import CHAT, as_chunk, rebuild_result
from hocket._pipeline.compose import compose_chat
from hocket._pipeline.hooks import default_hook
from hocket._pipeline.observe import run_all, with_run_events, with_total_deadline
from hocket._pipeline.runs import NO_RUNS, CallRuns, LLMRun, StartedRun, view_run
from hocket._runtime.mode import ASYNC, BLOCKING, Mode, drive
from hocket._runtime.portal import run_in_portal
from hocket._runtime.stream import Producer, Sink
from hocket.language_models.base import LanguageModelInput
from hocket.language_models.chat_calls import ChatCalls
from hocket.language_models.stream import ChatStream, DiscardingSink, SyncChatStream
from hocket.language_models.structured.with_structured_output import StructuredOutputMixin
from hocket.messages import AIMessage, AIMessageChunk, AnyMessage, BaseMessage, HumanMessage
from hocket.outputs import ChatGenerationChunk, ChatResult, LLMResult, RunInfo
from hocket.prompt_values import PromptValue
from hocket.runnables.config import RunnableConfig, read_config

__all__ = ["BaseChatModel"]


class BaseChatModel(ChatCalls, StructuredOutputMixin, ABC):
    """A chat model. Subclass it to add a provider: define `_llm_type` and any one of four hooks.

    Hooks, all with LangChain's signatures: ``_agenerate`` and ``_astream`` (async), ``_generate`` and ``_stream`` (sync).
    Async verbs prefer async hooks, sync verbs sync ones; where only the other kind exists, a sync hook runs in a worker
    thread and an async one on hocket's kept event loop. An answer that is not wanted in pieces comes from a stream hook
    if there is no other, and the other way round.

    Args:
        disable_streaming: True: answer in one piece even when asked to stream; "tool_calling": only when tools are given.
    """

    # -- hooks

    @default_hook
    async def _agenerate(self, messages: list[BaseMessage], stop: list[str] | None = None, **kwargs: Any) -> ChatResult:
        """Answer a conversation.

        Args:
            messages: in order. There may be none: a hook that cannot answer that refuses it.
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

    @property
    def OutputType(self) -> object:
        """The type of an output: a message."""
        return AnyMessage

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
            input: a text, messages or any input of `convert_to_messages`, or a prompt value.
            config: callbacks, tags, metadata, run_name and run_id of the run.
            stop: texts at which the answer is cut.
            kwargs: options of the call, handed to the hook.

        Raises:
            InvalidInput: ``input`` is none of these, or empty.
            EmptyResponse: the model gave no answer.

        Examples:
            >>> import asyncio
            >>> from hocket import FakeListChatModel
            >>> asyncio.run(FakeListChatModel(responses=["Hello."]).ainvoke("Hi")).text
            'Hello.'
        """
        call = self._open_call(ASYNC, self._to_messages(input), config, stop, kwargs)
        return (await with_run_events(call, self._get_pipeline()))[0]  # type: ignore[no-any-return]  # `_run` in place

    def invoke(
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> AIMessage:
        """Answer: the sync face of `ainvoke`. A sync hook runs in this thread; works inside a running loop, too.

        Examples:
            >>> from hocket import FakeListChatModel
            >>> FakeListChatModel(responses=["Hello."]).invoke("Hi").text
            'Hello.'
        """
        if not self._hooks.can_step:
            return run_in_portal(functools.partial(self._invoke, ASYNC, input, config, {"stop": stop, **kwargs}))
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

        Examples:
            >>> import asyncio
            >>> from hocket import FakeListChatModel
            >>> async def main():
            ...     async for chunk in FakeListChatModel(responses=["Hi!"]).astream("Hello"):
            ...         print(chunk.text)
            >>> asyncio.run(main())
            H
            i
            !
        """
        return ChatStream(*self._open_stream(ASYNC, input, config, stop, kwargs))

    def stream(  # type: ignore[override]
        self,
        input: LanguageModelInput,
        config: RunnableConfig | None = None,
        *,
        stop: list[str] | None = None,
        **kwargs: Any,
    ) -> SyncChatStream:
        """Return the answer as it comes: the sync face of `astream`."""
        stepped = self._hooks.can_step_stream
        mode = BLOCKING if stepped else ASYNC
        return SyncChatStream(*self._open_stream(mode, input, config, stop, kwargs), stepped=stepped)

    def _open_stream(
        self, mode: Mode, input: LanguageModelInput, config: Any, stop: list[str] | None, params: dict[str, Any]
    ) -> tuple[Call, Producer[AIMessageChunk]]:
        """Return the call behind a stream, and what makes its chunks."""
        params = {**params, "stream": True}
        call = self._open_call(mode, self._to_messages(input), config, stop, params)

        async def produce(sink: Sink[AIMessageChunk]) -> None:
            call.delivery.attach(sink)
            await self._run(call)

        async def produce_whole(sink: Sink[AIMessageChunk]) -> None:
            call.delivery.attach(DiscardingSink(sink), hands_out=False)
            answer = await self._run(call)
            waiting = sink.put(cast(AIMessageChunk, as_chunk(answer)))
            if waiting is not None:
                await waiting

        return call, produce if self._should_stream(async_api=mode.is_async, **params) else produce_whole

    async def _produce(
        self, mode: Mode, input: LanguageModelInput, config: Any, kwargs: dict[str, Any], sink: Sink[Any]
    ) -> None:
        params = {**kwargs}
        await self._open_stream(mode, input, config, params.pop("stop", None), params)[1](sink)

    @property
    def _can_step(self) -> bool:
        return self._hooks.can_step_stream

    async def _run(self, call: Call) -> AIMessage:
        return cast(AIMessage, (await with_run_events(call, self._get_pipeline()))[0])

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
            Exception: of the first conversation to fail, by position; the others have run to their end.
        """
        config = {"callbacks": callbacks, "tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
        calls = self._open_calls(ASYNC, messages, stop, config, kwargs)
        return self._combine(calls, await run_all(calls, self._get_pipeline()))

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
        config: dict[str, Any] = {"tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
        if not self._hooks.can_step:
            return run_in_portal(functools.partial(self.agenerate, messages, stop, callbacks, **config, **kwargs))
        calls = self._open_calls(BLOCKING, messages, stop, {**config, "callbacks": callbacks}, kwargs)
        return self._combine(calls, drive(run_all(calls, self._get_pipeline())))

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

    def _combine(self, calls: Sequence[Call], answers: Sequence[Sequence[BaseMessage]]) -> LLMResult:
        results = [rebuild_result(call.result, messages) for call, messages in zip(calls, answers, strict=True)]
        return LLMResult(
            generations=[list(result.generations) for result in results],
            llm_output=self._combine_llm_outputs([result.llm_output for result in results]),
            run=[RunInfo(run_id=call.request.run_ids[0]) for call in calls],
        )

    # -- the pipeline below a run, by LangChain's names: what the verbs ask where a subclass overrides it

    async def _agenerate_with_cache(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        """Answer a conversation from the cache, or through rate limiter and hook; the run is the caller's.

        A subclass that defines it, or its sync form, is asked by all verbs; its streams come in one piece.
        """
        return await self._answer_with_cache(ASYNC, messages, stop, run_manager, kwargs)

    def _generate_with_cache(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> ChatResult:
        """Answer a conversation from the cache, or through rate limiter and hook, in sync code."""
        if not self._hooks.can_step:
            return run_in_portal(functools.partial(self._agenerate_with_cache, messages, stop, run_manager, **kwargs))
        return drive(self._answer_with_cache(BLOCKING, messages, stop, run_manager, kwargs))

    async def _answer_with_cache(
        self,
        mode: Mode,
        messages: list[BaseMessage],
        stop: list[str] | None,
        run: LLMRun | None,
        params: dict[str, Any],
    ) -> ChatResult:
        runs = NO_RUNS if run is None else StartedRun(mode, view_run(run, mode.is_async))
        call = self._open_call(mode, messages, {"run_id": getattr(run, "run_id", None)}, stop, params, runs)
        finished = call.finish(await self._compose_below_override()(call))
        return rebuild_result(call.result, finished)

    def _compose(self) -> Next:
        """Return the pipeline below a run; a subclass's own `_agenerate_with_cache` stands in front of it."""
        own = self._overrides
        if own.agenerate_with_cache or own.generate_with_cache:
            return with_total_deadline(self._ask_override)
        return self._compose_below_override()

    def _compose_below_override(self) -> Next:
        listeners = [book.record_hit for book in find_books(self.ledger)]
        return compose_chat(self.cache, self._make_cache_key, self._compose_attempts(), listeners)

    async def _ask_override(self, call: Call) -> ChatResult:
        """Have the subclass's own `_agenerate_with_cache` answer, or `_generate_with_cache`, if need be in a thread."""
        request, own = call.request, self._overrides
        is_async = call.mode.is_async and own.agenerate_with_cache
        params = dict(request.params)
        if call.limits is not NO_LIMITS:  # of this call, which the default implementation makes a call of its own for
            params |= {"timeout": call.limits.timeout, "retry": call.limits.retry}
        arguments = request.prompts[0], request.stop, view_run(call.run_manager(), is_async)
        if is_async:
            name, returned = "_agenerate_with_cache", await self._agenerate_with_cache(*arguments, **params)
        else:
            name, ask = "_generate_with_cache", functools.partial(self._generate_with_cache, *arguments, **params)
            returned = await call.mode.call_sync(ask)
        result = call.answer.check(request, returned, name)
        await call.delivery.replay(result)
        return cast(ChatResult, result)

    # -- making calls

    def _to_messages(self, input: Any) -> list[BaseMessage]:
        """Return the input as messages, in a list of their own, with content in standard blocks.

        Raises:
            InvalidInput: it cannot be read as messages; or there are none, and this model needs some.
        """
        if self._overrides.convert_input:
            return self._prepare(self._convert_input(input).to_messages())
        if type(input) is str:
            return [HumanMessage(input)]
        if isinstance(input, list):
            return self._prepare(cast("list[object]", input))
        return self._prepare(self._convert_input(input).to_messages())

    def _open_call(
        self,
        mode: Mode,
        messages: list[BaseMessage],
        config: RunnableConfig | None,
        stop: list[str] | None,
        params: dict[str, Any],
        runs: CallRuns | None = None,
    ) -> Call:
        """Return a call, complete. ``runs``: those that were started for it; None: those that its config describes."""
        config = read_config(config)
        ids, metadata = (config.get("run_id"),), config.get("metadata")
        request, dropped = self._make_request(mode, (messages,), ids, stop, params, messages, metadata)
        if runs is None:
            is_heard = self._has_listeners(config.get("callbacks"))
            runs = self._make_runs(mode, [request], dropped, params, config)[0] if is_heard else NO_RUNS
        return Call(CHAT, request, mode, self._make_limits(params), runs)
