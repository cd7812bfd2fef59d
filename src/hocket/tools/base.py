"""The tool: something that a model may ask to have run, with a name, a description and a schema of its arguments."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Literal, NamedTuple, TypeVar, cast
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field, SkipValidation, ValidationError, field_validator

from hocket._runtime.definitions import find_newest
from hocket._runtime.mode import ASYNC, BLOCKING, drive
from hocket._schemas.references import as_object
from hocket.callbacks.base_manager import Callbacks
from hocket.errors import InvalidHook, InvalidInput, ToolException
from hocket.messages import ToolCall
from hocket.runnables import RunnableConfig, RunnableSerializable, ensure_config
from hocket.tools.arguments import ArgsSchema, Arguments, make_arguments
from hocket.tools.inferred import create_schema_from_function
from hocket.tools.json_schema import simplify_schema
from hocket.tools.names import check_name
from hocket.tools.run import Job, run_tool
from hocket.tools.runtime import Runtime
from hocket.tools.signature import read_signature

__all__ = ["BaseTool", "BaseToolkit", "choose_hook"]

ToolInput = str | dict[str, Any] | ToolCall
"""What a tool is called with: its arguments, a text for the only one, or a call of a model's message."""

T = TypeVar("T")

_MEMO = "_remembered_of_schema"  # beside the fields, where it plays no part when tools are compared


class _SchemaMemo(NamedTuple):
    """What was computed of a schema, and the fields that it was computed from."""

    name: str
    description: str
    schema: object
    computed: dict[str, Any]


