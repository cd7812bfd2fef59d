"""A server may say anything: what it says becomes a message that can be used and sent, or one of hocket's errors.

Recorded replies with one value replaced by another of the wrong type, whole and streamed, at places drawn by a fixed seed.
"""

import json
import random
from contextlib import suppress

import pytest

from hocket import ChatAnthropic, ChatCohere, ChatGoogleGenerativeAI, ChatMistralAI, ChatOllama, ChatOpenAI
from hocket.errors import HocketError
from hocket.load import dumps
from hocket.messages import AIMessage, HumanMessage
from hocket.remote import RemoteChatModel
from tests.kit.odd_values import spoil
from tests.kit.recordings import Reader, load_recordings, make_reply, stream_in

MODELS: dict[str, RemoteChatModel] = {
    "anthropic": ChatAnthropic(model="m", api_key="k"),
    "cohere_v2": ChatCohere(model="m", api_key="k"),
    "gemini": ChatGoogleGenerativeAI(model="m", api_key="k"),
    "mistral": ChatMistralAI(model="m", api_key="k"),
    "ollama": ChatOllama(model="m"),
    "openai_chat": ChatOpenAI(model="m", api_key="k"),
    "openai_responses": ChatOpenAI(model="m", api_key="k", use_responses_api=True),
}
DRAWS = 6


def use(model: RemoteChatModel, message: AIMessage) -> None:
    """Look at a message in all the ways there are, store it, and go on with it."""
    assert isinstance(message.text, str) and isinstance(message.content_blocks, list)
    assert dumps(message) and message.pretty_repr()
    with suppress(HocketError):
        model.render([HumanMessage("a"), message, HumanMessage("b")])


@pytest.mark.parametrize("folder", MODELS)
def test_a_stream_with_an_odd_value(folder: str) -> None:
    model, draw = MODELS[folder], random.Random(folder)
    reader = Reader(model._decode, lambda: model._decoder({}))
    for recording in load_recordings(folder).values():
        lines = stream_in(recording).decode().split("\n") if isinstance(recording["response"], dict) else []
        for at, line in enumerate(lines):
            head, brace, rest = line.partition("{")
            for data in spoil(json.loads(brace + rest), draw, DRAWS) if brace and head in ("", "data: ") else ():
                body = "\n".join([*lines[:at], head + json.dumps(data), *lines[at + 1 :]]).encode()
                with suppress(HocketError):
                    use(model, reader.fold_stream(body))


@pytest.mark.parametrize("folder", MODELS)
def test_a_reply_with_an_odd_value(folder: str) -> None:
    model, draw = MODELS[folder], random.Random(folder)
    reader = Reader(model._decode, lambda: model._decoder({}))
    for recording in load_recordings(folder).values():
        body = recording["response"].get("body") if isinstance(recording["response"], dict) else None
        for data in [copy for _ in range(DRAWS) for copy in spoil(body, draw, DRAWS)] if isinstance(body, dict) else ():
            try:
                message = reader.read(make_reply(data))
            except HocketError:
                continue
            use(model, message)


def negate(data: object) -> object:
    """Return data with every number below 0."""
    if isinstance(data, dict):
        return {name: negate(value) for name, value in data.items()}
    if isinstance(data, list):
        return [negate(value) for value in data]
    return -data if isinstance(data, int) and not isinstance(data, bool) else data


@pytest.mark.parametrize("folder", MODELS)
def test_no_usage_is_below_zero(folder: str) -> None:
    """A ledger or a budget would take it off what others have used."""
    model, told = MODELS[folder], 0
    reader = Reader(model._decode, lambda: model._decoder({}))
    for recording in load_recordings(folder).values():
        body = recording["response"].get("body") if isinstance(recording["response"], dict) else None
        if isinstance(body, dict):
            with suppress(HocketError):
                usage = reader.read(make_reply(negate(body))).usage_metadata
                if usage is not None:
                    told += 1
                    assert "-" not in json.dumps(usage)
    assert told
