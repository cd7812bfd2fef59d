"""The embedded chat model: a few lines between hocket's base class and llama.cpp in this process."""

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import aclosing
from typing import Any, ClassVar, cast

from pydantic import Field

from hocket._runtime.mode import ASYNC
from hocket.errors import LocalModelError
from hocket.language_models import BaseChatModel, ModelProfile
from hocket.language_models.option_policy import VOCABULARY
from hocket.language_models.options import collect_options, merge_options
from hocket.language_models.structured import StructuredMethod
from hocket.language_models.tool_choice import ToolChoiceKind
from hocket.messages import BaseMessage
from hocket.outputs import ChatGenerationChunk
from hocket.providers.local.decode import decode_chunk
from hocket.providers.local.encode import encode_request
from hocket.providers.local.engine import missing_setup, open_engine
from hocket.providers.local.options import CallOptions, ModelOptions
from hocket.providers.local.pump import answer
from hocket.providers.local.weights import INSTRUCTIONS, SAMPLING, requested_path

__all__ = ["ChatLocal"]


_REFUSED = VOCABULARY - ModelOptions.model_fields.keys()
"""The options that the runtime has no word for, or does not heed."""


class ChatLocal(ModelOptions, BaseChatModel):
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

    To the default weights a conversation without a system message gets one that makes them answer in plain English, and
    phrases that repeat themselves are held back: ``INSTRUCTIONS`` and ``SAMPLING`` in `hocket.providers.local.weights`.
    A system message of your own takes the place of the one, even if it is empty, and ``extra_body`` goes over the other.

    Args:
        n_ctx: the window in tokens, prompt and answer together, per request; capped at what the weights know.
        n_threads: threads to compute with. More than the machine has to spare makes it slower, not faster.

    `ModelOptions` tells the options, which a call may override by name. An option that it does not tell is handled as
    ``unsupported`` says.

    Raises, from every verb:
        MissingDependency: the runtime or the weights are not installed.
        LocalModelError: the file cannot be loaded.
        ContextLengthExceeded: the prompt is too long for the window.
        InvalidInput: an unknown option, a value outside its limits, or content that is not text.
        Unsupported: an image, a recording, a film or a PDF; or an option that the runtime does not heed.
    """

    _tool_choices: ClassVar = frozenset(ToolChoiceKind)
    _needs_messages: ClassVar[bool] = True

    n_ctx: int = Field(default=4096, ge=256)
    n_threads: int = Field(default=1, ge=1)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """A model travels as data; its weights stay where they are."""
        return True

    @property
    def _llm_type(self) -> str:
        return "local"

    @property
    def _structured_methods(self) -> Sequence[StructuredMethod]:
        return ("json_schema", "json_mode", "function_calling")  # small weights are poor at calling tools

    @property
    def _identifying_params(self) -> dict[str, Any]:
        own = {"model": requested_path(self.model), "n_ctx": self.n_ctx, "defaults": _defaults_for(self.model)}
        return {**collect_options(self, ModelOptions), **own}

    @property
    def _refused_options(self) -> frozenset[str]:
        return _REFUSED

    def _resolve_model_profile(self) -> ModelProfile:
        unread = dict.fromkeys(("image_inputs", "audio_inputs", "video_inputs", "pdf_inputs"), False)
        can = dict.fromkeys(("text_inputs", "text_outputs", "tool_calling", "structured_output", "temperature"), True)
        return cast(ModelProfile, {"max_input_tokens": self.n_ctx, **can, **unread})

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
        options = merge_options(self, kwargs if stop is None else {**kwargs, "stop": stop}, CallOptions)
        request = encode_request(messages, options, *_defaults_for(options.model))
        engine = await ASYNC.call_sync(open_engine, options.model, self.n_ctx, self.n_threads)
        finished = False
        async with aclosing(answer(engine, request)) as chunks:
            async for chunk in chunks:
                message = decode_chunk(chunk)
                if message is not None:
                    finished = finished or "finish_reason" in message.response_metadata
                    yield ChatGenerationChunk(message=message)
        if not finished:
            raise LocalModelError("the embedded model's answer ended without a finish reason; try again")


def _defaults_for(model: str | None) -> tuple[str | None, Mapping[str, float]]:
    """Return the system message and the sampling that suit the weights; nothing is known of a file of one's own."""
    return (INSTRUCTIONS, SAMPLING) if requested_path(model) is None else (None, {})
