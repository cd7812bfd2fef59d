"""`OpenAI`, the text model, with a real server."""

from typing import Any

import anyio
import pytest

from hocket.errors import AuthenticationError, BlockingCallWarning, ContextLengthExceeded
from hocket.providers.openai.completions import OpenAI


def llm(server: Any, **options: Any) -> OpenAI:
    """Return a model of the server's that answers briefly."""
    return OpenAI(**{**server.options, "temperature": 0, "max_tokens": 4, **options})


async def test_an_answer(live_server: Any) -> None:
    """With usage and the reason of its end."""
    result = await llm(live_server).agenerate(["Once upon a time"])

    (answer,) = result.generations[0]
    assert answer.text
    assert answer.generation_info == {"finish_reason": "length"}
    assert result.llm_output is not None
    assert result.llm_output["model_name"] == live_server.model
    assert result.llm_output["token_usage"]["completion_tokens"] == 4


async def test_prompts_and_candidates_share_a_request(live_server: Any) -> None:
    """Two of each prompt; the prompt that is one word long stays apart from the other."""
    result = await llm(live_server, n=2, max_tokens=2).agenerate(["Hello", "One, two, three, four,"])

    assert [[len(answer.text) > 0 for answer in answers] for answers in result.generations] == 2 * [[True, True]]


async def test_a_stream(live_server: Any) -> None:
    """Piece by piece; its result has usage, too, and all log probabilities."""
    model = llm(live_server, logprobs=2)
    pieces = [piece async for piece in model.astream("Once upon a time")]
    result = await model.agenerate(["Once upon a time"], stream=True)

    assert len([piece for piece in pieces if piece]) == 4
    info = result.generations[0][0].generation_info
    assert info is not None
    assert (info["finish_reason"], info["token_usage"]["completion_tokens"]) == ("length", 4)
    assert len(info["logprobs"]["content"]) == 4


async def test_a_stop_string(live_server: Any) -> None:
    """Nothing comes after it, nor it."""
    result = await llm(live_server, max_tokens=60).agenerate(["One, two, three,"], stop=["e", "i"])

    (answer,) = result.generations[0]
    assert not {"e", "i"} & set(answer.text)
    assert answer.generation_info == {"finish_reason": "stop"}


@pytest.mark.parametrize("streaming", [False, True])
async def test_errors(live_server: Any, streaming: bool) -> None:
    """A prompt that is too long, and a bad key."""
    with pytest.raises(ContextLengthExceeded):
        await llm(live_server, streaming=streaming).ainvoke("word " * 2 * live_server.n_ctx)
    with pytest.raises(AuthenticationError):
        await llm(live_server, streaming=streaming, api_key="sk-wrong-one").ainvoke("hi")


def test_sync_verbs(live_server: Any) -> None:
    """In a script: no loop is needed."""
    model = llm(live_server)

    assert all([model.invoke("Once"), "".join(model.stream("Once")), *model.batch(["Once", "Twice"])])


@pytest.mark.parametrize("backend", ["asyncio", "trio"])
def test_sync_verbs_in_a_running_loop(live_server: Any, backend: str) -> None:
    """As in a notebook; elsewhere a warning says that the loop stands still."""

    async def main() -> str:
        return llm(live_server).invoke("Once")

    with pytest.warns(BlockingCallWarning):
        assert anyio.run(main, backend=backend)
