"""A chat model of LangChain's as one of hocket's.

hocket's cache, rate limiter, retries and deadlines stand before it, and hocket's handlers hear hocket's run. LangChain's
run is inside that one, and has no handlers of its own but those that LangChain adds to every run of the process.

The run of hocket's is the one that a call is told as. LangChain adds handlers to its runs by itself: the tracer that the
environment asks for, and those of contexts such as ``collect_runs()`` and ``get_usage_metadata_callback()``. One that is
among hocket's, too, has been told of the call, and would count it twice. So it is taken out of the context while
LangChain's run is opened. That is done within one step of the call: nothing is held while a stream waits for its reader.
"""

import asyncio
import contextlib
import inspect
from collections.abc import AsyncIterator, Generator, Iterator, Mapping, Sequence
from contextvars import ContextVar
from typing import ClassVar, TypeVar, cast

import langchain_core.messages as lc
from langchain_core.callbacks import AsyncCallbackManager as LCAsyncManager, CallbackManager as LCManager
from langchain_core.language_models.chat_models import BaseChatModel as LCBaseChatModel
from langchain_core.runnables import Runnable as LCRunnable, RunnableConfig as LCRunnableConfig
from langchain_core.tracers import LangChainTracer, context as lc_context
from langsmith.run_helpers import tracing_context  # pyright: ignore[reportUnknownVariableType]
from langsmith.utils import tracing_is_enabled  # pyright: ignore[reportUnknownVariableType]
from pydantic import SkipValidation

from hocket._pipeline.cache_key import model_key
from hocket._pipeline.chat_answer import as_chunk
from hocket._pipeline.runs import LLMRun
from hocket.errors import Unsupported
from hocket.interop.langchain.errors import error_from_langchain
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.language_models import BaseChatModel
from hocket.language_models.structured.with_structured_output import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import AIMessageChunk, BaseMessage
from hocket.messages.content import Fields, FieldsView
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.profiles import ModelProfile

__all__ = ["LangChainChatModel", "inner_config", "model_from_langchain", "telling_once"]

_RUN_ID = "lc_run--"  # how an id begins that LangChain made of its run's

LCModel = LCRunnable[list[lc.BaseMessage], lc.BaseMessage | Fields]


class LangChainChatModel(BaseChatModel):
    """A chat model of LangChain's in hocket. Made by `from_langchain`.

    It runs on asyncio, as LangChain does, and by sync verbs anywhere.

    Args:
        langchain_model: what answers.
    """

    langchain_model: SkipValidation[LCBaseChatModel]

    _tool_choices: ClassVar = frozenset(
        {ToolChoiceKind.AUTO, ToolChoiceKind.NONE, ToolChoiceKind.REQUIRED, ToolChoiceKind.ONE}
    )

    @property
    def _llm_type(self) -> str:
        return self.langchain_model._llm_type  # pyright: ignore[reportPrivateUsage]  # hocket's name for it, too

    def _get_ls_params(self, stop: list[str] | None = None, **kwargs: object) -> Fields:
        return {**self.langchain_model._get_ls_params(stop, **kwargs)}  # pyright: ignore[reportPrivateUsage]

    def _get_llm_string(self, stop: list[str] | None = None, **kwargs: object) -> str:
        """Return a hash of all that changes the answer: of the fields that LangChain's model would be dumped with."""
        model = self.langchain_model
        names = [name for name, field in type(model).model_fields.items() if not field.exclude]
        return model_key(model, names, {"stop": stop, "call": kwargs})

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        own = type(self.langchain_model)
        if own.with_structured_output is not LCBaseChatModel.with_structured_output:
            default = inspect.signature(own.with_structured_output).parameters.get("method")
            methods: list[StructuredMethod] = ["function_calling", "json_schema", "json_mode"]
            return sorted(methods, key=lambda method: default is None or method != default.default)
        return ("function_calling",) if own.bind_tools is not LCBaseChatModel.bind_tools else ()

    # -- answers

    async def _agenerate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: LLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        _require_asyncio()
        with self._translating():
            model, options = self._bind(kwargs)
            config = inner_config(run_manager, is_async=True)
            with telling_once(run_manager):
                return _result(await model.ainvoke(_write(messages), config, stop=stop, **options))

    def _generate(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        run_manager: LLMRun | None = None,
        **kwargs: object,
    ) -> ChatResult:
        with self._translating():
            model, options = self._bind(kwargs)
            config = inner_config(run_manager, is_async=False)
            with telling_once(run_manager):
                return _result(model.invoke(_write(messages), config, stop=stop, **options))

    async def _astream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        hocket_run: LLMRun | None = None,
        **kwargs: object,
    ) -> AsyncIterator[ChatGenerationChunk]:
        _require_asyncio()
        with self._translating():
            model, options = self._bind(kwargs)
            config = inner_config(hocket_run, is_async=True)
            chunks = model.astream(_write(messages), config, stop=stop, **options)
            try:
                with telling_once(hocket_run):
                    answer = await anext(chunks, None)
                while answer is not None:
                    chunk = _chunk(answer)
                    if chunk is not None:
                        yield chunk
                    answer = await anext(chunks, None)
            finally:
                await chunks.aclose()  # type: ignore[attr-defined]  # it is a generator

    def _stream(
        self,
        messages: list[BaseMessage],
        stop: list[str] | None = None,
        hocket_run: LLMRun | None = None,
        **kwargs: object,
    ) -> Iterator[ChatGenerationChunk]:
        with self._translating():
            model, options = self._bind(kwargs)
            config = inner_config(hocket_run, is_async=False)
            chunks = model.stream(_write(messages), config, stop=stop, **options)
            try:
                with telling_once(hocket_run):
                    answer = next(chunks, None)
                while answer is not None:
                    chunk = _chunk(answer)
                    if chunk is not None:
                        yield chunk
                    answer = next(chunks, None)
            finally:
                chunks.close()  # type: ignore[attr-defined]  # it is a generator

    # -- the call

    def _bind(self, options: Fields) -> tuple[LCModel, Fields]:
        """Return what is to be asked, with the tools and the schema of a call bound its own way, and the other options.

        Raises:
            Unsupported: LangChain's model cannot be given tools, or a schema.
        """
        model: LCBaseChatModel = self.langchain_model
        rest = {**options}
        tools, choice, form = rest.pop("tools", None), rest.pop("tool_choice", None), rest.get("response_format")
        try:
            if tools:
                choice = "any" if choice == "required" else choice
                chosen = {} if choice is None else {"tool_choice": choice}
                return cast(LCModel, model.bind_tools(tools, **chosen)), rest
            if isinstance(form, Mapping):
                del rest["response_format"]
                return cast(LCModel, _bind_form(model, cast(FieldsView, form))), rest
        except (NotImplementedError, ValueError) as error:
            what = "tools" if tools else "a schema"
            raise Unsupported(f"{type(model).__name__} cannot be given {what} like this: {error}") from error
        return cast(LCModel, model), rest

    @contextlib.contextmanager
    def _translating(self) -> Generator[None, None, None]:
        """Raise what LangChain's model raises in its block as an error of hocket's."""
        try:
            yield
        except Exception as error:
            facts: Fields = self._get_ls_params()
            made = error_from_langchain(error, facts.get("ls_provider"), facts.get("ls_model_name"))
            if made is None:
                raise
            raise made from error


