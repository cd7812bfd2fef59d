"""What a model behind HTTP sends, and reads out of a reply."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import BaseModel

from hocket.callbacks import BaseCallbackHandler
from hocket.errors import LLMError, Unsupported
from hocket.http.request import HTTPRequest
from hocket.messages import AIMessage, HumanMessage
from hocket.testing.conformance.remote_suite import VERBS, RemoteSuite, ask
from hocket.testing.conformance.suite import IMAGE, REFUSALS, TOOL
from hocket.testing.server import ReceivedRequest, Reply, ScriptedToolCall, Split, Status

__all__ = ["Requests", "Weather"]

# Line ends of Unicode that are none of the framing's, characters of up to four bytes, and what JSON escapes.
ODD_TEXT = 'naïve — one\u2028two\u2029three\x85four 🎼 "five" \\ six\n\nseven\tdata: eight'
CALL: ScriptedToolCall = {"name": "get_weather", "args": {"city": "Zürich", "days": [1, 2]}, "id": "call_1"}
STOP = "UNTIL-HERE"
SHORT = "Rayleigh scattering."
LONG = "Air scatters blue light more than red light. " * 5
REASONING = "They ask about light, so it is physics."

# Options that models have in common, with values that are unlike anything else in a request, and exact in binary.
OPTIONS: dict[str, Any] = {
    "temperature": 0.140625,
    "max_tokens": 6174,
    "top_p": 0.890625,
    "top_k": 8191,
    "min_p": 0.015625,
    "seed": 27182,
    "repetition_penalty": 1.078125,
    "frequency_penalty": 0.234375,
    "presence_penalty": 0.359375,
    "min_length": 1729,
    "response_mime_type": "text/x-odd",
}


class Weather(BaseModel):
    """The weather in a city."""

    city: str
    celsius: int


class Requests(RemoteSuite):
    """Tests of requests and replies."""

    @pytest.mark.parametrize("what", ["has_tools", "has_stop", "has_images"])
    async def test_what_is_asked_is_sent_or_refused(self, what: str) -> None:
        """Tools, stop texts and images reach the server; or the call is refused, and nothing is sent. None is dropped."""
        marks = {
            "has_tools": ["get_weather", "city", TOOL["function"]["description"]],
            "has_stop": [STOP],
            "has_images": [IMAGE["base64"]],
        }[what]
        async with self.answering() as model:
            if getattr(self, what):
                await _ask_with(what, model, self.question)
                body = self.server.requests[-1].body.decode()
                assert [mark for mark in marks if mark not in body] == [], "dropped in silence"
            else:
                with pytest.raises(REFUSALS):
                    await _ask_with(what, model, self.question)
                assert not self.server.requests, "refused, but only after something was sent"

    @pytest.mark.parametrize("name", OPTIONS)
    async def test_an_option_is_sent_or_refused(self, name: str) -> None:
        """An option of a call reaches the server; or it is refused by name, and nothing is sent. None is dropped unasked."""
        option = {name: OPTIONS[name]}
        async with self.answering() as model:
            try:
                await model.ainvoke(self.question, **option)
            except REFUSALS as refusal:
                assert name in str(refusal)
                assert not self.server.requests, "refused, but only after something was sent"
                if isinstance(refusal, Unsupported):
                    await model.ainvoke(self.question, **option, unsupported="drop")
            else:
                assert str(OPTIONS[name]) in self.server.requests[-1].body.decode(), "dropped in silence"

    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_misspelt_option_is_refused(self, verb: str) -> None:
        """A name that is no option is named, and nothing is sent: a typo must not pass for an option that has no effect."""
        async with self.answering() as model:
            with pytest.raises(REFUSALS, match="temprature"):
                await ask(model, verb, self.question, [], temprature=0.5)
            assert not self.server.requests, "refused, but only after something was sent"

    @pytest.mark.parametrize("verb", VERBS)
    async def test_tool_calls_are_read(self, verb: str) -> None:
        """A tool call comes with name, id and parsed arguments, in one piece or from a stream."""
        if not self.has_tools:
            pytest.skip("has_tools = False: that they are refused is tested above")
        async with self.serving(Reply(tool_calls=[CALL, {**CALL, "id": "call_2"}])) as model:
            reply = await _read_reply(model.bind_tools([TOOL]), verb, self.question)
        assert [(call["name"], call["args"]) for call in reply.tool_calls] == [(CALL["name"], CALL["args"])] * 2
        assert len({call["id"] for call in reply.tool_calls}) == 2
        assert not reply.invalid_tool_calls

    @pytest.mark.parametrize("verb", VERBS)
    async def test_a_schema_is_followed_or_refused(self, verb: str) -> None:
        """`with_structured_output` gives objects, from a stream as its last item; or it says that there is no way to it."""
        script = Reply(tool_calls=[{"name": "Weather", "args": {"city": "Oslo", "celsius": -3}, "id": "call_1"}])
        async with self.serving(script) as model:
            if not (self.has_tools and self.has_forced_calls):
                with pytest.raises(REFUSALS):
                    model.with_structured_output(Weather, method="function_calling")
                return
            structured = model.with_structured_output(Weather, method="function_calling")
            if verb == "ainvoke":
                answer: Any = await structured.ainvoke(self.question)
            else:
                answer = [item async for item in structured.astream(self.question)][-1]
        assert answer == Weather(city="Oslo", celsius=-3)

    @pytest.mark.parametrize("verb", VERBS)
    async def test_usage_follows_the_answer(self, verb: str) -> None:
        """A longer answer to the same question costs more output, and no more input: the counts are not swapped."""
        if not (self.has_usage if verb == "ainvoke" else self.has_stream_usage):
            pytest.skip("has_usage or has_stream_usage = False")
        async with self.serving([Reply(text) for text in (SHORT, LONG)]) as model:
            short, long = [(await _read_reply(model, verb, self.question)).usage_metadata for _ in range(2)]
        assert short is not None and long is not None
        assert short["input_tokens"] == long["input_tokens"], (
            "of one question; are input and output the right way round?"
        )
        assert short["output_tokens"] < long["output_tokens"], (
            f"of {len(SHORT.split())} words and of {len(LONG.split())}; does {type(self.format).__name__} count them, with "
            "measure_text(text)?"
        )

    @pytest.mark.parametrize("verb", VERBS)
    async def test_reasoning_is_read(self, verb: str) -> None:
        """What a model thinks before it answers is in reasoning blocks, whole or from a stream, and not in the text."""
        if not self.has_reasoning:
            pytest.skip("has_reasoning = False")
        async with self.serving(Reply(SHORT, reasoning=REASONING, pieces=3)) as model:
            reply = await _read_reply(model, verb, self.question)
        thought = [str(block.get("reasoning") or "") for block in reply.content_blocks if block["type"] == "reasoning"]
        assert "".join(thought) == REASONING, (
            f"reasoning is lost; or {type(self.format).__name__} does not send `reply.reasoning`; or the server has none, "
            "and the suite says has_reasoning = False"
        )
        assert reply.text == SHORT

    @pytest.mark.parametrize("verb", VERBS)
    async def test_any_text_arrives(self, verb: str) -> None:
        """A text comes as it was sent, whatever is in it and wherever the network cuts it."""
        async with self.serving(Split(Reply(ODD_TEXT), size=1)) as model:
            assert await ask(model, verb, self.question, []) == ODD_TEXT

    @pytest.mark.parametrize("verb", VERBS)
    async def test_the_finish_reason_is_the_servers(self, verb: str) -> None:
        """``response_metadata["finish_reason"]`` is the server's word: who reads it can tell an answer that was cut off."""
        script = [Reply("And so it", finish_reason=self.length_word), Reply(SHORT)]
        async with self.serving(script) as model:
            facts, usual = [(await _read_reply(model, verb, self.question)).response_metadata for _ in script]
        assert facts.get("finish_reason") == self.length_word
        if usual.get("finish_reason") != self.length_word:  # else the server has one word for all
            told = facts.get("normalized_finish_reason")
            assert told == "length", (
                f"{self.length_word!r} means length, not {told!r}; or length_word is not the server's"
            )

    async def test_connections_are_kept(self) -> None:
        """Calls one after the other, whole and streamed, share one connection."""
        async with self.answering() as model:
            for verb in VERBS * 2:
                await ask(model, verb, self.question, [])
            assert [request.connection for request in self.server.requests] == [1] * 4

    @pytest.mark.parametrize("verb", VERBS)
    async def test_the_key_is_shown_nowhere(self, verb: str) -> None:
        """The key is sent, and appears in no error, repr or event, even where the server repeats it."""
        handler = _Everything()

        def repeat(request: ReceivedRequest) -> Status:
            where = f"{request.path}?{request.query} {dict(request.headers)} {request.body!r}"
            assert (self.api_key in where) == self.has_key, "does make() use self.api_key, and is has_key right?"
            return Status(401, f"no such key: {self.api_key}", error={"given": self.api_key})

        async with self.serving(repeat) as model:
            shown = [repr(model), str(model)]
            if (render := getattr(model, "render", None)) is not None:
                preview: HTTPRequest = render(self.question, stream=verb == "astream")
                shown += [preview.url, str(dict(preview.headers)), preview.content.decode()]
            with pytest.raises(LLMError) as caught:
                await ask(model.with_config(callbacks=[handler]), verb, self.question, [])
        shown += [f"{error} {error!r} {vars(error)}" for error in _iterate_causes(caught.value)]
        assert handler.heard
        assert [text for text in (*shown, *handler.heard) if self.api_key in text] == []


async def _read_reply(model: Any, verb: str, question: str) -> AIMessage:
    """Return an answer, whole or folded from a stream."""
    if verb == "ainvoke":
        reply: AIMessage = await model.ainvoke(question)
        return reply
    async with model.astream(question) as stream:
        async for _ in stream:
            pass
    folded: AIMessage = stream.message
    return folded


async def _ask_with(what: str, model: Any, question: str) -> None:
    if what == "has_tools":
        await model.bind_tools([TOOL]).ainvoke(question)
    elif what == "has_stop":
        await model.ainvoke(question, stop=[STOP])
    else:
        await model.ainvoke([HumanMessage([{"type": "text", "text": question}, IMAGE])])


class _Everything(BaseCallbackHandler):
    """Writes down all that handlers hear of a run."""

    run_inline = True

    def __init__(self) -> None:
        self.heard: list[str] = []

    def _hear(self, *args: Any, **details: Any) -> None:
        self.heard.append(f"{args!r} {details!r}")

    on_chat_model_start = on_llm_error = on_llm_end = _hear


def _iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield an error and what caused it."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
