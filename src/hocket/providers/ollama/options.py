"""What a call may say about how the model answers, in Ollama's API, beyond what all chat models have in common."""

from typing import Literal

from pydantic import BaseModel, Field

from hocket.language_models.options import ChatOptions, Count, LogprobOptions, Number, SamplingOptions

__all__ = ["OllamaOptions", "RunnerOptions"]


class RunnerOptions(BaseModel, defer_build=True):
    """How the server runs a model. A change of one of these loads the model again.

    Args:
        num_ctx: tokens of the window, prompt and answer together. Default: what the server says, which is mostly 4,096.
        num_gpu: layers of the model that run on the GPU.
        main_gpu: the GPU that holds small tensors.
        num_thread: threads of the processor.
        num_batch: tokens of a prompt that are read at once.
        use_mmap: whether the model is mapped into memory.
        keep_alive: how long the model stays loaded: seconds, a text such as "10m"; 0: not at all, -1: for ever.
    """

    num_ctx: Count | None = None
    num_gpu: int | None = None
    main_gpu: int | None = None
    num_thread: Count | None = None
    num_batch: Count | None = None
    use_mmap: bool | None = None
    keep_alive: str | float | None = None


class OllamaOptions(RunnerOptions, SamplingOptions, LogprobOptions, ChatOptions):
    """The options of `ChatOptions`, `SamplingOptions`, `LogprobOptions`, `RunnerOptions`, and those that only this API has.

    Args:
        model: its name, as ``ollama list`` shows it.
        think: whether the model is to reason, or how much: low, medium, high. Default: what ``reasoning_effort`` says.
        truncate: False: a prompt that is longer than the window is refused; by default the server cuts it, in silence.
        shift: False: an answer that fills the window ends; by default the server forgets the oldest part of the prompt.
        repeat_last_n: how far back ``repetition_penalty`` looks.
        num_keep: tokens of the prompt that are not forgotten.
        typical_p, tfs_z, mirostat, mirostat_eta, mirostat_tau: as the API has them.
    """

    model: str = Field(min_length=1)
    think: bool | Literal["low", "medium", "high"] | None = None
    truncate: bool | None = None
    shift: bool | None = None
    num_keep: int | None = None
    repeat_last_n: int | None = None
    typical_p: Number | None = None
    tfs_z: Number | None = None
    mirostat: int | None = None
    mirostat_eta: Number | None = None
    mirostat_tau: Number | None = None