class BaseTool(RunnableSerializable[ToolInput, Any], ABC):
    """Something that a model may ask to have run. Subclass it and define ``_arun`` (async) or ``_run`` (sync), or both.

    Called with a `ToolCall`, a tool answers with a `ToolMessage`; called with arguments, with what it returned. Its
    arguments are checked by ``args_schema``, or else by the signature of the hook; a hook may have a parameter of type
    `RunnableConfig`, and ones named ``run_manager`` and ``callbacks``, which are filled for it.

    Args:
        name: 1 to 64 of ``A-Z a-z 0-9 _ -``, as providers demand.
        description: what it does and when to use it, for the model.
        args_schema: a pydantic model class, a TypedDict, a dataclass, or a JSON schema of an object, whose values
            are checked, and passed on unchanged.
        return_direct: whether an agent is to end with the tool's result.
        callbacks, tags, metadata: of every run.
        verbose: print what happens to standard output.
        handle_tool_error: what becomes of a `ToolException`. False: it is raised. True: its text is the result; a text: that
            is; a function: what it makes of the exception is. The message then has the status "error".
        handle_validation_error: the same, for arguments that do not fit the schema. True: it is a text
            that explains what does not fit.
        response_format: "content", or "content_and_artifact" if the hook returns both, as a tuple.
        timeout: seconds that a call may take under an event loop; None: as long as the caller allows; ``math.inf``: as
            long as it takes. A thread cannot be stopped: a sync hook is left behind, and under `invoke` it has no limit.
        extras: further fields of the tool for a provider.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", arbitrary_types_allowed=True)

    name: str  # pyright: ignore[reportIncompatibleVariableOverride, reportGeneralTypeIssues]
    description: str
    args_schema: SkipValidation[ArgsSchema | None] = None
    return_direct: bool = False
    verbose: bool = False
    callbacks: SkipValidation[Callbacks] = Field(default=None, exclude=True)
    tags: list[str] | None = None
    metadata: dict[str, Any] | None = None
    handle_tool_error: bool | str | Callable[[ToolException], str | Sequence[str | dict[str, Any]]] | None = False
    handle_validation_error: bool | str | Callable[[ValidationError], str] | None = False
    response_format: Literal["content", "content_and_artifact"] = "content"
    timeout: float | None = Field(default=None, gt=0)
    extras: dict[str, Any] | None = None

    @field_validator("name")
    @classmethod
    def _check_name(cls, name: str) -> str:
        return check_name(name)

    def model_post_init(self, context: object, /) -> None:
        """Refuse a tool that cannot be run, or whose schema is none."""
        super().model_post_init(context)
        self.choose_function(True)
        if self.args_schema is not None:
            _ = self.arguments

    # -- what it takes

    @property
    def arguments(self) -> Arguments:
        """What reads and checks the tool's arguments."""
        return self.memoize("arguments", self._make_arguments)

    def _make_arguments(self) -> Arguments:
        function = self._get_signature_source()
        schema = create_schema_from_function(self.name, function) if self.args_schema is None else self.args_schema
        return make_arguments(schema, read_signature(function).parameters)

    @property
    def args(self) -> dict[str, Any]:
        """The JSON schemas of the arguments that the model sees, by name."""
        return dict(as_object(self.tool_call_schema.get("properties")))

    @property
    def tool_call_schema(self) -> dict[str, Any]:
        """The JSON schema of a call, as the model sees it. A copy."""
        schema = self.memoize("schema", lambda: simplify_schema(self.arguments.json_schema))
        return {**simplify_schema(schema), "title": self.name, "description": self.description}

    @property
    def required_injected(self) -> frozenset[str]:
        """The names of injected arguments that the application has to give."""
        return self.arguments.required_injected

    @property
    def is_single_input(self) -> bool:
        """Whether there is exactly one argument that the model sees."""
        return len(self.arguments.visible) == 1

    def get_input_schema(self, config: RunnableConfig | None = None) -> type[BaseModel]:
        """Return the pydantic model that arguments are checked by, what is injected included."""
        from hocket.runnables.type_schemas import make_schema

        schema = self.arguments.schema
        return make_schema(self.get_name("Input"), dict[str, Any] if isinstance(schema, Mapping) else schema)

    def get_input_jsonschema(self, config: RunnableConfig | None = None) -> dict[str, Any]:
        """Return the JSON schema that arguments are checked by."""
        return dict(self.arguments.json_schema)

    def memoize(self, what: str, make: Callable[[], T]) -> T:
        """Return what was computed from the fields that the schema depends on, computed again when one was set."""
        fields: Any = self.__dict__
        name, description, schema = fields["name"], fields["description"], fields["args_schema"]
        memo: _SchemaMemo | None = fields.get(_MEMO)
        if memo is None or memo.name is not name or memo.description is not description or memo.schema is not schema:
            memo = fields[_MEMO] = _SchemaMemo(name, description, schema, {})
        computed: dict[str, T] = memo.computed  # each key has its own type
        if what not in computed:
            computed[what] = make()
        return computed[what]

    def __getstate__(self) -> Any:
        state = super().__getstate__()
        return {**state, "__dict__": {name: value for name, value in state["__dict__"].items() if name != _MEMO}}

    # -- hooks

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        """Do it, in sync code. The arguments are those of the schema."""
        raise NotImplementedError

    async def _arun(self, *args: Any, **kwargs: Any) -> Any:
        """Do it. By default `_run`, in a worker thread."""
        return await ASYNC.call_sync(self._run, *args, **kwargs)

    def choose_function(self, prefer_async: bool) -> Callable[..., object]:
        """Return what is called: the hook of the preferred kind, if there is one, else the other.

        Raises:
            InvalidHook: there is none.
        """
        own = find_newest(type(self), BaseTool, "_arun", "_run")
        return choose_hook(
            self, [self._arun if "_arun" in own else None, self._run if "_run" in own else None], prefer_async
        )

    def _get_signature_source(self) -> Callable[..., object]:
        """Return the function whose signature says what the tool takes."""
        return self.choose_function(True)

    # -- verbs

    async def ainvoke(self, input: ToolInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tool.

        Args:
            input: its arguments; a text, if there is only one; or the `ToolCall` of a model's message.
            config: callbacks, tags, metadata, run_name and run_id of the run.
            kwargs: passed to handlers.

        Returns:
            what the tool returned; for a `ToolCall`, a `ToolMessage` with it.

        Raises:
            pydantic.ValidationError: the arguments do not fit the schema; see ``handle_validation_error``.
            InvalidInput: the tool needs the id of a call, and was not called with one.
            Exception: what the tool raised; for a `ToolException`, see ``handle_tool_error``.
        """
        return await run_tool(self, ASYNC, _make_job(input, config, kwargs))

    def invoke(self, input: ToolInput, config: RunnableConfig | None = None, **kwargs: Any) -> Any:
        """Run the tool: the sync face of `ainvoke`. A sync hook runs in this thread."""
        return drive(run_tool(self, BLOCKING, _make_job(input, config, kwargs)))

    async def arun(
        self,
        tool_input: str | dict[str, Any],
        verbose: bool | None = None,
        callbacks: Callbacks = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        config: RunnableConfig | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the tool as `ainvoke` does, with the parts of the config one by one, and the id of the call (LangChain's)."""
        parts = {"callbacks": callbacks, "tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
        return await run_tool(self, ASYNC, _make_job_of_parts(tool_input, verbose, config, parts, tool_call_id, kwargs))

    def run(
        self,
        tool_input: str | dict[str, Any],
        verbose: bool | None = None,
        callbacks: Callbacks = None,
        *,
        tags: list[str] | None = None,
        metadata: dict[str, Any] | None = None,
        run_name: str | None = None,
        run_id: UUID | None = None,
        config: RunnableConfig | None = None,
        tool_call_id: str | None = None,
        **kwargs: Any,
    ) -> Any:
        """Run the tool: the sync face of `arun`."""
        parts = {"callbacks": callbacks, "tags": tags, "metadata": metadata, "run_name": run_name, "run_id": run_id}
        return drive(
            run_tool(self, BLOCKING, _make_job_of_parts(tool_input, verbose, config, parts, tool_call_id, kwargs))
        )

    def read_arguments(self, given: object, call_id: str | None) -> dict[str, object]:
        """Return the arguments of the hook, by name.

        Raises:
            ValidationError: they do not fit the schema.
            InvalidInput: the id of the call or a `Runtime` is needed, and there is none; or they are neither a text nor a
                dict.
        """
        arguments = self.arguments
        if isinstance(given, str):
            values = self._read_text(given)
        elif isinstance(given, dict):
            values = cast("dict[str, object]", given)
        else:
            raise InvalidInput(f"{self.name} was given {type(given).__name__}; it takes a dict of arguments, or a text")
        if call_id is not None:
            values = arguments.drop_nulls(values)
        for name in arguments.call_ids:
            if call_id is not None:
                values = {**values, name: call_id}
            elif name not in values:
                raise InvalidInput(
                    f"{self.name} takes an InjectedToolCallId ({name!r}): it must be invoked with a full ToolCall, "
                    "{'type': 'tool_call', 'name': ..., 'args': {...}, 'id': '...'}"
                )
        for name in arguments.runtimes:
            if not isinstance(values.get(name), Runtime) and (name in values or name in arguments.required_runtimes):
                raise InvalidInput(
                    f"{self.name} takes a Runtime ({name!r}): an agent gives it; elsewhere it is an argument, "
                    f"{{{name!r}: Runtime(context=...)}}, or arun_tool_calls(..., context=...) makes it"
                )
        return arguments.read(values)

    def _read_text(self, text: str) -> dict[str, object]:
        """Return a text as the first argument."""
        visible = self.arguments.visible
        if isinstance(self.args_schema, dict):
            raise InvalidInput(f"{self.name} was given a text; with a JSON schema it takes a dict of arguments")
        return {visible[0]: text} if visible else {}


class BaseToolkit(ABC):
    """A collection of tools that belong together."""

    @abstractmethod
    def get_tools(self) -> list[BaseTool]:
        """Return the tools."""


def choose_hook(
    tool: BaseTool, hooks: Sequence[Callable[..., object] | None], prefer_async: bool
) -> Callable[..., object]:
    """Return the preferred one of an async and a sync hook, or else the other.

    Raises:
        InvalidHook: there is neither.
    """
    found = [hook for hook in (hooks if prefer_async else hooks[::-1]) if hook is not None]
    if not found:
        raise InvalidHook(
            f"{type(tool).__name__} {tool.name!r} can do nothing: define _arun or _run, or give a function"
        )
    return found[0]


def _make_job(input: ToolInput, config: RunnableConfig | None, details: dict[str, object]) -> Job:
    if isinstance(input, dict) and input.get("type") == "tool_call":
        call = cast(ToolCall, input)
        return Job(call["args"], call["id"], ensure_config(config), details=details)
    return Job(input, None, ensure_config(config), details=details)


def _make_job_of_parts(
    tool_input: str | Mapping[str, object],
    verbose: bool | None,
    config: RunnableConfig | None,
    parts: Mapping[str, object],
    call_id: str | None,
    details: dict[str, object],
) -> Job:
    named = {key: value for key, value in parts.items() if value is not None}
    merged = ensure_config({**ensure_config(config), **named})
    return Job(tool_input, call_id, merged, verbose=bool(verbose), details=details)
