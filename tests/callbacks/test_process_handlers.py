"""Handlers that listen to every run of the process."""

import threading
from collections.abc import Iterator

import pytest

from hocket.callbacks import register_handler, run_listeners, unregister_handler
from hocket.errors import InvalidInput, StreamTruncated
from hocket.language_models import FakeListChatModel, FakeStreamingListLLM
from hocket.providers.openai import ChatOpenAI
from hocket.retries import RetryPolicy
from hocket.runnables import RunnableLambda
from hocket.testing import OpenAIFormat, Stream, serve
from tests.kit import Recorder

MODEL = FakeListChatModel(responses=["hi"])


@pytest.fixture(autouse=True)
def registrations() -> Iterator[None]:
    """Forget the handlers that a test registers."""
    yield
    run_listeners._registrations = ()


@pytest.fixture
def recorder() -> Recorder:
    """A handler that listens to the whole process."""
    recorder = Recorder("on_chat_model_start", "on_llm_start", "on_llm_end", "on_chain_start", "on_chain_end")
    register_handler(recorder)
    return recorder


async def test_it_hears_models_and_chains_and_what_runs_inside(recorder: Recorder) -> None:
    """Each once, a child of the run that it is inside."""
    await (RunnableLambda(lambda text: text) | MODEL).ainvoke("x")
    assert {len(events) for events in recorder.runs().values()} == {2}
    assert len(recorder.runs()) == 3
    outer = recorder.named("on_chain_start")[0].details["run_id"]
    assert recorder.only("on_chat_model_start").details["parent_run_id"] == outer


async def test_it_hears_other_threads_and_text_models_too(recorder: Recorder) -> None:
    """It is no matter of context variables."""
    thread = threading.Thread(target=MODEL.invoke, args=("x",))
    thread.start()
    thread.join()
    await FakeStreamingListLLM(responses=["hi"]).ainvoke("x")
    assert recorder.count("on_llm_end") == 2


async def test_one_that_is_passed_besides_is_told_once(recorder: Recorder) -> None:
    """Registered, given with the call, and held by the model."""
    model = FakeListChatModel(responses=["hi"], callbacks=[recorder])
    await model.ainvoke("x", {"callbacks": [recorder]})
    assert recorder.names == ["on_chat_model_start", "on_llm_end"]


async def test_a_second_registration_replaces_the_first() -> None:
    """With its `active`."""
    recorder = Recorder("on_llm_end")
    register_handler(recorder)
    register_handler(recorder, active=lambda: False)
    await MODEL.ainvoke("x")
    assert recorder.events == []


async def test_it_hears_as_long_as_it_is_active() -> None:
    """`active` is asked at the start of each run."""
    recorder, switch = Recorder("on_chat_model_start", "on_llm_end"), [False]
    register_handler(recorder, active=lambda: switch[0])
    await MODEL.ainvoke("x")
    assert recorder.events == []
    switch[0] = True
    stream = MODEL.astream("x")
    await anext(aiter(stream))
    switch[0] = False
    await stream.aclose()
    assert recorder.names == ["on_chat_model_start", "on_llm_end"]


async def test_an_active_that_raises_fails_no_run() -> None:
    """The handler does not listen."""
    recorder = Recorder("on_llm_end")
    register_handler(recorder, active=lambda: 1 // 0 == 0)
    assert (await MODEL.ainvoke("x")).content == "hi"
    assert recorder.events == []


async def test_one_that_is_taken_away_hears_the_rest_of_what_has_begun(recorder: Recorder) -> None:
    """And nothing that starts later. To take it away twice is nothing."""
    stream = MODEL.astream("x")
    await anext(aiter(stream))
    unregister_handler(recorder)
    unregister_handler(recorder)
    await stream.aclose()
    await MODEL.ainvoke("x")
    assert recorder.names == ["on_chat_model_start", "on_llm_end"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"handler": Recorder}, "must be an instance of a BaseCallbackHandler"),
        ({"handler": print}, "must be an instance of a BaseCallbackHandler"),
        ({"handler": Recorder("on_llm_end"), "active": True}, "active is True; it must be a function"),
    ],
    ids=["class", "function", "active"],
)
def test_what_can_not_be_told_is_refused(arguments: dict[str, object], message: str) -> None:
    """When it is registered, not at the first call."""
    with pytest.raises(InvalidInput, match=message):
        register_handler(**arguments)  # type: ignore[arg-type]


class Meter(Recorder):
    """Shows nobody what it hears."""

    only_measures = True


@pytest.mark.parametrize(("recorder_class", "answer"), [(Meter, "whole"), (Recorder, None)], ids=["measures", "shows"])
async def test_what_only_measures_does_not_stop_another_attempt(
    recorder_class: type[Recorder], answer: str | None
) -> None:
    """Of an answer that broke off after some chunks, which a handler that shows them may have shown to somebody."""
    recorder = recorder_class("on_llm_new_token", "on_retry")
    async with serve(OpenAIFormat(), [Stream("half", then="eof"), Stream("whole")]) as server:
        model = ChatOpenAI(
            model="m", base_url=server.url, api_key="k", streaming=True, retry=RetryPolicy(first_pause=0)
        )
        try:
            reply = await model.ainvoke("x", {"callbacks": [recorder]})
            assert reply.content == answer
        except StreamTruncated:
            assert answer is None
    assert "half" in "".join(recorder.tokens)
