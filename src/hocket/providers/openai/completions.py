"""Text models of OpenAI's older format, completions, which most compatible servers still speak."""

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import Field

from hocket.errors import InvalidInput, InvalidReply
from hocket.http.request import HTTPReply, HTTPRequest
from hocket.language_models.options import Count, SamplingOptions, TextOptions, collect_options
from hocket.outputs import Generation, GenerationChunk, LLMResult
from hocket.providers.openai.dialects import Dialect
from hocket.providers.openai.service import OpenAIService
from hocket.remote.chat_completion import answer_facts, completion_facts
from hocket.remote.chat_completion_stream import EventDecoder
from hocket.remote.llm import RemoteLLM
from hocket.remote.options import write_options
from hocket.remote.reply import read_reply

__all__ = [
    "CompletionDecoder",
    "CompletionOptions",
    "OpenAI",
    "decode_completions",
    "encode_completions",
]


class CompletionOptions(SamplingOptions, TextOptions):
    """The options of `TextOptions` and `SamplingOptions`, and those that only this format has. A call may override each.

    Args:
        model: its name with the server; Azure's older URLs: that of the deployment.
        max_tokens: tokens to answer with at most. Unset, OpenAI's server gives 16.
        n: how many answers to each prompt.
        min_length: tokens to answer with at least.
        logit_bias: what to add to a token's odds, by the token's id.
        best_of: how many to make of which the ``n`` likeliest are returned; not as a stream.
        logprobs: report log probabilities, those of so many other tokens as well.
        echo: put the prompt before the answer.
        suffix: what comes after the answer, for models that fill in the middle.
        user: names the end user to the provider.
    """

    model: str = Field(default="gpt-3.5-turbo-instruct", min_length=1)
    max_tokens: Count | None = 256
    n: Count | None = None
    min_length: int | None = Field(default=None, ge=0)
    logit_bias: dict[int | str, int | float] | None = None
    best_of: Count | None = None
    logprobs: int | None = Field(default=None, ge=0)
    echo: bool | None = None
    suffix: str | None = None
    user: str | None = None


class OpenAI(OpenAIService, CompletionOptions, RemoteLLM):
    """A text model of OpenAI's completions format.

        model = OpenAI(base_url="http://localhost:8000/v1", model="qwen3-4b-base")
        text = await model.ainvoke("The capital of France is")

    Several prompts to `agenerate` go out in one request (``batch_size`` at most). Its ``llm_output`` has ``token_usage``,
    summed over the requests, and ``model_name``, and a candidate's ``generation_info`` its ``finish_reason`` and
    ``logprobs``; of a stream, whose result has no ``llm_output``, all of it is in ``generation_info``.

    `CompletionOptions`, `OpenAIService` and `RemoteLLM` tell the other arguments.

    Args:
        streaming: have ``ainvoke`` stream, too, and fold.

    Raises, from every verb:
        InvalidInput: an unknown option, or a value outside its limits. Nothing was sent.
        Unsupported: an option that the server or the model cannot take, and ``unsupported`` is "raise". Nothing was sent.
        LLMError: the request failed.
        StreamTruncated: the stream ended before a finish reason.
    """

    _options: ClassVar = CompletionOptions

    streaming: bool = False

    # -- hooks

    @property
    def _llm_type(self) -> str:
        return "openai"

    def _request(self, prompts: Sequence[str], options: CompletionOptions, *, stream: bool) -> HTTPRequest:
        body = encode_completions(prompts, options, self._dialect, stream=stream)
        return self._post_to("completions", options.model, body)

    def _decode(self, reply: HTTPReply, count: int) -> LLMResult:
        return decode_completions(reply, count, self._provider)

    def _decoder(self, headers: Mapping[str, str]) -> "CompletionDecoder":
        dialect = self._dialect
        return CompletionDecoder(dialect.name, finishes=dialect.finishes, sends_done=dialect.sends_done)


def encode_completions(
    prompts: Sequence[str], options: CompletionOptions, dialect: Dialect, *, stream: bool
) -> dict[str, Any]:
    """Return the body of a request. A single prompt goes as a text, which servers take that take no list.

    Raises:
        InvalidInput: several answers as a stream, or more answers than are made.
    """
    given = collect_options(options)
    several = {name: given[name] for name in ("n", "best_of") if given.get(name, 1) > 1}
    if stream and several:
        name, value = several.popitem()
        raise InvalidInput(f"{name}={value} answers cannot come as one stream; use ainvoke or agenerate, or {name}=1")
    if (options.n or 1) > (options.best_of or options.n or 1):
        raise InvalidInput(f"n={options.n} is more than best_of={options.best_of}; raise best_of, or leave it out")
    body: dict[str, Any] = {"model": options.model, "prompt": prompts[0] if len(prompts) == 1 else list(prompts)}
    body.update(write_options(given, dialect.words))
    if options.stop:
        body["stop"] = options.stop
    if stream:
        body["stream"] = True
        if dialect.stream_usage:
            body["stream_options"] = {"include_usage": True}
    return body


def decode_completions(reply: HTTPReply, count: int, provider: str) -> LLMResult:
    """Return what the reply to ``count`` prompts says: choice *i* of ``count * n`` belongs to prompt ``i // n``.

    Raises:
        InvalidReply: it is not what the format says, or its choices are not as many for each prompt.
        LLMError: it says that the request failed, although its status is that of a good one.
    """
    return read_reply(reply, provider, lambda data: _read(data, count), "completion")


def _read(data: Mapping[str, Any], count: int) -> LLMResult:
    choices: list[dict[str, Any]] = sorted(data["choices"], key=lambda choice: choice.get("index") or 0)
    answers = [Generation(text=choice["text"] or "", generation_info=_info(choice) or None) for choice in choices]
    each, rest = divmod(len(answers), count)
    if rest or not each:
        raise InvalidReply(f"the reply has {len(answers)} choices for {count} prompts")
    return LLMResult(
        generations=[answers[start : start + each] for start in range(0, len(answers), each)],
        llm_output=completion_facts(data),
    )


class CompletionDecoder(EventDecoder[GenerationChunk]):
    """Reads the stream of one completion."""

    def read(self, data: dict[str, Any], event: str) -> GenerationChunk | None:
        """Return what one event says; None: nothing."""
        choices: list[dict[str, Any]] = data.get("choices") or []
        if len(choices) > 1 or any(choice.get("index") for choice in choices):
            raise InvalidReply("the stream holds several answers at once; ask for them in one piece, or for n=1")
        choice = choices[0] if choices else {}
        text, info = choice.get("text") or "", _info(choice)
        if "finish_reason" in info:
            self.ended = True
        if "finish_reason" in info or data.get("usage"):
            info |= completion_facts(data)
        return GenerationChunk(text=text, generation_info=info or None) if text or info else None

    def read_end(self) -> list[GenerationChunk]:
        """Return that ``[DONE]`` is missing where the server sends it."""
        missing = self.sends_done and not self.done
        return [GenerationChunk(text="", generation_info={"stream_end": "no [DONE]"})] if missing else []


def _info(choice: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a choice, or a piece of one, says about itself."""
    facts = {name: value for name, value in answer_facts(choice).items() if name != "text"}
    return facts | ({"finish_reason": choice["finish_reason"]} if choice.get("finish_reason") else {})
