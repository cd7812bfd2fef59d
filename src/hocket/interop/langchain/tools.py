"""Tools, to LangChain's and back.

Either way the library that calls the tool tells of it and handles its errors, by the tool's own flags; the other one only
does the work, and raises what goes wrong. So a call is one run, and an error is answered once.
"""

import asyncio
import contextlib
from collections.abc import Callable, Generator
from contextvars import ContextVar
from typing import Any, Literal, TypeVar, cast

from langchain_core.callbacks import AsyncCallbackManagerForToolRun as LCAsyncRun, CallbackManagerForToolRun as LCRun
from langchain_core.messages import ToolMessage as LCToolMessage
from langchain_core.runnables import RunnableConfig as LCRunnableConfig
from langchain_core.tools import (
    BaseTool as LCBaseTool,
    InjectedToolCallId as LCInjectedToolCallId,
    ToolException as LCToolException,
)
from langchain_core.utils.function_calling import convert_to_openai_tool as lc_convert_to_openai_tool
from pydantic import BaseModel, SkipValidation

from hocket._runtime.mode import ASYNC
from hocket.callbacks import AsyncCallbackManager
from hocket.errors import ToolException
from hocket.interop.langchain.config import config_to_langchain
from hocket.interop.langchain.handlers import manager_from_langchain
from hocket.interop.langchain.messages import message_from_langchain, message_to_langchain
from hocket.messages import ToolMessage
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import RunnableConfig
from hocket.tools import BaseTool

__all__ = ["HocketTool", "LangChainTool", "tool_from_langchain", "tool_to_langchain"]

_RAISING = {"handle_tool_error": False, "handle_validation_error": False}
_ARTIFACT: Literal["content_and_artifact"] = "content_and_artifact"
_CALL_ID = "bridge"  # of the call by which a tool's artifact is had, if it was called without an id
_ID = "hocket_tool_call_id"  # among the arguments of a hook, the id of the call

Input = dict[str, Any]
"""The arguments of a tool, or a call of it, as either library takes it."""

R = TypeVar("R")

_call_id: ContextVar[str | None] = ContextVar("_call_id", default=None)


class HocketTool(LCBaseTool):
    """A tool of hocket's in LangChain. Made by `to_langchain`."""

    hocket_tool: SkipValidation[BaseTool]
    original: SkipValidation[BaseTool]

    async def arun(self, *args: object, tool_call_id: str | None = None, **options: object) -> object:
        """Run the tool."""
        with _keep_call_id(tool_call_id):
            return await _freely(super().arun)(*args, tool_call_id=tool_call_id, **options)

    def run(self, *args: object, tool_call_id: str | None = None, **options: object) -> object:
        """Run the tool."""
        with _keep_call_id(tool_call_id):
            return _freely(super().run)(*args, tool_call_id=tool_call_id, **options)

    async def _arun(self, *args: object, run_manager: LCAsyncRun | None = None, **kwargs: object) -> object:
        try:
            given = self._write_call(kwargs)
            return _unpack_for_langchain(self, await self.hocket_tool.ainvoke(given, _inside(run_manager)))
        except ToolException as error:
            raise LCToolException(*error.args) from error

    def _run(self, *args: object, run_manager: LCRun | None = None, **kwargs: object) -> object:
        try:
            given = self._write_call(kwargs)
            return _unpack_for_langchain(self, self.hocket_tool.invoke(given, _inside(run_manager)))
        except ToolException as error:
            raise LCToolException(*error.args) from error

    def _write_call(self, arguments: Fields) -> Input:
        return _write_call(self, arguments, _call_id.get(), takes_id=bool(self.hocket_tool.arguments.call_ids))


class LangChainTool(BaseTool):
    """A tool of LangChain's in hocket. Made by `from_langchain`."""

    langchain_tool: SkipValidation[LCBaseTool]
    original: SkipValidation[LCBaseTool]

    def read_arguments(self, given: object, call_id: str | None) -> dict[str, object]:
        """Return the arguments of the hook, by name, and the id of the call."""
        return {**super().read_arguments(given, call_id), _ID: call_id}

    def _read_text(self, text: str) -> dict[str, object]:
        """Return a text as the only argument, as LangChain does."""
        schema = self.args_schema
        names = [*schema.get("properties", {})] if isinstance(schema, dict) else []
        return {names[0]: text} if len(names) == 1 else super()._read_text(text)

    async def _arun(self, *, config: RunnableConfig, **kwargs: object) -> object:
        if not _runs_asyncio():
            return await ASYNC.call_sync(self._run, config=config, **kwargs)
        try:
            given = self._write_call(kwargs)
            return _unpack_for_hocket(self, await self.langchain_tool.ainvoke(given, _around(config)))
        except LCToolException as error:
            raise ToolException(*error.args) from error

    def _run(self, *, config: RunnableConfig, **kwargs: object) -> object:
        try:
            return _unpack_for_hocket(self, self.langchain_tool.invoke(self._write_call(kwargs), _around(config)))
        except LCToolException as error:
            raise ToolException(*error.args) from error

    def _write_call(self, arguments: Fields) -> Input:
        rest = {name: value for name, value in arguments.items() if name != _ID}
        return _write_call(self, rest, arguments[_ID], takes_id=_takes_call_id(self.langchain_tool))


