"""`OpenAI`, the text model: what is sent, what is read, and when a stream is whole."""

from typing import Any

import pytest
from pydantic_core import to_json

from hocket.errors import InvalidInput, InvalidReply, LLMError, RateLimitError, StreamTruncated, Unsupported
from hocket.http.request import HTTPReply
from hocket.outputs import GenerationChunk, LLMResult
from hocket.providers.openai.completions import CompletionDecoder, OpenAI, decode_completions
from hocket.testing import Body, Cut, Events, OpenAIFormat, ReceivedRequest, Reply, Split, Status, Stream, serve

PROMPTS = [f"prompt {number}" for number in range(5)]


def model(server: Any, **options: Any) -> OpenAI:
    """Return a model of the scripted server's."""
    return OpenAI(base_url=server.url, api_key="sk-test", model="m", **options)


def texts(result: LLMResult) -> list[list[str]]:
    """Return the candidates of each prompt."""
    return [[candidate.text for candidate in candidates] for candidates in result.generations]


# -- requests


async def test_a_request() -> None:
    """One prompt is a text, what is unset is not sent, and the call's options go over the model's."""
    async with serve(OpenAIFormat(), Reply("Paris")) as server:
        llm = model(server, temperature=0, stop=["."], extra_body={"top_k": 1})
        answer = await llm.ainvoke("The capital of France is", stop=["\n"], max_tokens=5, suffix="!", seed=None)

    (request,) = server.requests
    assert answer == "Paris"
    assert (request.path, request.headers["authorization"]) == ("/v1/completions", "Bearer sk-test")
    assert request.json == {
        "model": "m",
        "prompt": "The capital of France is",
        "temperature": 0,
        "max_tokens": 5,
        "stop": ["\n"],
        "suffix": "!",
        "top_k": 1,
    }


@pytest.mark.parametrize(("own", "given"), [({"max_tokens": None}, {}), ({}, {"max_tokens": None})])
async def test_what_is_unset_is_not_sent(own: dict[str, Any], given: dict[str, Any]) -> None:
    """Neither the model's own default, which only counts where nothing was said."""
    async with serve(OpenAIFormat(), []) as server:
        default, unset = model(server).render("hi"), model(server, **own).render("hi", **given)

    assert default.json == {"model": "m", "prompt": "hi", "max_tokens": 256}
    assert unset.json == {"model": "m", "prompt": "hi"}


async def test_a_streamed_request() -> None:
    """Usage is asked for, except of a server that takes no such option."""
    async with serve(OpenAIFormat(), Reply("Paris")) as server:
        assert [piece async for piece in model(server).astream("hi")] == ["Paris", "", ""]
        request = model(server, dialect="ollama_compatible").render("hi", stream=True)

    assert server.requests[0].json["stream_options"] == {"include_usage": True}
    assert request.json["stream"] is True


@pytest.mark.parametrize(("size", "requests"), [(1, 5), (2, 3), (20, 1)])
async def test_prompts_share_a_request(size: int, requests: int) -> None:
    """Answer *i* is that of prompt *i*, whichever request is answered first, and usage is the sum."""

    def echo(request: ReceivedRequest) -> Reply:
        asked = request.json["prompt"]
        prompts = [asked] if isinstance(asked, str) else asked
        said = [f"{prompt}, answer {number}" for prompt in prompts for number in range(2)]
        return Reply(said, delay=0.05 if PROMPTS[0] in prompts else 0)

    async with serve(OpenAIFormat(), echo) as server:
        result = await model(server, n=2, batch_size=size).agenerate(PROMPTS)

    assert texts(result) == [[f"{prompt}, answer {number}" for number in range(2)] for prompt in PROMPTS]
    assert len(server.requests) == requests
    assert result.llm_output is not None
    assert result.llm_output["token_usage"] == {"prompt_tokens": 10, "completion_tokens": 40, "total_tokens": 50}
    assert result.llm_output["model_name"] == "m"


async def test_every_batch_is_checked_before_the_first_is_sent() -> None:
    """What is no JSON costs nothing, not even a part."""
    async with serve(OpenAIFormat(), []) as server:
        with pytest.raises(InvalidInput, match="cannot be written as JSON"):
            await model(server, batch_size=1).agenerate(["good", "good"], extra_body={"x": object()})

    assert server.requests == []


