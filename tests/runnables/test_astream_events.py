"""`astream_events`: what is told, to whom, and that telling changes nothing."""

from collections.abc import AsyncIterator
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from hocket import FakeListChatModel, FakeListLLM, ScriptedChatModel, Turn
from hocket.callbacks import adispatch_custom_event
from hocket.errors import InvalidInput
from hocket.runnables import EventStream, RunnableLambda, RunnableParallel, RunnablePassthrough, add
from hocket.runnables.with_run import PureRunnable


class Text(PureRunnable[Any, str]):
    """A parser."""

    _run_type = "parser"

    async def _compute(self, mode: Any, input: Any) -> str:
        return str(input.content)

    def _incremental(self) -> Any:
        return self

    def feed(self, piece: Any) -> list[str]:
        return [piece.content]

    def close(self) -> list[str]:
        return []


async def shout(text: str) -> str:
    return text.upper()


async def told(stream: EventStream[Any]) -> list[tuple[str, str]]:
    return [(event["event"], event["name"]) async for event in stream]


async def test_every_start_piece_and_end_is_told() -> None:
    """In langchain-core's order, with its names; a chain's first piece is told before its consumer could have it."""
    chain = FakeListChatModel(responses=["ab"]) | Text() | shout
    assert await told(chain.astream_events("hi")) == [
        ("on_chain_start", "RunnableSequence"),
        ("on_chat_model_start", "FakeListChatModel"),
        ("on_chat_model_stream", "FakeListChatModel"),
        ("on_parser_start", "Text"),
        ("on_parser_stream", "Text"),
        ("on_chain_start", "shout"),
        ("on_chat_model_stream", "FakeListChatModel"),
        ("on_parser_stream", "Text"),
        ("on_chat_model_end", "FakeListChatModel"),
        ("on_parser_end", "Text"),
        ("on_chain_stream", "shout"),
        ("on_chain_stream", "RunnableSequence"),
        ("on_chain_end", "shout"),
        ("on_chain_end", "RunnableSequence"),
    ]


async def test_events_say_whose_they_are() -> None:
    """Run ids, those of the runs around it, tags, metadata, and data."""
    chain = FakeListChatModel(responses=["ab"]).with_config(tags=["mine"]) | Text()
    events = [event async for event in chain.astream_events("hi", {"tags": ["t"], "metadata": {"m": 1}})]
    outer = events[0]
    assert (outer["parent_ids"], outer["tags"], outer["metadata"]["m"]) == ([], ["t"], 1)
    assert outer["data"] == {"input": "hi"}
    model = [event for event in events if event["name"] == "FakeListChatModel"]
    assert {event["run_id"] for event in model} == {model[0]["run_id"]}
    assert model[0]["parent_ids"] == [outer["run_id"]]
    assert sorted(model[0]["tags"]) == ["mine", "seq:step:1", "t"]
    assert [message.content for message in model[0]["data"]["input"]["messages"][0]] == ["hi"]
    assert [event["data"]["chunk"].content for event in model[1:-1]] == ["a", "b"]
    assert model[-1]["data"]["output"].content == "ab"
    parser = [event for event in events if event["name"] == "Text"]
    assert parser[0]["data"] == {}
    assert (parser[-1]["data"]["input"].content, parser[-1]["data"]["output"]) == ("ab", "ab")
    assert events[-1]["data"]["output"] == "ab"


async def test_an_error_is_an_event_and_is_raised() -> None:
    """Of what failed, and of all around it; what had ended well stays so."""

    async def fail(text: str) -> str:
        raise KeyError("broken")

    chain = FakeListChatModel(responses=["ab"]) | Text() | fail
    events = []
    with pytest.raises(KeyError, match="broken"):
        async for event in chain.astream_events("hi"):
            events.append(event)
    errors = [(event["event"], event["name"]) for event in events if event["event"].endswith("_error")]
    assert errors == [("on_chain_error", "fail"), ("on_chain_error", "RunnableSequence")]
    assert isinstance(events[-1]["data"]["error"], KeyError)
    model = ScriptedChatModel(script=[TimeoutError("late")])
    events = []
    with pytest.raises(TimeoutError):
        async for event in model.astream_events("hi"):
            events.append(event["event"])
    assert events == ["on_chat_model_start", "on_chat_model_error"]


async def test_watching_changes_nothing() -> None:
    """A model that is called in a function is called: it gives no pieces."""

    async def ask(text: str) -> Any:
        return (await model.ainvoke(text)).content

    model = FakeListChatModel(responses=["yes"])
    events = await told(RunnableLambda(ask).astream_events("hi"))
    assert [event for event, _ in events] == [
        "on_chain_start",
        "on_chat_model_start",
        "on_chat_model_end",
        "on_chain_stream",
        "on_chain_end",
    ]


FILTERS: list[tuple[dict[str, Any], set[str]]] = [
    ({"include_names": ["shout"]}, {"shout"}),
    ({"include_types": ["chat_model"]}, {"FakeListChatModel"}),
    ({"include_tags": ["seq:step:2"]}, {"Text"}),
    ({"include_types": ["parser"], "include_names": ["shout"]}, {"Text", "shout"}),
    ({"exclude_types": ["chain"]}, {"FakeListChatModel", "Text"}),
    ({"exclude_names": ["Text"], "include_types": ["parser", "chat_model"]}, {"FakeListChatModel"}),
    ({"exclude_tags": ["t"]}, set()),
    ({"include_names": []}, set()),
]