def tool_to_langchain(tool: BaseTool) -> HocketTool:
    """Return a tool of hocket's as LangChain's, with its schema and its flags."""
    return HocketTool(
        hocket_tool=tool.model_copy(update=_RAISING),
        original=tool,
        name=tool.name,
        description=tool.description,
        args_schema=tool.tool_call_schema,
        return_direct=tool.return_direct,
        response_format=tool.response_format,
        handle_tool_error=_handle(tool.handle_tool_error),
        handle_validation_error=cast(Any, tool.handle_validation_error or False),
        tags=tool.tags,
        metadata=tool.metadata,
    )


def tool_from_langchain(tool: LCBaseTool) -> BaseTool:
    """Return a tool of LangChain's as hocket's, with its schema and its flags."""
    if isinstance(tool, HocketTool):
        return tool.original
    function: Fields = lc_convert_to_openai_tool(tool)["function"]
    return LangChainTool(
        langchain_tool=tool.model_copy(update=_RAISING),
        original=tool,
        name=tool.name,
        description=tool.description,
        args_schema={"title": tool.name, "type": "object", "properties": {}, **function.get("parameters", {})},
        return_direct=tool.return_direct,
        response_format=tool.response_format,
        handle_tool_error=_handle(tool.handle_tool_error),
        handle_validation_error=cast(Any, tool.handle_validation_error or False),
        tags=tool.tags,
        metadata=tool.metadata,
    )


def _handle(flag: Any) -> Any:
    """Return what answers an error: a function of the user's gets the exception of its own library."""
    if not callable(flag):
        return flag or False

    def answer(error: BaseException) -> object:
        return cast("Callable[[BaseException], object]", flag)(error.__cause__ or error)

    return answer


def _freely(verb: Callable[..., R]) -> Callable[..., R]:
    """Return a verb that takes whatever LangChain gives it."""
    return verb


@contextlib.contextmanager
def _keep_call_id(call_id: str | None) -> Generator[None, None, None]:
    """Let a tool's hook know the id of the call: LangChain hands it to functions alone."""
    token = _call_id.set(call_id)
    try:
        yield
    finally:
        _call_id.reset(token)


def _takes_call_id(tool: LCBaseTool) -> bool:
    """Whether LangChain gives a tool the id of its call."""
    schema = tool.args_schema
    fields = schema.model_fields.values() if isinstance(schema, type) and issubclass(schema, BaseModel) else ()
    marks = [mark for field in fields for mark in field.metadata]
    return any(mark is LCInjectedToolCallId or isinstance(mark, LCInjectedToolCallId) for mark in marks)


def _write_call(tool: HocketTool | LangChainTool, arguments: FieldsView, call_id: object, *, takes_id: bool) -> Input:
    """Return the input of the other library's tool: a call, where that matters, or else the arguments.

    It does where there may be an artifact, or where the tool takes the call's id.
    """
    if tool.response_format != _ARTIFACT and not (takes_id and call_id is not None):
        return {**arguments}
    return {"type": "tool_call", "name": tool.name, "args": {**arguments}, "id": call_id or _CALL_ID}


def _unpack_for_langchain(tool: HocketTool, result: object) -> object:
    """Return what a hook of LangChain's returns: content and artifact, where there may be one, or else the result."""
    if not isinstance(result, ToolMessage):
        return result
    return (result.content, result.artifact) if tool.response_format == _ARTIFACT else message_to_langchain(result)


def _unpack_for_hocket(tool: LangChainTool, result: object) -> object:
    """Return what a hook of hocket's returns: content and artifact, where there may be one, or else the result."""
    message = message_from_langchain(result) if isinstance(result, LCToolMessage) else result
    if tool.response_format == _ARTIFACT and isinstance(message, ToolMessage):
        return message.content, message.artifact
    return message


def _inside(run: LCAsyncRun | LCRun | None) -> RunnableConfig | None:
    """Return the config of hocket's run of a tool: it stands for LangChain's, whose handlers hear of what runs inside."""
    if run is None:
        return None
    child = manager_from_langchain(run.get_child())
    manager = AsyncCallbackManager([], child.handlers, tags=child.tags, metadata=child.metadata)
    return {"callbacks": manager, "run_id": run.run_id}


def _around(config: RunnableConfig) -> LCRunnableConfig:
    """Return the config of LangChain's run of a tool, which stands for hocket's, whose handlers hear of what runs inside."""
    given = config_to_langchain(config)
    callbacks = given.get("callbacks")
    if callbacks is not None and not isinstance(callbacks, list):
        callbacks.handlers = []
        given["run_id"] = callbacks.parent_run_id
        callbacks.parent_run_id = None
    return given


def _runs_asyncio() -> bool:
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
