"""The embedded model behind hocket's verbs: real answers, whole and streamed, that can be left at any point."""

import functools
import pickle
import threading
import time
from collections.abc import Mapping
from typing import Any

import anyio
import anyio.to_thread
import pytest

from hocket.errors import ContextLengthExceeded, InvalidInput, LocalModelError, Unsupported
from hocket.messages import AIMessage, AIMessageChunk, HumanMessage, SystemMessage, ToolMessage
from hocket.providers.local import ChatLocal
from hocket.providers.local.engine import SLOTS, LocalEngine, OnChunk, open_engine

pytestmark = pytest.mark.usefixtures("loaded")

WEATHER: dict[str, Any] = {
    "type": "function",
    "function": {
        "name": "get_weather",
        "description": "Get the weather of a city",
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]},
    },
}
STORY = "Tell me a long story about a horse and a lighthouse."
LONG_PROMPT = "Summarise: " + "word " * 1500  # 10 s of evaluation on a slow core


@pytest.fixture(scope="module")
def loaded(embedded_model: None) -> None:
    ChatLocal().load()


@pytest.fixture
def chunks(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """What the engine computes, as it comes: a chunk for each token of an answer, and for each batch of a prompt."""
    seen: list[object] = []
    stream = LocalEngine.stream

    def note(self: LocalEngine, request: Mapping[str, object], on_chunk: OnChunk) -> None:
        stream(self, request, lambda chunk: seen.append(chunk) or on_chunk(chunk))  # type: ignore[func-returns-value]

    monkeypatch.setattr(LocalEngine, "stream", note)
    return seen


async def wait_for_chunks(chunks: list[object], count: int) -> int:
    """Wait until so many have come; return how many have."""
    while len(chunks) < count:  # noqa: ASYNC110 - the engine's thread tells no loop
        await anyio.sleep(0.001)
    return len(chunks)


async def count_until_idle(chunks: list[object]) -> int:
    """Wait until the engine has nothing to do, and return how many chunks came meanwhile."""
    before = len(chunks)

    def wait() -> None:
        engine = open_engine(None, 4096, 1)
        with engine._idle:
            assert engine._idle.wait_for(lambda: not engine._busy, 50)

    await anyio.to_thread.run_sync(wait)
    return len(chunks) - before


async def test_ainvoke_gives_a_message() -> None:
    """A reply has text, usage, and says which model wrote it, why it ended and how fast it was."""
    reply = await ChatLocal(max_tokens=12, seed=1).ainvoke("What is the capital of France?")

    assert isinstance(reply, AIMessage) and not isinstance(reply, AIMessageChunk)
    assert reply.text
    assert reply.usage_metadata is not None
    assert reply.usage_metadata["total_tokens"] == 34 + reply.usage_metadata["output_tokens"]
    assert reply.response_metadata["model_name"] == "SmolLM2-135M-Instruct.Q4_1.gguf"
    assert reply.response_metadata["finish_reason"] in ("stop", "length")
    assert reply.response_metadata["timings"]["predicted_per_second"] > 0


async def test_a_plain_question_gets_a_plain_answer() -> None:
    """With the defaults, in the first minute (docs/decisions/010); the caller's own system message takes over."""
    assert (await ChatLocal().ainvoke("What is the capital of France?")).text == "The capital of France is Paris."
    assert (await ChatLocal().ainvoke("How many legs does a spider have?")).text == "A spider has 8 legs."
    told = await ChatLocal(max_tokens=16).ainvoke([SystemMessage("Talk like a pirate."), HumanMessage("Who are you?")])
    plain = await ChatLocal(max_tokens=16).ainvoke("Who are you?")
    bare = await ChatLocal(max_tokens=16).ainvoke([SystemMessage(""), HumanMessage("Who are you?")])
    assert len({told.text, plain.text, bare.text}) == 3


def test_the_defaults_are_in_the_key_of_the_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """An answer that was kept under other defaults is not given; a file of one's own has none."""
    monkeypatch.delenv("HOCKET_LOCAL_MODEL", raising=False)
    key = ChatLocal()._get_llm_string()
    assert "states facts plainly" in str(ChatLocal()._identifying_params)
    assert "states facts plainly" not in str(ChatLocal(model="own.gguf")._identifying_params)
    monkeypatch.setattr("hocket.providers.local.chat_model.INSTRUCTIONS", "You are a poet.")
    assert ChatLocal()._get_llm_string() != key


async def test_a_stream_folds_to_what_ainvoke_returns() -> None:
    """The same seed gives the same answer, in pieces or whole."""
    model = ChatLocal(max_tokens=20, seed=7)
    whole = await model.ainvoke("Name three colours.")
    chunks = [chunk async for chunk in model.astream("Name three colours.")]

    assert len(chunks) > 10
    assert "".join(chunk.text for chunk in chunks) == whole.text
    usages = [chunk.usage_metadata for chunk in chunks if chunk.usage_metadata]
    assert len(usages) == 1 and whole.usage_metadata is not None
    assert usages[0]["total_tokens"] == whole.usage_metadata["total_tokens"]


def test_the_sync_verbs_answer_too() -> None:
    """No event loop is needed."""
    model = ChatLocal(max_tokens=6, seed=7)

    assert model.invoke("Name three colours.").text == "".join(c.text for c in model.stream("Name three colours."))


async def test_call_options_override_fields() -> None:
    """What a call says comes before what the model was made with."""
    model = ChatLocal(max_tokens=30, seed=7)
    short = await model.ainvoke("Count to ten.", max_tokens=3)
    stopped = await model.ainvoke("Count to ten.", stop=[","], temperature=0, top_p=0.5)

    assert short.usage_metadata is not None and short.usage_metadata["output_tokens"] == 3
    assert short.response_metadata["finish_reason"] == "length"
    assert "," not in stopped.text
    assert (await model.ainvoke("Hi", seed=8)).text == (await ChatLocal(max_tokens=30, seed=8).ainvoke("Hi")).text


async def test_tools() -> None:
    """A required call comes as a parsed tool call, and its result is answered in words."""
    model = ChatLocal(temperature=0, max_tokens=60)
    question = HumanMessage("What is the weather in Paris? Use the tool.")
    call = await model.ainvoke([question], tools=[WEATHER], tool_choice="required")

    assert [(made["name"], [*made["args"]]) for made in call.tool_calls] == [("get_weather", ["city"])]
    assert call.response_metadata["finish_reason"] == "tool_calls"
    result = ToolMessage("sunny, 21 C", tool_call_id=call.tool_calls[0]["id"])
    assert (await model.ainvoke([question, call, result])).text


async def test_tool_arguments_stream() -> None:
    """Arguments come in pieces that fold to the call."""
    total: AIMessageChunk | None = None
    pieces = 0
    async for chunk in ChatLocal(temperature=0, max_tokens=60).astream(
        "What is the weather in Paris?", tools=[WEATHER], tool_choice="get_weather"
    ):
        pieces += bool(chunk.tool_call_chunks)
        total = chunk if total is None else total + chunk

    assert pieces > 3
    assert total is not None and [*total.tool_calls[0]["args"]] == ["city"]


@pytest.mark.nightly
async def test_an_answer_beside_tools_that_is_cut() -> None:
    """The runtime writes JSON then, and fails at the end of what it cannot read; the reply says that it was cut."""
    model = ChatLocal(temperature=0, max_tokens=30)
    replies = [
        await model.ainvoke(question, tools=[WEATHER]) for question in ("Add 2 and 3.", "Explain photosynthesis.")
    ]

    assert {reply.response_metadata["finish_reason"] for reply in replies} == {"length"}
    assert all(reply.text and not reply.tool_calls for reply in replies)


async def test_a_call_that_is_cut() -> None:
    """It is no call with the arguments that had come: nothing is run by halves."""
    model = ChatLocal(temperature=0, max_tokens=26)
    with pytest.raises(LocalModelError, match="cut within a call of a tool, by max_tokens"):
        await model.ainvoke("What is the weather in Paris?", tools=[WEATHER], tool_choice="required")


async def test_response_format() -> None:
    """A schema steers the answer."""
    schema = {
        "type": "object",
        "properties": {"name": {"type": "string"}, "population": {"type": "integer"}},
        "required": ["name", "population"],
        "additionalProperties": False,
    }
    reply = await ChatLocal(temperature=0, max_tokens=100).ainvoke(
        "Give me a French city as JSON.",
        response_format={"type": "json_schema", "json_schema": {"name": "city", "schema": schema}},
    )

    assert reply.text.lstrip().startswith("{") and '"name"' in reply.text


@pytest.mark.parametrize(
    ("given", "message"),
    [({"temprature": 1}, "no option 'temprature'"), ({"max_tokens": 0}, "max_tokens=0 will not do")],
)
async def test_unknown_options_and_values_are_refused(given: dict[str, Any], message: str) -> None:
    """A typo in a call is an error that names it."""
    with pytest.raises(InvalidInput, match=message):
        await ChatLocal().ainvoke("Hi", **given)


async def test_images_are_refused() -> None:
    """Before any work."""
    picture = HumanMessage([{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}])
    with pytest.raises(Unsupported, match="reads no image_url"):
        await ChatLocal().ainvoke([picture])


async def test_too_long_a_prompt() -> None:
    """The error names both lengths and the way out, from a stream as well."""
    model = ChatLocal(n_ctx=512)
    with pytest.raises(ContextLengthExceeded, match=r"1\d{3} tokens long .* n_ctx=512: shorten"):
        await model.ainvoke(LONG_PROMPT)
    with pytest.raises(ContextLengthExceeded, match=r"n_ctx=512"):
        async for _ in model.astream(LONG_PROMPT):
            pass


async def test_a_missing_file() -> None:
    """A wrong path is one clear line, at the call."""
    with pytest.raises(LocalModelError, match=r"cannot read the model file '/nowhere\.gguf'"):
        await ChatLocal(model="/nowhere.gguf").ainvoke("Hi")


@pytest.mark.both_loops
async def test_leaving_a_stream_stops_the_engine(chunks: list[object]) -> None:
    """An early break ends the computing at the next token, not at the end of the answer."""
    async with ChatLocal(max_tokens=400).astream(STORY) as stream:
        async for _ in stream:
            break

    assert await count_until_idle(chunks) <= 1


CALLS = {"the answer": (STORY, 60), "the prompt": (LONG_PROMPT, 2)}


@pytest.mark.both_loops
@pytest.mark.parametrize(("question", "at"), CALLS.values(), ids=CALLS)
async def test_cancelling_in(question: str, at: int, chunks: list[object]) -> None:
    """The caller leaves at once, the engine after the token, or the batch, that it is at."""
    async with anyio.create_task_group() as group:
        group.start_soon(ChatLocal(max_tokens=400).ainvoke, question)
        begun = await wait_for_chunks(chunks, at)
        group.cancel_scope.cancel()

    assert len(chunks) - begun + await count_until_idle(chunks) <= 1


@pytest.mark.both_loops
async def test_cancelling_in_the_queue(chunks: list[object]) -> None:
    """A call that waits for its turn leaves at once, and leaves nothing in the queue."""
    model = ChatLocal(max_tokens=400)
    async with anyio.create_task_group() as group:
        for _ in range(6):
            group.start_soon(model.ainvoke, STORY)
        begun = await wait_for_chunks(chunks, 1)
        group.cancel_scope.cancel()

    assert len(chunks) - begun + await count_until_idle(chunks) <= SLOTS
    assert (await model.ainvoke("Hi", max_tokens=2)).text


async def test_the_loop_stays_free() -> None:
    """Prompt and answer hold up nobody: others have their turns meanwhile, and the work is not the loop's thread's."""
    turns = [0]

    async def take_turns() -> None:
        while True:
            await anyio.sleep(0.001)
            turns[-1] += 1

    here, everywhere = time.thread_time(), time.process_time()
    async with anyio.create_task_group() as group:
        group.start_soon(take_turns)
        async for _ in ChatLocal(max_tokens=12).astream("word " * 200):
            turns.append(0)
        group.cancel_scope.cancel()
    assert turns[0] > 10  # the prompt takes some tenths of a second
    assert time.thread_time() - here < (time.process_time() - everywhere) / 4


@pytest.mark.nightly
async def test_many_at_once() -> None:
    """More calls than the engine answers at once all get their own answer, in order."""
    model = ChatLocal(max_tokens=4, temperature=0)
    questions = [f"Say the number {number}." for number in range(6)]
    replies = await model.abatch(questions)

    assert len(replies) == 6 and all(reply.text for reply in replies)


def test_one_model_in_many_loops() -> None:
    """Threads with loops of their own, on asyncio and trio, share one model object."""
    model = ChatLocal(max_tokens=3, seed=5, temperature=0)
    texts: list[str] = []

    async def ask() -> None:
        texts.append((await model.ainvoke("Hi")).text)

    runs = [functools.partial(anyio.run, ask, backend=backend) for backend in ("asyncio", "trio") * 3]
    threads = [threading.Thread(target=run) for run in runs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert len(texts) == 6 and all(texts)


def test_configuration_travels() -> None:
    """A model is configuration: it pickles, and refuses what it does not know."""
    model = ChatLocal(temperature=0.5, stop=["END"], n_ctx=1024)

    assert pickle.loads(pickle.dumps(model)) == model
    with pytest.raises(ValueError, match="temprature"):
        ChatLocal(temprature=0.5)  # type: ignore[call-arg]
    with pytest.raises(ValueError, match="n_ctx"):
        ChatLocal(n_ctx=10)