def test_sync_verbs() -> None:
    """They work without a loop."""
    with serve(OpenAIFormat(), Reply("Paris is it")) as server:
        llm = model(server)
        answers = [llm.invoke("hi"), "".join(llm.stream("hi")), *llm.batch(["hi"]), *texts(llm.generate(["hi"]))[0]]

    assert answers == ["Paris is it"] * 4


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        ({"n": 2}, InvalidInput, "n=2 answers cannot come as one stream"),
        ({"best_of": 3}, InvalidInput, "best_of=3 answers cannot come as one stream"),
        ({"best_off": 3}, InvalidInput, "no option 'best_off'"),
        ({"temperature": "hot"}, InvalidInput, "temperature='hot' will not do"),
        ({"best_of": 0}, InvalidInput, "best_of=0"),
        ({"logit_bias": {"1": 2}}, Unsupported, "groq takes no logit_bias"),
    ],
)
async def test_bad_options_of_a_call(call: dict[str, Any], error: type[Exception], message: str) -> None:
    """They are refused at the door."""
    async with serve(OpenAIFormat(), []) as server:
        with pytest.raises(error, match=message):
            async for _ in model(server, dialect="groq").astream("hi", **call):
                pass

    assert server.requests == []


async def test_more_answers_than_are_made() -> None:
    """The API would say so, too, but only after the request."""
    async with serve(OpenAIFormat(), []) as server:
        with pytest.raises(InvalidInput, match="n=3 is more than best_of=2"):
            await model(server, n=3, best_of=2).agenerate(["hi"])

    assert server.requests == []


# -- whole replies


def reply(*choices: dict[str, Any], **more: Any) -> HTTPReply:
    """Return a reply with these choices."""
    return HTTPReply(200, {}, to_json({"id": "cmpl-1", "object": "text_completion", "choices": choices, **more}))


def test_what_a_reply_says() -> None:
    """About each answer beside it, about the whole in ``llm_output``; what is null is left out."""
    logprobs = {"tokens": ["a"], "token_logprobs": [-0.1], "top_logprobs": [{"a": -0.1}], "text_offset": [0]}
    second = {"index": 1, "text": "b", "finish_reason": "length", "logprobs": None}
    first = {"index": 0, "text": "a", "finish_reason": "stop", "logprobs": logprobs, "stop_reason": "."}
    result = decode_completions(reply(second, first, model="m", system_fingerprint="fp"), 2, "openai")

    assert texts(result) == [["a"], ["b"]]
    assert [answers[0].generation_info for answers in result.generations] == [
        {"finish_reason": "stop", "logprobs": logprobs, "stop_reason": "."},
        {"finish_reason": "length"},
    ]
    assert result.llm_output == {"id": "cmpl-1", "model_name": "m", "system_fingerprint": "fp"}


CHOICE = {"index": 0, "text": "a", "finish_reason": "stop"}


@pytest.mark.parametrize(
    ("said", "count", "message"),
    [
        (reply(), 1, "0 choices for 1 prompts"),
        (reply(CHOICE), 2, "1 choices for 2 prompts"),
        (reply(CHOICE, CHOICE, CHOICE), 2, "3 choices for 2 prompts"),
        (reply({"index": 0}), 1, "no completion"),
        (HTTPReply(200, {}, b"[]"), 1, "no completion"),
        (HTTPReply(200, {}, b"<html>"), 1, "not JSON"),
    ],
)
def test_odd_replies(said: HTTPReply, count: int, message: str) -> None:
    """Nothing is made up."""
    with pytest.raises(InvalidReply, match=message):
        decode_completions(said, count, "openai")


@pytest.mark.usefixtures("virtual_clock")
async def test_an_error() -> None:
    """It names the provider and the model."""
    async with serve(OpenAIFormat(), Status(429)) as server:
        with pytest.raises(RateLimitError) as caught:
            await model(server).ainvoke("hi")

    assert (caught.value.provider, caught.value.model) == ("openai_compatible", "m")


# -- streams


