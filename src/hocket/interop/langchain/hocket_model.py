"""A hocket model as a chat model of LangChain's.

LangChain's hooks ask hocket's verbs, not hocket's hooks: so hocket's cache, rate limiter, retries and deadlines work as
everywhere. LangChain's handlers stay with LangChain, which tells them of its own run; hocket's run inside it is told to
only hocket's own handlers. So each handler gets, and bills, one call once.
"""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, cast
from uuid import UUID

import langchain_core.messages as lc
from langchain_core.callbacks import (
    AsyncCallbackManagerForLLMRun as LCAsyncRunManager,
    CallbackManagerForLLMRun as LCRunManager,
)
from langchain_core.callbacks.base import BaseCallbackManager as LCBaseCallbackManager
from langchain_core.language_models import LanguageModelInput as LCInput
from langchain_core.language_models.chat_models import BaseChatModel as LCBaseChatModel
from langchain_core.outputs import (
    ChatGeneration as LCChatGeneration,
    ChatGenerationChunk as LCChatGenerationChunk,
    ChatResult as LCChatResult,
)
from langchain_core.runnables import (
    Runnable as LCRunnable,
    RunnableConfig as LCRunnableConfig,
    RunnableLambda as LCRunnableLambda,
    RunnableMap as LCRunnableMap,
)
from langchain_core.runnables.config import ensure_config as lc_ensure_config
from langchain_core.tools import BaseTool as LCBaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool as lc_convert_to_openai_tool
from pydantic import SkipValidation
from pydantic.v1 import BaseModel as LCBaseModelV1

from hocket._runtime.clock import new_run_id
from hocket.callbacks import AsyncCallbackManager, BaseCallbackHandler
from hocket.errors import OutputParserException
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.language_models import BaseChatModel
from hocket.language_models.structured.answers import find_obstacle
from hocket.language_models.structured.with_structured_output import StructuredMethod
from hocket.load.serializable import construct, get_fields
from hocket.messages import AIMessage, BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableBinding, RunnableConfig
from hocket.runnables.config import current_config

if TYPE_CHECKING:
    from langchain_core.language_models.base import LangSmithParams as LCLangSmithParams
    from langchain_core.language_models.model_profile import ModelProfile as LCModelProfile

__all__ = ["HocketChatModel", "model_to_langchain"]

LCRun = LCAsyncRunManager | LCRunManager | None

LCToolLike = Fields | type[Any] | Callable[..., Any] | LCBaseTool
"""What LangChain takes for a tool."""

_RUN = "langchain_run"
"""The option of a call that says which run of LangChain's it is inside."""


