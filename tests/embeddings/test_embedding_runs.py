"""Calls of embedding models as runs: one start and one end each, inside the run that they are made in."""

import math
from collections.abc import Callable
from typing import Any

import anyio
import pytest

from hocket.callbacks.run_listeners import Listening
from hocket.embeddings import CacheBackedEmbeddings, DeterministicFakeEmbedding, Embeddings, embed_as_run
from hocket.errors import InvalidInput, RateLimitError
from hocket.providers.openai import OpenAIEmbeddings
from hocket.retries import RetryPolicy
from hocket.runnables import RunnableLambda
from hocket.testing import OpenAIFormat, Status, Vectors, serve
from tests.kit import Recorder

EVENTS = ("on_embeddings_start", "on_embeddings_end", "on_embeddings_error", "on_retry", "on_chain_start")


class Own(Embeddings):
    """A user's own, with one dimension."""

    model_id = "own"

    async def aembed_documents(self, texts: list[str]) -> list[list[float]]:
        async def embed() -> list[list[float]]:
            return [[float(len(text))] for text in texts]

        return await embed_as_run(self, texts, embed)


@pytest.fixture
def recorder() -> Recorder:
    """A handler."""
    return Recorder(*EVENTS)


@pytest.mark.parametrize("make", [lambda: DeterministicFakeEmbedding(size=1), Own], ids=["fake", "own"])
@pytest.mark.parametrize(
    "embed",
    [
        lambda model: model.aembed_documents(["a", "bc"]),
        lambda model: anyio.to_thread.run_sync(model.embed_documents, ["a", "bc"]),
    ],
    ids=["async", "sync"],
)
async def test_a_call_is_one_run(make: Callable[[], Any], embed: Callable[[Any], Any], recorder: Recorder) -> None:
    """Whichever verb is used; its end tells how many vectors there are, and of which size."""
    model = make()
    with Listening(recorder):
        vectors = await embed(model)
    start, end = recorder.events
    assert (start.name, end.name) == ("on_embeddings_start", "on_embeddings_end")
    assert start.args == ({"name": type(model).__name__}, ["a", "bc"])
    assert start.details["metadata"] == {
        "ls_provider": "own" if make is Own else "deterministicfake",
        "ls_model_name": model.model_id,
        "ls_model_type": "embeddings",
    }
    assert (end.args, end.details["count"], end.details["dimensions"]) == ((None,), len(vectors), 1)


async def test_a_query_is_one_run(recorder: Recorder) -> None:
    """Although it is embedded as a document."""
    with Listening(recorder):
        await Own().aembed_query("abc")
    assert recorder.names == ["on_embeddings_start", "on_embeddings_end"]


async def test_it_is_inside_the_run_that_it_is_made_in(recorder: Recorder) -> None:
    """Whose handlers hear of it."""

    async def search(text: str) -> int:
        return len(await Own().aembed_query(text))

    await RunnableLambda(search).ainvoke("x", {"callbacks": [recorder], "tags": ["t"]})
    start = recorder.only("on_embeddings_start").details
    assert start["parent_run_id"] == recorder.only("on_chain_start").details["run_id"]
    assert start["tags"] == ["t"]


async def test_nobody_hears_of_what_comes_out_of_a_cache(recorder: Recorder) -> None:
    """Nothing was embedded."""
    model = CacheBackedEmbeddings(Own(), {})
    with Listening(recorder):
        await model.aembed_documents(["a", "b"])
        await model.aembed_documents(["b", "c"])
        await model.aembed_documents(["a"])
    assert [event.args[1] for event in recorder.named("on_embeddings_start")] == [["a", "b"], ["c"]]


async def test_usage_is_that_of_all_requests(recorder: Recorder) -> None:
    """As many tokens as the server counted, over several requests and a failed one."""
    script = [Status(429), Vectors(), Vectors()]
    async with serve(OpenAIFormat(), script) as server:
        model = OpenAIEmbeddings(
            base_url=server.url, api_key="k", chunk_size=1, max_concurrency=1, retry=RetryPolicy(first_pause=0)
        )
        with Listening(recorder):
            await model.aembed_documents(["one", "two words"])
    assert recorder.names == ["on_embeddings_start", "on_retry", "on_embeddings_end"]
    retry = recorder.only("on_retry").details
    assert (retry["attempt"], retry["status"]) == (1, 429)
    assert recorder.only("on_embeddings_end").args[0]["input_tokens"] == server.tokens_billed


async def test_a_failure_is_its_end(recorder: Recorder) -> None:
    """With the error that the caller gets."""
    async with serve(OpenAIFormat(), [Status(429)]) as server:
        model = OpenAIEmbeddings(base_url=server.url, api_key="k", retry=None)
        with Listening(recorder), pytest.raises(RateLimitError) as caught:
            await model.aembed_documents(["one"])
    assert recorder.only("on_embeddings_error").args == (caught.value,)


async def test_a_cancelled_call_ends_once(recorder: Recorder) -> None:
    """As a failure."""
    async with serve(OpenAIFormat(), Vectors(delay=math.inf)) as server, anyio.create_task_group() as group:
        with Listening(recorder):
            group.start_soon(OpenAIEmbeddings(base_url=server.url, api_key="k").aembed_documents, ["one"])
        await server.wait_for_requests(1)
        group.cancel_scope.cancel()
    (error,) = recorder.firsts("on_embeddings_error")
    assert isinstance(error, anyio.get_cancelled_exc_class())


async def test_what_is_refused_is_no_run(recorder: Recorder) -> None:
    """Nothing has begun."""
    with Listening(recorder), pytest.raises(InvalidInput):
        await OpenAIEmbeddings(api_key="k").aembed_documents([""])
    assert recorder.events == []


async def test_a_handler_may_ignore_them() -> None:
    """By the flag of its own."""
    recorder = Recorder(*EVENTS)
    recorder.ignore_embeddings = True
    with Listening(recorder):
        await Own().aembed_query("x")
    assert recorder.events == []