def event(text: str = "", finish: str | None = None, **more: Any) -> dict[str, Any]:
    """Return the data of one event."""
    return {"id": "cmpl-1", "model": "m", "choices": [{"index": 0, "text": text, "finish_reason": finish, **more}]}


USAGE = {"prompt_tokens": 1, "completion_tokens": 2, "total_tokens": 3}


async def test_a_streamed_result() -> None:
    """It says what a whole one says, usage and the log probabilities of all its tokens included."""
    pieces = [
        event("Pa", logprobs={"tokens": ["Pa"], "token_logprobs": [-0.1]}),
        event("ris", logprobs={"tokens": ["ris"], "token_logprobs": [-0.2]}),
        event(finish="stop"),
        {"choices": [], "model": "m", "usage": USAGE},
        "[DONE]",
    ]
    async with serve(OpenAIFormat(), Events(pieces)) as server:
        result = await model(server, streaming=True).agenerate(["hi"])

    assert texts(result) == [["Paris"]]
    assert result.generations[0][0].generation_info == {
        "logprobs": {"tokens": ["Pa", "ris"], "token_logprobs": [-0.1, -0.2]},
        "finish_reason": "stop",
        "id": "cmpl-1",
        "model_name": "m",
        "token_usage": USAGE,
    }


@pytest.mark.parametrize("size", [1, 7, 1000])
async def test_a_stream_however_it_is_cut(size: int) -> None:
    """Pieces of bytes are not pieces of text."""
    async with serve(OpenAIFormat(), Split(Stream("één, zwei, três"), size=size)) as server:
        assert "".join([piece async for piece in model(server).astream("hi")]) == "één, zwei, três"


@pytest.mark.parametrize("then", ["end", "eof", "reset"])
async def test_a_stream_that_ends_too_soon(then: Any) -> None:
    """What came is in the error; a finish reason is not invented."""
    async with serve(OpenAIFormat(), Stream("one two", then=then)) as server:
        with pytest.raises(StreamTruncated) as caught:
            async for _ in model(server, dialect="openai").astream("hi"):
                pass

    assert (caught.value.partial, caught.value.retryable) == ("one two", True)


def test_a_stream_without_done() -> None:
    """Whole with a finish reason, which the record says; ``[DONE]`` is an end only where no reason is ever sent."""
    finished, unfinished = [to_json(event("a", finish)) for finish in ("stop", None)]

    decoder = CompletionDecoder("openai")
    assert list(decoder.feed(b"data: " + finished + b"\n\n"))[-1].text == "a"
    assert list(decoder.close()) == [GenerationChunk(text="", generation_info={"stream_end": "no [DONE]"})]

    decoder = CompletionDecoder("compatible", finishes=False)
    assert len(list(decoder.feed(b"data: " + unfinished + b"\n\ndata: [DONE]\n\n"))) == 1
    assert (decoder.done, list(decoder.close())) == (True, [])


@pytest.mark.parametrize(
    ("event", "error"),
    [
        (event("a", index=1), InvalidReply),
        ({"choices": [CHOICE, {**CHOICE, "index": 1}]}, InvalidReply),
        ({"choices": ["a"]}, InvalidReply),
        ({"error": {"message": "the server had an error", "type": "server_error"}}, LLMError),
    ],
)
def test_events_of_another_kind(event: Any, error: type[Exception]) -> None:
    """Answers are not mixed, and an error is raised."""
    with pytest.raises(error):
        list(CompletionDecoder("openai").feed(b"data: " + to_json(event) + b"\n\n"))


async def test_a_whole_reply_to_a_streamed_request() -> None:
    """Some servers cannot stream: the answer comes in one piece, with all that was said about it."""
    document = {"choices": [CHOICE], "model": "m", "usage": USAGE}
    async with serve(OpenAIFormat(), Body(document)) as server:
        result = await model(server, streaming=True).agenerate(["hi"])

    assert texts(result) == [["a"]]
    info = result.generations[0][0].generation_info
    assert info == {"finish_reason": "stop", "model_name": "m", "token_usage": USAGE}


async def test_a_cut_reply() -> None:
    """Half a document is none."""
    async with serve(OpenAIFormat(), Cut(Reply("Paris"), at_byte=40, how="end")) as server:
        with pytest.raises(InvalidReply):
            await model(server).ainvoke("hi")
