"""Text models that answer one prompt at a time."""

from abc import ABC
from typing import Any, ClassVar

from hocket._pipeline.hooks import Hooks, default_hook
from hocket._runtime.mode import ASYNC
from hocket.language_models.call_hooks import CALL_HOOKS, add_run_manager, check_text, find_hooks
from hocket.language_models.llms import BaseLLM
from hocket.outputs import Generation, LLMResult
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch

__all__ = ["LLM"]


class LLM(BaseLLM, ABC):
    """A text model that answers one prompt with one text: define `_acall` (async) or `_call` (sync).

    Several prompts are answered at once by async verbs, 100 at a time, and one after another by sync ones.
    """

    _hook_names: ClassVar[str] = CALL_HOOKS

    @default_hook
    async def _acall(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer. By default `_call`, in a worker thread."""
        return await ASYNC.call_sync(self._call, prompt, stop, **kwargs)

    @default_hook
    def _call(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer, in sync code."""
        raise NotImplementedError

    @default_hook
    async def _agenerate(
        self, prompts: list[str], stop: list[str] | None = None, run_manager: object = None, **kwargs: Any
    ) -> LLMResult:
        arguments = add_run_manager(self, "_acall", run_manager, kwargs)

        async def call(prompt: str, config: RunnableConfig) -> str:
            return check_text(self, "_acall", await self._acall(prompt, stop=stop, **arguments))

        return _result(await Batch(call, prompts, None, return_exceptions=False).collect())

    @default_hook
    def _generate(
        self, prompts: list[str], stop: list[str] | None = None, run_manager: object = None, **kwargs: Any
    ) -> LLMResult:
        arguments = add_run_manager(self, "_call", run_manager, kwargs)
        return _result([check_text(self, "_call", self._call(prompt, stop=stop, **arguments)) for prompt in prompts])

    @classmethod
    def _find_hooks(cls) -> Hooks:
        return find_hooks(cls)


def _result(texts: list[str]) -> LLMResult:
    return LLMResult(generations=[[Generation(text=text)] for text in texts])