@pytest.mark.parametrize(("wanted", "names"), FILTERS)
async def test_events_can_be_filtered(wanted: dict[str, Any], names: set[str]) -> None:
    """By name, kind and tag: what any ``include`` names, and no ``exclude`` does."""
    chain = FakeListChatModel(responses=["ab"]) | Text() | shout
    assert {name for _, name in await told(chain.astream_events("hi", {"tags": ["t"]}, **wanted))} == names


async def test_custom_events_are_told() -> None:
    """With their own name and data, and the runs that they are inside."""

    async def work(text: str) -> str:
        await adispatch_custom_event("progress", {"percent": 50})
        return text

    events = [event async for event in RunnableLambda(work).astream_events("hi")]
    custom = events[1]
    assert (custom["event"], custom["name"], custom["data"]) == ("on_custom_event", "progress", {"percent": 50})
    assert (custom["run_id"], custom["parent_ids"]) == (events[0]["run_id"], [])


async def test_sync_code_on_other_threads_is_heard() -> None:
    """A sync verb in a worker thread, of a model that runs on hocket's own loop, too."""

    def ask(text: str) -> Any:
        return [
            ScriptedChatModel(script=["yes"]).invoke(text).text,
            "".join(FakeListLLM(responses=["no"]).stream(text)),
        ]

    events = await told(RunnableLambda(ask).astream_events("hi"))
    assert events[0] == ("on_chain_start", "ask")
    assert events[-1] == ("on_chain_end", "ask")
    assert {"on_chat_model_start", "on_chat_model_end", "on_llm_start", "on_llm_end"} <= {event for event, _ in events}


async def test_a_run_does_not_run_ahead_of_who_watches() -> None:
    """An endless stream waits; leaving it ends the run."""
    made = 0

    async def endless(text: str) -> AsyncIterator[int]:
        nonlocal made
        while True:
            made += 1
            yield made
            await anyio.lowlevel.checkpoint()

    async with RunnableLambda(endless).astream_events("hi") as stream:
        await anext(stream)
        for _ in range(200):
            await anyio.lowlevel.checkpoint()
        assert made < 100
    assert made < 100


async def test_only_version_two_is_known() -> None:
    """Others are refused, with what there is."""
    with pytest.raises(InvalidInput, match="'v2'"):
        FakeListChatModel(responses=["x"]).astream_events("hi", version="v1")  # type: ignore[arg-type]


# -- views


async def test_views_show_parts_of_the_run() -> None:
    """Text as it comes, reasoning, tool calls, and the pieces of the output; read one after another or at once."""
    call = {"name": "weather", "args": {"city": "Oslo"}, "id": "1"}
    model = ScriptedChatModel(script=[Turn(text="I look.", tool_calls=[call])])
    stream = (model | RunnablePassthrough()).astream_events("hi")
    text, calls, output = stream.text, stream.tool_calls, stream.output
    assert "".join([piece async for piece in text]) == "I look."
    assert [call["name"] async for call in calls] == ["weather"]
    assert add([piece async for piece in output]).text == "I look."
    assert (await anext(stream))["event"] == "on_chain_start"


async def test_views_can_be_read_at_once() -> None:
    """From several tasks; each sees all that is its own."""
    chain = RunnableParallel(a=FakeListChatModel(responses=["ab"]), b=FakeListLLM(responses=["cd"]))
    stream = chain.astream_events("hi")
    found: dict[str, Any] = {}

    async def read(name: str, view: Any) -> None:
        found[name] = [item async for item in view]

    async with anyio.create_task_group() as group:
        group.start_soon(read, "events", stream)
        group.start_soon(read, "text", stream.text)
        group.start_soon(read, "output", stream.output)
    assert sorted(found["text"]) == ["a", "b", "cd"]
    assert add(found["output"])["b"] == "cd"
    assert found["events"][0]["event"] == "on_chain_start"


async def test_reasoning_is_apart_from_text() -> None:
    """As a model tells them."""
    stream = ScriptedChatModel(script=[Turn(reasoning="Hm.", text="Yes.")]).astream_events("hi")
    text, reasoning = stream.text, stream.reasoning
    assert "".join([piece async for piece in text]) == "Yes."
    assert "".join([piece async for piece in reasoning]) == "Hm."


async def test_a_view_that_is_not_read_is_given_up() -> None:
    """It holds nothing for ever, and says so when it is read after all."""

    async def many(text: str) -> AsyncIterator[int]:
        for number in range(1500):
            yield number

    stream = RunnableLambda(many).astream_events("hi", include_types=["nothing"])
    output, late = stream.output, RunnableLambda(many).astream_events("hi")
    assert len([piece async for piece in output]) == 1500
    text = late.output
    async for _ in late:
        pass
    with pytest.raises(InvalidInput, match="1000 items behind"):
        await anext(text)


async def test_the_error_of_the_run_reaches_every_reader() -> None:
    """Whoever pulls gets it; the others see the end."""

    async def fail(text: str) -> str:
        raise KeyError("broken")

    stream = RunnableLambda(fail).astream_events("hi")
    with pytest.raises(KeyError, match="broken"):
        await anext(stream.output)
    assert (await anext(stream))["event"] == "on_chain_start"
