"""A tool is called with arguments or with a model's call, from sync and async code, and everything about its run is told."""

import asyncio
import contextvars
import dataclasses
import threading
from collections.abc import Callable
from typing import Annotated, Any, TypedDict
from uuid import uuid4

import anyio
import anyio.lowlevel
import pytest
from pydantic import BaseModel, TypeAdapter, ValidationError

from hocket import FakeListChatModel
from hocket.errors import InvalidHook, InvalidInput, RetryTool
from hocket.messages import ToolMessage
from hocket.runnables import RunnableConfig
from hocket.tools import (
    BaseTool,
    InjectedToolArg,
    InjectedToolCallId,
    StructuredTool,
    Tool,
    ToolException,
    convert_runnable_to_tool,
    render_text_description,
    render_text_description_and_args,
    tool,
)
from tests.kit import TOOL_EVENTS, AsyncRecorder, Event, Recorder


def call(name: str = "add", id: str | None = "1", **args: Any) -> Any:
    return {"type": "tool_call", "name": name, "args": args, "id": id}


def add_function() -> Callable[..., Any]:
    def add(a: int, b: int = 2) -> int:
        """Add."""
        return a + b

    return add


def aadd_function() -> Callable[..., Any]:
    async def add(a: int, b: int = 2) -> int:
        """Add."""
        await anyio.lowlevel.checkpoint()
        return a + b

    return add


class SyncAdd(BaseTool):
    name: str = "add"
    description: str = "Add."

    def _run(self, a: int, b: int = 2) -> int:
        return a + b


class AsyncAdd(BaseTool):
    name: str = "add"
    description: str = "Add."

    async def _arun(self, a: int, b: int = 2) -> int:
        await anyio.lowlevel.checkpoint()
        return a + b


def wrapped() -> Any:
    inner = aadd_function()
    return tool("add", description="Add.", args_schema=inner_schema())(lambda **kwargs: inner(**kwargs))