class HocketChatModel(LCBaseChatModel):
    """A hocket model in LangChain. Made by `to_langchain`.

    Args:
        hocket_model: what answers. All that is to be set is set on it.
    """

    hocket_model: SkipValidation[BaseChatModel]

    @property
    def _llm_type(self) -> str:
        return self.hocket_model._llm_type  # pyright: ignore[reportPrivateUsage]  # LangChain's name for it, too

    @property
    def _identifying_params(self) -> FieldsView:
        return self.hocket_model._identifying_params  # pyright: ignore[reportPrivateUsage]

    @property
    def model_name(self) -> str | None:
        """The name of the model, by which LangChain looks up what it can do."""
        return self._get_ls_params().get("ls_model_name")

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: object) -> "LCLangSmithParams":
        kwargs.pop(_RUN, None)
        facts = {"ls_model_name": self.hocket_model.get_name()}  # tracers want one
        facts.update(self.hocket_model._get_ls_params(stop, **kwargs))  # pyright: ignore[reportPrivateUsage]
        return cast("LCLangSmithParams", facts)

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: object) -> str:
        """Return what a cache of LangChain's knows the model by: all that changes an answer."""
        kwargs.pop(_RUN, None)
        return self.hocket_model._get_llm_string(stop, **kwargs)  # pyright: ignore[reportPrivateUsage]

    def _resolve_model_profile(self) -> "LCModelProfile | None":
        # LangChain 1.0 has none, and does not ask.
        from langchain_core.language_models.model_profile import ModelProfile as LCModelProfile

        profile = self.hocket_model.profile
        known = LCModelProfile.__annotations__
        return cast(LCModelProfile, {key: value for key, value in profile.items() if key in known}) if profile else None

    # -- LangChain's run, which its own streams do not tell `_astream` of

    def _get_invocation_params(self, stop: list[str] | None = None, **kwargs: object) -> Fields:
        kwargs.pop(_RUN, None)  # what LangChain's own does, without its detours
        return {**self._identifying_params, "_type": self._llm_type, "stop": stop, **kwargs}

    def astream(
        self, input: LCInput, config: LCRunnableConfig | None = None, *, stop: list[str] | None = None, **kwargs: object
    ) -> AsyncIterator[lc.AIMessageChunk]:
        """Yield the answer as it comes. See LangChain's."""
        config, kwargs = _name_run(config, kwargs)
        return super().astream(input, config, stop=stop, **kwargs)

    def stream(
        self, input: LCInput, config: LCRunnableConfig | None = None, *, stop: list[str] | None = None, **kwargs: object
    ) -> Iterator[lc.AIMessageChunk]:
        """Yield the answer as it comes. See LangChain's."""
        config, kwargs = _name_run(config, kwargs)
        return super().stream(input, config, stop=stop, **kwargs)

    async def _agenerate_with_cache(
        self,
        messages: list[lc.BaseMessage],
        stop: list[str] | None = None,
        run_manager: LCAsyncRunManager | None = None,
        **kwargs: object,
    ) -> LCChatResult:
        kwargs.setdefault(_RUN, _LangChainRun.of(run_manager))
        return await super()._agenerate_with_cache(messages, stop, run_manager, **kwargs)

    def _generate_with_cache(
        self,
        messages: list[lc.BaseMessage],
        stop: list[str] | None = None,
        run_manager: LCRunManager | None = None,
        **kwargs: object,
    ) -> LCChatResult:
        kwargs.setdefault(_RUN, _LangChainRun.of(run_manager))
        return super()._generate_with_cache(messages, stop, run_manager, **kwargs)

    # -- answers

    async def _agenerate(
        self,
        messages: list[lc.BaseMessage],
        stop: list[str] | None = None,
        run_manager: LCAsyncRunManager | None = None,
        **kwargs: object,
    ) -> LCChatResult:
        config = _inside(kwargs, run_manager)
        return _result(await self.hocket_model.ainvoke(_read(messages), config, stop=stop, **kwargs))

    def _generate(
        self,
        messages: list[lc.BaseMessage],
        stop: list[str] | None = None,
        run_manager: LCRunManager | None = None,
        **kwargs: object,
    ) -> LCChatResult:
        config = _inside(kwargs, run_manager)
        return _result(self.hocket_model.invoke(_read(messages), config, stop=stop, **kwargs))

    async def _astream(
        self,
        messages: list[lc.BaseMessage],
        stop: list[str] | None = None,
        run_manager: LCAsyncRunManager | None = None,
        **kwargs: object,
    ) -> AsyncIterator[LCChatGenerationChunk]:
        config = _inside(kwargs, run_manager)
        stream = self.hocket_model.astream(_read(messages), config, stop=stop, **kwargs)
        try:
            async for chunk in stream:
                yield _chunk(chunk)
        finally:
            await stream.aclose()

    def _stream(
        self,
        messages: list[lc.BaseMessage],
        stop: list[str] | None = None,
        run_manager: LCRunManager | None = None,
        **kwargs: object,
    ) -> Iterator[LCChatGenerationChunk]:
        config = _inside(kwargs, run_manager)
        with self.hocket_model.stream(_read(messages), config, stop=stop, **kwargs) as stream:
            for chunk in stream:
                yield _chunk(chunk)

    # -- tools and schemas

    def bind_tools(
        self,
        tools: Sequence[LCToolLike],
        *,
        tool_choice: object = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> LCRunnable[LCInput, lc.AIMessage]:
        """Return the model with tools that it may call.

        Args:
            tools: what LangChain takes, and hocket's tools.
            tool_choice, strict, kwargs: as hocket's models take them (`hocket.language_models.BaseChatModel.bind_tools`).

        Raises:
            InvalidInput, Unsupported, NotImplementedError: as there. Two tools may share a name, though.
        """
        converted = [_convert_tool(tool) for tool in tools]
        named = {_name(tool) or str(index): tool for index, tool in enumerate(converted)}
        bound = self.hocket_model.bind_tools([*named.values()], tool_choice=tool_choice, strict=strict, **kwargs)
        options = dict(bound.kwargs)
        if len(named) < len(converted):
            by_name = {_name(tool): tool for tool in options["tools"]}
            options["tools"] = [by_name.get(_name(tool), tool) for tool in converted]
        return self.bind(**options)

    def with_structured_output(
        self,
        schema: Fields | type[Any],
        *,
        include_raw: bool = False,
        method: StructuredMethod | None = None,
        strict: bool | None = None,
        **kwargs: Any,
    ) -> LCRunnable[LCInput, Any]:
        """Return the model with answers that are objects of ``schema``, read and checked by hocket.

        Args:
            schema: what hocket takes.
            include_raw: return {"raw": message, "parsed": object, "parsing_error": error or None}.
            method, strict, kwargs: as hocket's models take them.

        Raises:
            InvalidInput, NotImplementedError: see `hocket.language_models.BaseChatModel.with_structured_output`.
        """
        if _is_of_pydantic_1(schema):  # which only LangChain reads
            return super().with_structured_output(schema, include_raw=include_raw, **kwargs)
        structured = self.hocket_model.with_structured_output(
            schema, method=method, include_raw=False, strict=strict, **kwargs
        )
        options: Fields = {**cast(RunnableBinding[object, object], structured.bound).kwargs}
        options["ls_structured_output_format"]["schema"] = schema  # LangChain's tracers write it down their own way
        llm = self.bind(**options)

        def read(message: lc.AIMessage) -> object:
            answer = message_from_langchain(message)
            try:
                return structured.output.read(structured.answers.value(cast(AIMessage, answer)))
            except OutputParserException as error:
                error.raw = answer
                raise find_obstacle(cast(AIMessage, answer)) or error from error.__cause__

        def read_raw(answer: dict[str, lc.AIMessage]) -> Fields:
            try:
                return {**answer, "parsed": read(answer["raw"]), "parsing_error": None}
            except Exception as error:
                return {**answer, "parsed": None, "parsing_error": error}

        if include_raw:
            return LCRunnableMap(raw=llm) | LCRunnableLambda(read_raw)
        return llm | LCRunnableLambda(read, name="StructuredOutput")

    # -- counting

    def get_token_ids(self, text: str) -> list[int]:
        """Return the tokens of a text."""
        return self.hocket_model.get_token_ids(text)

    def get_num_tokens(self, text: str) -> int:
        """Return how many tokens a text has."""
        return self.hocket_model.get_num_tokens(text)

    def get_num_tokens_from_messages(
        self, messages: list[lc.BaseMessage], tools: Sequence[LCToolLike] | None = None
    ) -> int:
        """Return how many tokens messages and tools have."""
        converted = None if tools is None else [_convert_tool(tool) for tool in tools]
        return self.hocket_model.get_num_tokens_from_messages(_read(messages), converted)


def model_to_langchain(model: BaseChatModel) -> HocketChatModel:
    """Return a hocket model as one of LangChain's."""
    return HocketChatModel(hocket_model=model)


def _read(messages: Sequence[lc.BaseMessage]) -> list[BaseMessage]:
    return [message_from_langchain(message) for message in messages]


class _LangChainRun(NamedTuple):
    """What hocket's run is told of LangChain's run around it: it is one of hocket's options until the hook takes it out."""

    run_id: UUID
    handlers: Sequence[object]
    tags: list[str] | None
    metadata: Fields | None

    @classmethod
    def of(cls, run: LCRun) -> "_LangChainRun | None":
        """Return what a run manager of LangChain's says of its run."""
        return None if run is None else cls(run.run_id, run.handlers, run.tags, run.metadata)

    def hears(self, handler: object) -> bool:
        """Whether LangChain tells a handler of hocket's, too: as it is, or through what stands in for it."""
        return any(one is handler or getattr(one, "handler", None) is handler for one in self.handlers)


def _name_run(config: LCRunnableConfig | None, kwargs: Fields) -> tuple[LCRunnableConfig, Fields]:
    """Return a config, and the options of a call: both name the same run."""
    named: LCRunnableConfig = lc_ensure_config(config)
    run_id = named["run_id"] = named.get("run_id") or new_run_id()
    callbacks = named.get("callbacks")
    handlers = callbacks.handlers if isinstance(callbacks, LCBaseCallbackManager) else callbacks or []
    return named, {**kwargs, _RUN: _LangChainRun(run_id, handlers, named.get("tags"), named.get("metadata"))}


def _inside(kwargs: Fields, run_manager: LCRun) -> RunnableConfig | None:
    """Return the config of hocket's call inside LangChain's run, whose handlers hear nothing of it.

    A run of hocket's may be around LangChain's. Its handlers hear of the call, unless LangChain tells them.

    Args:
        kwargs: options of the call. LangChain's run is taken out of them.
        run_manager: of that run, where LangChain gave it to the hook.
    """
    run: _LangChainRun | None = kwargs.pop(_RUN, None) or _LangChainRun.of(run_manager)
    if run is None:
        return None
    parent, handlers = run.run_id, list[BaseCallbackHandler]()
    around = current_config.get().get("callbacks")
    if around is not None:
        handlers = [one for one in (around if isinstance(around, list) else around.handlers) if not run.hears(one)]
        if handlers and not isinstance(around, list):
            parent = around.parent_run_id or parent
    return {"callbacks": AsyncCallbackManager(handlers, None, parent, tags=run.tags, metadata=run.metadata)}


def _result(answer: AIMessage) -> LCChatResult:
    message = _write(answer)
    candidate = construct(
        LCChatGeneration, text=str(message.text), generation_info=None, type="ChatGeneration", message=message
    )
    return construct(LCChatResult, generations=[candidate], llm_output=None)


def _chunk(chunk: BaseMessage) -> LCChatGenerationChunk:
    message = _write(chunk)
    return construct(
        LCChatGenerationChunk,
        text=message.content if message.content.__class__ is str else str(message.text),
        generation_info=None,
        type="ChatGenerationChunk",
        message=message,
    )


def _write(message: BaseMessage) -> lc.BaseMessage:
    """Return an answer without its id: LangChain makes one of its run's.

    LangGraph takes two messages of one id for one, and not every server's ids differ. The server's own is in the
    ``response_metadata``.
    """
    made = message_to_langchain(message)
    get_fields(made)["id"] = None  # there is nothing to be checked, for each chunk of a stream
    return made


def _convert_tool(tool: LCToolLike) -> Fields:
    """Return a tool as OpenAI writes it."""
    if isinstance(tool, LCBaseTool) or _is_of_pydantic_1(tool):
        return lc_convert_to_openai_tool(tool)
    from hocket.tools import convert_to_openai_tool  # a program without tools need not load them

    return convert_to_openai_tool(tool)


def _is_of_pydantic_1(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, LCBaseModelV1)


def _name(tool: FieldsView) -> object:
    function: object = tool.get("function")
    return cast("Mapping[str, object]", function).get("name") if isinstance(function, Mapping) else None