def _bind_form(model: LCBaseChatModel, form: FieldsView) -> LCRunnable[list[lc.BaseMessage], Fields]:
    """Return LangChain's ``model`` held to OpenAI's ``response_format``: it answers with the message under ``raw``."""
    if form.get("type") != "json_schema":
        return model.with_structured_output(None, method="json_mode", include_raw=True)  # type: ignore[arg-type,return-value]
    named: FieldsView = form["json_schema"]
    schema = {"title": named["name"], **named["schema"]}
    strict = named.get("strict")
    return model.with_structured_output(  # type: ignore[return-value]
        schema, method="json_schema", include_raw=True, **({} if strict is None else {"strict": strict})
    )


def model_from_langchain(model: LCBaseChatModel) -> LangChainChatModel:
    """Return a chat model of LangChain's as one of hocket's."""
    profile: Mapping[str, object] | None = getattr(model, "profile", None)  # the first versions have none
    return LangChainChatModel(langchain_model=model, profile=cast(ModelProfile, {**profile}) if profile else None)


def _require_asyncio() -> None:
    """Raise where LangChain's async code cannot run.

    Raises:
        Unsupported: no event loop of asyncio runs here.
    """
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        raise Unsupported(
            "a chat model of LangChain's runs on asyncio, and this is another event loop: use asyncio, or a sync verb "
            "(invoke, stream) in a worker thread"
        ) from None


def _write(messages: Sequence[BaseMessage]) -> list[lc.BaseMessage]:
    return [message_to_langchain(message) for message in messages]


def _result(answer: lc.BaseMessage | Fields) -> ChatResult:
    return ChatResult(
        generations=[ChatGeneration(message=_read(answer["raw"] if isinstance(answer, dict) else answer))]
    )


def _chunk(answer: lc.BaseMessage | Fields) -> ChatGenerationChunk | None:
    """Return a chunk; None: this piece of a stream with ``include_raw`` says something of the object, not of the message."""
    message = answer.get("raw") if isinstance(answer, dict) else answer
    return None if message is None else ChatGenerationChunk(message=cast(AIMessageChunk, as_chunk(_read(message))))


def _read(message: lc.BaseMessage) -> BaseMessage:
    made = message_from_langchain(message)
    if made.id is not None and made.id.startswith(_RUN_ID):
        made.id = None
    return made


T = TypeVar("T")


def inner_config(run: LLMRun | None, *, is_async: bool) -> LCRunnableConfig:
    """Return the config of LangChain's run: it has no handlers, and hocket's run as its parent, if anybody knows of that.

    The environment's tracer, where it is not among hocket's handlers, has not been told of it, and would wait for it.
    """
    told = _told_of(run)
    is_known = bool(told) and (_has_tracer(told) or not tracing_is_enabled())
    manager = LCAsyncManager if is_async else LCManager
    return {"callbacks": manager([], parent_run_id=run.run_id if run is not None and is_known else None)}


@contextlib.contextmanager
def telling_once(run: LLMRun | None) -> Generator[None, None, None]:
    """Keep LangChain from telling of its run, if it is opened in the block, for handlers that have hocket's."""
    told = _told_of(run)
    if not told:
        yield
        return
    with contextlib.ExitStack() as stack:
        if _has_tracer(told):
            stack.enter_context(tracing_context(enabled=False))
            stack.enter_context(_without(lc_context.tracing_v2_callback_var))
        for variable, *_ in lc_context._configure_hooks:  # pyright: ignore[reportPrivateUsage]  # there is no other list
            if any(variable.get() is handler for handler in told):
                stack.enter_context(_without(variable))
        yield


def _told_of(run: LLMRun | None) -> Sequence[object]:
    return () if run is None else run.handlers


def _has_tracer(told: Sequence[object]) -> bool:
    return any(isinstance(handler, LangChainTracer) for handler in told)


@contextlib.contextmanager
def _without(variable: ContextVar[T | None]) -> Generator[None, None, None]:
    token = variable.set(None)
    try:
        yield
    finally:
        variable.reset(token)