def inner_schema() -> Any:
    return {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a"]}


TOOLS: dict[str, Callable[[], BaseTool]] = {
    "sync function": lambda: tool(add_function()),
    "async function": lambda: tool(aadd_function()),
    "both": lambda: StructuredTool.from_function(add_function(), aadd_function()),
    "sync subclass": SyncAdd,
    "async subclass": AsyncAdd,
    "sync function that returns a coroutine": wrapped,
}
each_tool = pytest.mark.parametrize("made", TOOLS)


@each_tool
async def test_called_from_async_code(made: str) -> None:
    """Arguments give what it returned; a call gives a message with it."""
    one = TOOLS[made]()
    assert await one.ainvoke({"a": 1}) == 3
    assert await one.ainvoke(call(a=1, b=5)) == ToolMessage("6", name="add", tool_call_id="1")
    assert await one.arun({"a": 2}, tool_call_id="2") == ToolMessage("4", name="add", tool_call_id="2")
    assert await one.abatch([{"a": 1}, {"a": 2}]) == [3, 4]


@each_tool
def test_called_from_sync_code(made: str) -> None:
    """The sync verbs, whatever the tool is made of."""
    one = TOOLS[made]()
    assert one.invoke({"a": 1}) == 3
    assert one.invoke(call(a=1, b=5)) == ToolMessage("6", name="add", tool_call_id="1")
    assert one.run({"a": 2}) == 4
    assert one.batch([{"a": 1}, {"a": 2}]) == [3, 4]


async def test_a_sync_function_does_not_hold_up_the_loop() -> None:
    """It runs in a worker thread, with the caller's context variables; many at once; under a sync verb in the caller's."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    barrier = threading.Barrier(3, timeout=20)

    @tool
    def meet() -> tuple[str, int]:
        """Meet."""
        barrier.wait()
        return variable.get(), threading.get_ident()

    variable.set("seen")
    found: list[Any] = []

    async def go() -> None:
        found.append(await meet.ainvoke({}))

    async with anyio.create_task_group() as group:
        for _ in range(3):
            group.start_soon(go)
    assert {seen for seen, _ in found} == {"seen"}
    assert threading.get_ident() not in {thread for _, thread in found}


def test_a_sync_function_runs_in_the_callers_thread() -> None:
    """Under `invoke`; an async one sees the caller's context variables, too."""
    variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable")
    variable.set("seen")

    @tool
    def where() -> int:
        """Say where."""
        return threading.get_ident()

    @tool
    async def what() -> str:
        """Say what."""
        return variable.get()

    assert where.invoke({}) == threading.get_ident()
    assert what.invoke({}) == "seen"


# -- arguments


class Point(BaseModel):
    x: int


class Args(BaseModel):
    """Adds points."""

    point: Point
    times: int = 2


class Keys(TypedDict):
    point: Any
    times: int


@dataclasses.dataclass
class Data:
    point: Point
    times: int = 2


@pytest.mark.parametrize("schema", [None, Args, Data], ids=str)
def test_arguments_are_typed(schema: Any) -> None:
    """By the signature, by a model, by a dataclass: nested models are models, defaults are there, wrong values refused."""

    def scale(point: Point, times: int = 2) -> int:
        """Scale."""
        assert isinstance(point, Point)
        return point.x * times

    made = tool(args_schema=schema)(scale) if schema else tool(scale)
    assert made.invoke({"point": {"x": 3}}) == 6
    assert made.invoke({"point": Point(x=3), "times": "3"}) == 9
    with pytest.raises(ValidationError, match=r"point\.x"):
        made.invoke({"point": {"x": "far"}})


def test_arguments_of_a_typeddict_and_of_a_json_schema() -> None:
    """Both are checked; under the TypedDict, values are typed besides."""

    def scale(**given: Any) -> Any:
        """Scale."""
        return given

    keys = tool(args_schema=Keys)(scale)
    assert keys.invoke({"point": [1], "times": "2"}) == {"point": [1], "times": 2}
    with pytest.raises(ValidationError, match="times"):
        keys.invoke({"point": 1})
    schema = {"type": "object", "properties": {"x": {}}, "required": ["x"], "additionalProperties": False}
    by_schema = tool(args_schema=schema)(scale)
    assert by_schema.invoke({"x": "anything"}) == {"x": "anything"}
    with pytest.raises(ValidationError, match="x is missing"):
        by_schema.invoke({})
    with pytest.raises(ValidationError, match="y is not allowed"):
        by_schema.invoke({"x": 1, "y": 2})
    with pytest.raises(InvalidInput, match="with a JSON schema it takes a dict"):
        by_schema.invoke("text")


def test_a_text_is_the_first_argument() -> None:
    """For tools with one; others say what is missing."""
    assert SyncAdd().invoke("1") == 3

    @tool
    def nothing() -> str:
        """Do nothing."""
        return "done"

    assert nothing.invoke("") == "done"
    with pytest.raises(InvalidInput, match="was given list"):
        nothing.invoke(["x"])  # type: ignore[arg-type]


def test_a_tool_with_one_argument() -> None:
    """`Tool`: a text, or a dict with one value; more than one value is an error that it may handle."""
    shout = Tool("shout", str.upper, "Shout.")
    assert shout.args == {"tool_input": {"type": "string"}}
    assert [shout.invoke("a"), shout.invoke({"any": "b"}), shout.invoke({"__arg1": "c"})] == ["A", "B", "C"]
    with pytest.raises(ToolException, match="takes one argument, and was given 2"):
        shout.invoke({"a": "b", "c": "d"})
    plain = tool("plain", infer_schema=False)(add_function())
    assert (type(plain), plain.invoke({"x": 1})) == (Tool, 3)


def test_what_is_injected() -> None:
    """Given by whoever calls, kept from the model and from handlers; the id of a call comes with it."""
    recorder = Recorder("on_tool_start")

    @tool
    def ask(
        question: str, user: Annotated[object, InjectedToolArg], call_id: Annotated[str, InjectedToolCallId]
    ) -> list[Any]:
        """Ask."""
        return [question, user, call_id]

    user = object()
    config: RunnableConfig = {"callbacks": [recorder]}
    assert list(ask.args) == ["question"]
    assert ask.invoke(call("ask", question="q", user=user), config).content == str(["q", user, "1"])
    assert ask.run({"question": "q", "user": user}, tool_call_id="2", config=config, callbacks=None)
    seen = [(text, details["inputs"]) for _, (_, text), details in recorder.events]
    assert seen == [("{'question': 'q'}", {"question": "q"})] * 2
    with pytest.raises(InvalidInput, match="must be invoked with a full ToolCall"):
        ask.invoke({"question": "q", "user": user})
    with pytest.raises(ValidationError, match="user"):
        ask.invoke(call("ask", question="q"))


def test_what_is_injected_beside_a_schema() -> None:
    """A schema need not know of what only the function has."""
    for schema in (Args, inner_schema(), Data):

        def scale(
            user: Annotated[str, InjectedToolArg], id: Annotated[str, InjectedToolCallId], **given: Any
        ) -> list[Any]:
            """Scale."""
            return [user, id, sorted(given)]

        made = tool(args_schema=schema)(scale)
        args = {"a": 1} if isinstance(schema, dict) else {"point": {"x": 1}}
        names = ["a"] if isinstance(schema, dict) else ["point", "times"]
        assert made.invoke(call("scale", user="u", **args)).content == f'["u", "1", {names}]'.replace("'", '"')


# -- what comes back


@pytest.mark.parametrize(
    ("returned", "content"),
    [
        ("text", "text"),
        ({"a": [1, "ä"]}, '{"a": [1, "ä"]}'),
        (None, "null"),
        (Point(x=1), '{"x": 1}'),
        ([Point(x=1)], '[{"x": 1}]'),
        ([{"type": "text", "text": "a"}, "b"], [{"type": "text", "text": "a"}, "b"]),
        ([{"kind": "other"}], '[{"kind": "other"}]'),
        ((1, 2), "[1, 2]"),
        ({1, 2}, "{1, 2}"),
        (b"ab", "ab"),
    ],
    ids=str,
)
async def test_content_of_the_message(returned: Any, content: Any) -> None:
    """Text and content blocks as they are, data as JSON, anything else as its text."""

    @tool
    async def give() -> Any:
        """Give."""
        return returned

    assert (await give.ainvoke(call("give"))).content == content
    assert await give.ainvoke({}) is returned


async def test_content_and_artifact() -> None:
    """Both are in the message, the content alone is what arguments give; anything but a pair is an error."""

    @tool(response_format="content_and_artifact")
    async def search(found: bool) -> Any:
        """Search."""
        return ("one hit", {"hits": [1]}) if found else "none"

    message = await search.ainvoke(call("search", found=True))
    assert (message.content, message.artifact, message.status) == ("one hit", {"hits": [1]}, "success")
    assert await search.ainvoke({"found": True}) == "one hit"
    with pytest.raises(InvalidHook, match="must return a tuple of two"):
        await search.ainvoke({"found": False})


async def test_a_tool_that_answers_with_messages() -> None:
    """They come as they are."""
    own = ToolMessage("mine", tool_call_id="9", artifact=1)

    @tool
    async def give(many: bool) -> Any:
        """Give."""
        return [own, own] if many else own

    assert await give.ainvoke(call("give", many=False)) is own
    assert await give.ainvoke(call("give", many=True)) == [own, own]


# -- failures


@pytest.mark.parametrize(
    ("flag", "content"),
    [(True, "no luck"), ("try later", "try later"), (lambda error: f"<{error}>", "<no luck>")],
    ids=["True", "text", "function"],
)
async def test_a_tool_exception_that_is_handled(flag: Any, content: str) -> None:
    """Its text, another, or what a function makes of it; with a call, in a message that says error."""

    async def fail() -> None:
        """Fail."""
        raise ToolException("no luck")

    made = StructuredTool.from_function(coroutine=fail, handle_tool_error=flag)
    assert await made.ainvoke({}) == content
    message = await made.ainvoke(call("fail"))
    assert (message.content, message.status, message.tool_call_id) == (content, "error", "1")


async def test_errors_that_are_not_handled_are_raised() -> None:
    """As themselves: a tool exception without a flag, any other always, pydantic's own from inside the tool, too."""

    async def fail(how: str) -> None:
        """Fail."""
        if how == "tool":
            raise ToolException("no luck")
        if how == "pydantic":
            TypeAdapter(int).validate_python("x")
        raise KeyError(how)

    plain = tool(fail)
    flags: dict[str, Any] = {"handle_tool_error": True, "handle_validation_error": True}
    flagged = StructuredTool.from_function(coroutine=fail, **flags)
    with pytest.raises(ToolException, match="no luck"):
        await plain.ainvoke(call("fail", how="tool"))
    with pytest.raises(KeyError):
        await flagged.ainvoke({"how": "other"})
    with pytest.raises(ValidationError):
        await flagged.ainvoke({"how": "pydantic"})


@pytest.mark.parametrize(
    ("flag", "content"),
    [
        (True, "Tool input validation error:\na: Input should be a valid integer, unable to parse string as an integer; "
         "given was 'x'\nCall add again with arguments that fit."),
        ("wrong", "wrong"),
        (lambda error: f"{error.error_count()} error", "1 error"),
    ],
    ids=["True", "text", "function"],
)  # fmt: skip
def test_invalid_arguments_that_are_handled(flag: Any, content: str) -> None:
    """Explained, or whatever the flag makes of it."""
    made = StructuredTool.from_function(add_function(), handle_validation_error=flag)
    assert made.invoke({"a": "x"}) == content
    message = made.invoke(call(a="x"))
    assert (message.content, message.status) == (content, "error")


async def test_a_retry_is_told_to_whoever_called() -> None:
    """Without any flag: the model that called hears of it; where there is no call, it is raised."""

    @tool
    async def say(word: str) -> str:
        """Say."""
        raise RetryTool("say it differently")

    message = await say.ainvoke(call("say", word="x"))
    assert (message.content, message.status) == ("say it differently", "error")
    with pytest.raises(RetryTool):
        await say.ainvoke({"word": "x"})


# -- what is told


def listen() -> AsyncRecorder:
    """Make a handler that records the runs of tools, and the starts of models."""
    return AsyncRecorder(*TOOL_EVENTS, "on_chat_model_start")


@pytest.mark.parametrize("is_sync", [False, True])
async def test_a_run_is_told(is_sync: bool) -> None:
    """Start and end, with ids, tags and metadata of call and tool, the name, the arguments and the id of the call."""
    log, own, run_id = listen(), listen(), uuid4()
    function: Any = {"func": add_function()} if is_sync else {"coroutine": aadd_function()}
    made = StructuredTool.from_function(**function, callbacks=[own], tags=["own"], metadata={"m": 1})
    config: RunnableConfig = {
        "callbacks": [log],
        "tags": ["call"],
        "metadata": {"n": 2},
        "run_id": run_id,
        "run_name": "sum",
    }
    await made.ainvoke(call(a=1), config)
    for events in (log.events, own.events):
        (_, (serialized, text), start), (kind, (output,), end) = events
        assert (serialized, text) == ({"name": "add", "description": "Add."}, "{'a': 1}")
        assert (start["run_id"], start["parent_run_id"], end["run_id"]) == (run_id, None, run_id)
        assert (start["tags"], start["metadata"]) == (["call", "own"], {"m": 1, "n": 2})
        assert (start["name"], start["inputs"], start["tool_call_id"]) == ("sum", {"a": 1}, "1")
        assert (kind, output.content) == ("on_tool_end", "3")


def test_handlers_cannot_change_a_run() -> None:
    """What they are told of is a copy: neither the arguments nor the message can be rewritten."""

    def spoil(event: Event) -> None:
        if event.name == "on_tool_start":
            event.details["inputs"]["words"].append("spoilt")
        else:
            event.args[0].content = "spoilt"

    @tool
    def join(words: list[str]) -> str:
        """Join."""
        return " ".join(words)

    spoiler = Recorder("on_tool_start", "on_tool_end", do=spoil)
    assert join.invoke(call("join", words=["a"]), {"callbacks": [spoiler]}).content == "a"
    assert spoiler.only("on_tool_end").args[0].content == "spoilt", "its own copy"


def test_a_sync_run_is_told() -> None:
    """Async handlers hear of sync runs, too."""
    log = listen()
    tool(add_function()).invoke({"a": 1}, {"callbacks": [log]})
    assert log.names == ["on_tool_start", "on_tool_end"]


async def test_a_failure_is_told_once() -> None:
    """An error, invalid arguments and a cancellation end the run with the error."""
    log = listen()

    @tool
    async def fail(how: int) -> None:
        """Fail."""
        if how:
            raise KeyError(how)
        await anyio.sleep_forever()

    config: RunnableConfig = {"callbacks": [log]}
    with pytest.raises(KeyError):
        await fail.ainvoke({"how": 1}, config)
    with pytest.raises(ValidationError):
        await fail.ainvoke({}, config)
    with anyio.move_on_after(0.05):
        await fail.ainvoke({"how": 0}, config)
    assert log.names == ["on_tool_start", "on_tool_error"] * 3
    assert [type(error) for error in log.firsts("on_tool_error")][:2] == [KeyError, ValidationError]


@pytest.mark.parametrize("how", ["config", "context", "callbacks", "run_manager"])
@pytest.mark.parametrize("is_sync", [False, True])
async def test_what_runs_inside_is_a_child(is_sync: bool, how: str) -> None:
    """A model called in a tool: by the config, by nothing but the context, or by what is filled by name."""
    model = FakeListChatModel(responses=["a"])

    async def ask(question: str, config: RunnableConfig, callbacks: Any = None, run_manager: Any = None) -> Any:
        """Ask."""
        return (await model.ainvoke(question, given(config, callbacks, run_manager))).content

    def ask_sync(question: str, config: RunnableConfig, callbacks: Any = None, run_manager: Any = None) -> Any:
        """Ask."""
        return model.invoke(question, given(config, callbacks, run_manager)).content

    def given(config: RunnableConfig, callbacks: Any, run_manager: Any) -> Any:
        children = {"config": config, "callbacks": {"callbacks": callbacks}, "context": None}
        return children[how] if how in children else {"callbacks": run_manager.get_child()}

    log = listen()
    made = tool(ask_sync if is_sync else ask)
    assert list(made.args) == ["question"]
    config: RunnableConfig = {"callbacks": [log], "run_id": uuid4(), "run_name": "outer", "tags": ["t"]}
    assert await made.ainvoke({"question": "q"}, config) == "a"
    start, model_start, _ = log.events
    assert model_start.details["parent_run_id"] == start.details["run_id"] == config["run_id"]
    assert model_start.details["tags"] == ["t"]
    assert await made.ainvoke({"question": "q"}) == "a"


def test_a_subclass_of_a_structured_tool() -> None:
    """It may wrap the function; what hocket fills reaches both."""

    class Loud(StructuredTool):
        def _run(self, *args: Any, config: RunnableConfig, run_manager: Any = None, **kwargs: Any) -> Any:
            return f"{super()._run(*args, config=config, run_manager=run_manager, **kwargs)}!"

    def greet(name: str, config: RunnableConfig) -> str:
        """Greet."""
        return f"hello {name} {config['configurable']['user']}"

    made = Loud.from_function(greet)
    assert made.invoke({"name": "you"}, {"configurable": {"user": "me"}}) == "hello you me!"


# -- making tools


def test_a_name_may_be_given_by_its_keyword() -> None:
    """As by position, for a function, a runnable and a tool of one text; two names are refused."""
    inner = tool(aadd_function())
    for made in (
        tool(name="sum")(add_function()),
        tool(add_function(), name="sum"),
        tool("sum", name="sum")(add_function()),
        tool(name="sum", infer_schema=False)(add_function()),
        tool(None, inner, name="sum", description="Sum.", args_schema=inner_schema()),  # type: ignore[call-overload]
    ):
        assert made.name == "sum"
    with pytest.raises(InvalidInput, match="two names, 'plus' and 'sum'"):
        tool("plus", name="sum")
    with pytest.raises(InvalidInput, match=r"tool\('name', runnable\)"):
        tool(add_function(), inner, name="sum")  # type: ignore[call-overload]


def test_names_and_descriptions() -> None:
    """From the function, from what is said, from the schema; what cannot be is refused with the way out."""
    made = tool("sum", description="Other.", return_direct=True, extras={"cache": 1})(add_function())
    assert (made.name, made.description, made.return_direct, made.extras) == ("sum", "Other.", True, {"cache": 1})
    undocumented: Any = lambda a: a  # noqa: E731
    assert tool("f", args_schema=Args)(undocumented).description == "Adds points."
    with pytest.raises(InvalidInput, match="f has no description"):
        tool("f")(undocumented)
    with pytest.raises(InvalidInput, match="a lambda has no name"):
        tool(undocumented)
    with pytest.raises(InvalidInput, match="is a method, and needs an object"):
        tool(SyncAdd._run)
    with pytest.raises(ValidationError, match="'a b' will not do as a tool's name"):
        tool("a b")(add_function())
    with pytest.raises(ValidationError, match="args_schema is 5"):
        StructuredTool(name="x", args_schema=5, func=print)  # type: ignore[arg-type]
    with pytest.raises(InvalidHook, match="can do nothing"):
        StructuredTool(name="x")
    with pytest.raises(ValidationError, match="return_directly"):
        StructuredTool.from_function(add_function(), return_directly=True)


GOOGLE = """Add numbers.

Both of them.

Args:
    a: the first,
        on two lines
    b (int): the second
"""
NUMPY = """Add numbers.

Both of them.

Parameters
----------
a : int
    the first,
    on two lines
b
    the second
"""
SPHINX = """Add numbers.

Both of them.

:param a: the first,
    on two lines
:param b: the second
"""


@pytest.mark.parametrize("text", [GOOGLE, NUMPY, SPHINX], ids=["Google", "NumPy", "Sphinx"])
def test_docstrings_are_parsed(text: str) -> None:
    """In three styles; unasked, the model sees the docstring as it is."""
    add = add_function()
    add.__doc__ = text
    made = tool(parse_docstring=True)(add)
    assert made.description == "Add numbers.\n\nBoth of them."
    assert [one["description"] for one in made.args.values()] == ["the first, on two lines", "the second"]
    assert tool(add).description == text.strip()
    assert "description" not in tool(add).args["a"]


def test_docstrings_that_will_not_do() -> None:
    """One that speaks of strangers never; one that says nothing of the parameters only if nobody minds."""
    add = add_function()
    with pytest.raises(InvalidInput, match="describes none of its parameters"):
        tool(parse_docstring=True)(add)
    assert tool(parse_docstring=True, error_on_invalid_docstring=False)(add).description == "Add."
    add.__doc__ = GOOGLE.replace("b (int)", "c")
    with pytest.raises(InvalidInput, match="describes 'c', which its signature does not have; it has: 'a', 'b'"):
        tool(parse_docstring=True)(add)


def test_a_bound_method_and_a_callable_object() -> None:
    """Whatever can be called can be a tool."""

    class Counter:
        """Counts."""

        def __init__(self) -> None:
            self.total = 0

        def count(self, by: int) -> int:
            """Count."""
            self.total += by
            return self.total

        __call__ = count

    counter = Counter()
    made = StructuredTool.from_function(counter.count)
    assert (made.name, made.invoke({"by": 2})) == ("count", 2)
    called = StructuredTool.from_function(counter, name="counter")
    assert (called.description, called.invoke({"by": 2})) == ("Count.", 4)


async def test_a_runnable_becomes_a_tool() -> None:
    """A chain that a model may call; its runs are inside the tool's."""
    inner = tool(aadd_function())
    for made in (
        convert_runnable_to_tool(inner, name="plus", arg_types={"a": int, "b": int}),
        tool("plus", inner, args_schema=inner_schema(), description="Add."),
    ):
        log = listen()
        assert made.name == "plus"
        assert await made.ainvoke({"a": 1, "b": 3}, {"callbacks": [log]}) == 4
        outer, child = (event.details for event in log.named("on_tool_start"))
        assert child["parent_run_id"] == outer["run_id"]


def test_tools_as_text() -> None:
    """For prompts of models that know no tools."""
    add = tool(add_function())
    assert render_text_description([add]) == "add(a: int, b: int = 2) -> int - Add."
    assert render_text_description_and_args([add]).endswith(
        "Add., args: {'a': {'type': 'integer'}, 'b': {'default': 2, 'type': 'integer'}}"
    )


def test_an_async_tool_in_a_running_loop() -> None:
    """A sync verb inside a running loop works, and says that it holds it up."""

    async def main() -> int:
        with pytest.warns(UserWarning, match="holds up the event loop"):
            result: int = tool(aadd_function()).invoke({"a": 1})
        return result

    assert asyncio.run(main()) == 3
