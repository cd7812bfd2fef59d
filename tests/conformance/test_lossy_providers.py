"""What a provider can lose without an error, and the question of the exam that finds it out.

Each is a `ChatOpenAI` with one fault; a question that the sound one passes must fail. Not the whole exam is asked, as in
`test_broken_providers.py`, but the one question, so that a fault costs milliseconds.
"""

from collections.abc import AsyncGenerator
from dataclasses import replace
from typing import Any

import pytest
from pydantic_core import from_json, to_json

from hocket.errors import InvalidReply, LLMError
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.messages import AIMessage, AIMessageChunk
from hocket.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from hocket.providers.openai import ChatOpenAI
from hocket.testing import OpenAIFormat
from hocket.testing.conformance import RemoteChatModelConformance
from hocket.testing.conformance.conversations import SWITCHES


class LosesSome(ChatOpenAI):
    """It loses something of each request's body. Its subclasses say what."""

    def _request(self, messages: Any, options: Any, *, stream: bool) -> HTTPRequest:
        request = super()._request(messages, options, stream=stream)
        body = from_json(request.content)
        self.lose(body)
        return replace(request, content=to_json(body))

    def lose(self, body: dict[str, Any]) -> None:
        raise NotImplementedError


class SendsTheLastMessage(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        body["messages"] = body["messages"][-1:]


class LosesSystemMessages(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        body["messages"] = [message for message in body["messages"] if message["role"] not in ("system", "developer")]


class LosesReplies(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        body["messages"] = [message for message in body["messages"] if message["role"] != "assistant"]


class SendsTheFirstPart(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            if isinstance(message.get("content"), list):
                message["content"] = message["content"][:1]


class LosesToolCalls(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            message.pop("tool_calls", None)


class LosesArguments(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            for call in message.get("tool_calls", ()):
                call["function"]["arguments"] = "{}"


class LosesTheSecondCall(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            message.get("tool_calls", [])[1:] = []


class LosesTextBesideCalls(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            if "tool_calls" in message:
                message["content"] = None


class LosesCallIds(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            message.pop("tool_call_id", None)


class LosesResults(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            if message["role"] == "tool":
                message["content"] = "done"


class LosesStatus(ChatOpenAI):
    def _request(self, messages: Any, options: Any, *, stream: bool) -> HTTPRequest:
        kept = [one.model_copy(update={"status": "success"}) if one.type == "tool" else one for one in messages]
        return super()._request(kept, options, stream=stream)


class LosesNames(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for message in body["messages"]:
            message.pop("name", None)


class LosesDescriptions(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for tool in body.get("tools", ()):
            tool["function"]["description"] = ""


class ShowsTheKeyBeforehand(ChatOpenAI):
    def render(self, *args: Any, **kwargs: Any) -> HTTPRequest:
        key: Any = self.api_key
        return replace(super().render(*args, **kwargs), headers={"x-odd": key.get_secret_value()})


class LosesTheToolChoice(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        body.pop("tool_choice", None)


class SaysRequiredForAName(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        if isinstance(body.get("tool_choice"), dict):
            body["tool_choice"] = "required"


class LosesTheForm(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        body.pop("response_format", None)


class LosesTheSchema(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        if "response_format" in body:
            body["response_format"] = {"type": "json_object"}


class LosesSwitches(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        for name in SWITCHES:
            body.pop(name, None)


class AsksItsOwnModel(LosesSome):
    def lose(self, body: dict[str, Any]) -> None:
        body["model"] = self.model


class LosesFurtherFields(ChatOpenAI):
    def _write(self, messages: Any, options: Any, *, stream: bool) -> HTTPRequest:
        return super()._write(messages, options.model_copy(update={"extra_body": None}), stream=stream)


class LosesHeaders(ChatOpenAI):
    def _write(self, messages: Any, options: Any, *, stream: bool) -> HTTPRequest:
        return super()._write(messages, options.model_copy(update={"extra_headers": None}), stream=stream)


class ChangesAnswers(ChatOpenAI):
    """It changes each message that it has read, whole or in pieces."""

    def _decode(self, reply: HTTPReply) -> ChatResult:
        result = super()._decode(reply)
        message = result.generations[0].message
        return ChatResult(generations=[ChatGeneration(message=self.change(message))])

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[ChatGenerationChunk, None]:
        async for chunk in super()._astream(*args, **kwargs):
            yield ChatGenerationChunk(message=self.change(chunk.message))

    def change(self, message: Any) -> Any:
        raise NotImplementedError


class SwapsUsage(ChangesAnswers):
    def change(self, message: Any) -> Any:
        usage = message.usage_metadata
        if usage is None:
            return message
        swapped = {"input_tokens": usage["output_tokens"], "output_tokens": usage["input_tokens"]}
        return message.model_copy(update={"usage_metadata": {**usage, **swapped}})


class TakesEveryEndForAGoodOne(ChangesAnswers):
    def change(self, message: Any) -> Any:
        facts = message.response_metadata
        good = {"normalized_finish_reason": "stop"} if facts.get("finish_reason") else {}
        return message.model_copy(update={"response_metadata": {**facts, **good}})


class BeginsWithNothing(ChatOpenAI):
    """It says when a stream opens, before there is a word of the answer."""

    async def _astream(self, *args: Any, **kwargs: Any) -> AsyncGenerator[ChatGenerationChunk, None]:
        yield ChatGenerationChunk(message=AIMessageChunk(""))
        async for chunk in super()._astream(*args, **kwargs):
            yield chunk


class LosesReasoning(ChangesAnswers):
    def change(self, message: Any) -> Any:
        parts = message.content
        kept = parts if isinstance(parts, str) else [part for part in parts if part.get("type") != "reasoning"]
        beside = {name: value for name, value in message.additional_kwargs.items() if "reasoning" not in name}
        return message.model_copy(update={"content": kept, "additional_kwargs": beside})


class TakesErrorsForAnswers(ChatOpenAI):
    def _decode(self, reply: HTTPReply) -> ChatResult:
        try:
            return super()._decode(reply)
        except InvalidReply:
            raise
        except LLMError:
            message = AIMessage("", response_metadata={"finish_reason": "stop"})
            return ChatResult(generations=[ChatGeneration(message=message)])

    def _decode_as_stream(self, reply: HTTPReply) -> list[ChatGenerationChunk]:
        text = self._decode(reply).generations[0].message.text
        return [ChatGenerationChunk(message=AIMessageChunk(text, chunk_position="last"))]


class Exam(RemoteChatModelConformance):
    """The exam of a provider, to ask single questions of."""

    format = OpenAIFormat()
    has_names = True

    def __init__(self, provider: type[ChatOpenAI]) -> None:
        self.provider = provider

    def make(self, server_url: str) -> ChatOpenAI:
        return self.provider(model="test-model", base_url=server_url, api_key=self.api_key)


VERB = ("ainvoke",), ("astream",)

LOSSES: dict[type[ChatOpenAI], tuple[str, tuple[tuple[str, ...], ...]]] = {
    SendsTheLastMessage: (
        "test_every_message_is_sent",
        tuple((what, verb) for what in ("a system message", "earlier messages") for (verb,) in VERB),
    ),
    LosesSystemMessages: (
        "test_every_message_is_sent",
        (("a system message", "ainvoke"), ("a system message", "astream")),
    ),
    LosesReplies: ("test_every_message_is_sent", (("earlier messages", "ainvoke"), ("earlier messages", "astream"))),
    SendsTheFirstPart: (
        "test_every_message_is_sent",
        (("parts of a message", "ainvoke"), ("parts of a message", "astream")),
    ),
    LosesToolCalls: ("test_calls_and_results_are_sent", VERB),
    LosesArguments: ("test_calls_and_results_are_sent", VERB),
    LosesTheSecondCall: ("test_calls_and_results_are_sent", VERB),
    LosesTextBesideCalls: ("test_calls_and_results_are_sent", VERB),
    LosesResults: ("test_calls_and_results_are_sent", VERB),
    LosesCallIds: ("test_a_result_says_which_call_it_answers", VERB),
    LosesTheToolChoice: ("test_each_tool_choice_has_words_of_its_own", ((),)),
    SaysRequiredForAName: ("test_each_tool_choice_has_words_of_its_own", ((),)),
    LosesTheForm: ("test_a_form_of_answer_is_sent_or_refused", VERB),
    LosesTheSchema: ("test_a_schema_is_sent_or_refused", ((),)),
    LosesSwitches: ("test_a_switch_is_sent_or_refused", tuple((name,) for name in SWITCHES)),
    AsksItsOwnModel: ("test_the_model_of_a_call_is_asked", VERB),
    LosesFurtherFields: ("test_further_fields_are_sent_or_refused", VERB),
    LosesHeaders: ("test_further_headers_are_sent_or_refused", VERB),
    LosesStatus: ("test_a_failure_of_a_tool_is_sent", ((),)),
    LosesNames: ("test_names_of_speakers_are_sent", ((),)),
    LosesDescriptions: ("test_what_is_asked_is_sent_or_refused", (("has_tools",),)),
    ShowsTheKeyBeforehand: ("test_the_key_is_shown_nowhere", VERB),
    TakesEveryEndForAGoodOne: ("test_the_finish_reason_is_the_servers", VERB),
    BeginsWithNothing: ("test_a_stream_that_has_said_nothing_is_begun_again", ((),)),
    SwapsUsage: ("test_usage_follows_the_answer", VERB),
    LosesReasoning: ("test_reasoning_is_read", VERB),
    TakesErrorsForAnswers: ("test_an_error_in_a_good_reply", VERB),
}
"""Providers with a fault; the question that finds it, and what it is asked with."""


@pytest.mark.parametrize("provider", LOSSES, ids=lambda provider: provider.__name__)
async def test_what_is_lost_is_found_out(provider: type[ChatOpenAI]) -> None:
    """Whole and streamed; and it is the fault that is found, for without it the question is passed."""
    question, ways = LOSSES[provider]
    for way in ways:
        await getattr(Exam(ChatOpenAI), question)(*way)
        with pytest.raises((AssertionError, pytest.fail.Exception)):
            await getattr(Exam(provider), question)(*way)
