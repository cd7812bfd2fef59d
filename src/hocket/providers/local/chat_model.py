"""The embedded chat model: a few lines between hocket's base class and llama.cpp in this process."""

import os
from collections.abc import AsyncIterator, Sequence
from contextlib import aclosing
from typing import Annotated, Any, ClassVar, cast

from pydantic import BeforeValidator, Field

from hocket._runtime.runtime import ASYNC
from hocket.errors import LocalModelError
from hocket.language_models import BaseChatModel
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_binding import ToolChoice
from hocket.messages import BaseMessage
from hocket.outputs import ChatGenerationChunk
from hocket.providers.local.decode import decode_chunk
from hocket.providers.local.encode import encode_request
from hocket.providers.local.engine import missing_setup, open_engine
from hocket.providers.local.options import (
    CallOptions,
    MaxTokens,
    RepeatPenalty,
    Seed,
    Stop,
    Temperature,
    TopP,
    call_options,
)
from hocket.providers.local.pump import answer
from hocket.providers.local.weights import configured

__all__ = ["ChatLocal"]


def _as_text(path: Any) -> Any:
    return os.fspath(cast("os.PathLike[str]", path)) if isinstance(path, os.PathLike) else path


GgufPath = Annotated[str, BeforeValidator(_as_text), Field(min_length=1)]


class ChatLocal(BaseChatModel):
    """A chat model in this process: SmolLM2-135M by default, or any GGUF file. No key, no server, no network.

        model = ChatLocal()                                    # after `hocket setup local`
        model = ChatLocal(model="~/models/qwen3-4b.gguf", n_threads=4)

    The file is loaded at the first call, once per process and settings. The runtime keeps the interpreter's lock while
    it loads (half a second for the default, longer for a large file), so a service calls `load` before it serves. After
    that nothing blocks: two requests are answered at once and the others queue. Leaving a stream, or cancelling a call,
    stops the computing at the next token, or, in the prompt, at the next 64 tokens.

    Tools are bound with `bind_tools`; how well they are used is up to the weights. A JSON schema in ``response_format``
    steers every token, except that the runtime silently lets go of one that it cannot compile (an unresolved ``$ref``,
    a look-ahead in a ``pattern``).

    Args:
        model: path of a GGUF file. Default: the environment's ``HOCKET_LOCAL_MODEL``, else SmolLM2 from its wheel.
        temperature: 0 takes the likeliest token; the higher, the more varied. 0.2 suits a very small model.
        top_p: sample among the likeliest tokens that make up this share.
        repeat_penalty: above 1 holds back what was just said; without it very small models go round in circles.
        max_tokens: tokens to answer with at most; None for as many as the window holds.
        seed: the same seed gives the same answer to the same conversation, unless another request runs beside it.
        stop: end the answer before any of these strings.
        n_ctx: the window in tokens, prompt and answer together, per request; capped at what the weights know.
        n_threads: threads to compute with. More than the machine has to spare makes it slower, not faster.

    A call may override ``temperature``, ``top_p``, ``repeat_penalty``, ``max_tokens``, ``seed`` and ``stop`` by name, and
    takes ``tools``, ``tool_choice`` (auto, none, required, a name, several names) and ``response_format``.

    Raises, from every verb:
        MissingDependency: the runtime or the weights are not installed.
        LocalModelError: the file cannot be loaded, or the prompt is too long for the window.
        InvalidInput: an unknown option, a value outside its limits, or content that is not text.
    """

    _tool_choices: ClassVar = frozenset(ToolChoice)

    model: GgufPath | None = None
    temperature: Temperature = 0.2
    top_p: TopP = 0.9
    repeat_penalty: RepeatPenalty = 1.1
    max_tokens: MaxTokens | None = 512
    seed: Seed | None = None
    stop: Stop | None = None
    n_ctx: int = Field(default=4096, ge=256)
    n_threads: int = Field(default=1, ge=1)

    @property
    def _llm_type(self) -> str:
        return "local"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        return ("json_schema", "json_mode", "function_calling")  # small weights are poor at calling tools

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {
            "model": configured(self.model),
            "temperature": self.temperature,
            "top_p": self.top_p,
            "repeat_penalty": self.repeat_penalty,
            "max_tokens": self.max_tokens,
            "seed": self.seed,
            "stop": self.stop,
            "n_ctx": self.n_ctx,
        }

    @classmethod
    def setup_needed(cls) -> str | None:
        """Return what has to be done before the default model can be called, in a line; None: nothing. Looks at the disk."""
        return missing_setup()

    def load(self) -> None:
        """Load the file now, unless this process has it loaded, instead of at the first call. Blocks.

        Raises:
            MissingDependency, LocalModelError: as every verb.
        """
        open_engine(self.model, self.n_ctx, self.n_threads).load()

    async def _astream(
        self, messages: list[BaseMessage], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        request = encode_request(messages, self._options(stop, kwargs))
        engine = await ASYNC.sync(open_engine, self.model, self.n_ctx, self.n_threads)
        finished = False
        async with aclosing(answer(engine, request)) as chunks:
            async for chunk in chunks:
                message = decode_chunk(chunk)
                if message is not None:
                    finished = finished or "finish_reason" in message.response_metadata
                    yield ChatGenerationChunk(message=message)
        if not finished:
            raise LocalModelError("the embedded model's answer ended without a finish reason; try again")

    def _options(self, stop: list[str] | None, given: dict[str, Any]) -> CallOptions:
        return call_options(
            {
                "temperature": self.temperature,
                "top_p": self.top_p,
                "repeat_penalty": self.repeat_penalty,
                "max_tokens": self.max_tokens,
                "seed": self.seed,
                "stop": self.stop if stop is None else stop,
                **given,
            }
        )
