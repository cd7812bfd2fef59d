"""Text models that answer one prompt at a time."""

from abc import ABC
from typing import Any

from hocket._runtime.runtime import ASYNC
from hocket.language_models.llms import BaseLLM
from hocket.outputs import Generation, LLMResult
from hocket.pipeline.hook import Hooks, default_hook, defines, takes_run_manager
from hocket.runnables import RunnableConfig
from hocket.runnables.batch import Batch

__all__ = ["LLM"]


class LLM(BaseLLM, ABC):
    """A text model that answers one prompt with one text: define `_acall` (async) or `_call` (sync).

    Several prompts are answered at once by async verbs, 100 at a time, and one after another by sync ones.
    """

    @default_hook
    async def _acall(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer. By default `_call`, in a worker thread."""
        return await ASYNC.sync(self._call, prompt, stop, **kwargs)

    @default_hook
    def _call(self, prompt: str, stop: list[str] | None = None, **kwargs: Any) -> str:
        """Return the answer, in sync code."""
        raise NotImplementedError

    @default_hook
    async def _agenerate(
        self, prompts: list[str], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> LLMResult:
        if takes_run_manager(type(self), "_acall"):
            kwargs["run_manager"] = run_manager
        answers: dict[int, str] = {}

        async def call(prompt: str, config: RunnableConfig) -> str:
            return await self._acall(prompt, stop=stop, **kwargs)

        def put(outcome: tuple[int, Any]) -> None:
            answers[outcome[0]] = outcome[1]

        await Batch(call, prompts, None, return_exceptions=False).run(put)
        return _result([answers[index] for index in range(len(prompts))])

    @default_hook
    def _generate(
        self, prompts: list[str], stop: list[str] | None = None, run_manager: Any = None, **kwargs: Any
    ) -> LLMResult:
        if takes_run_manager(type(self), "_call"):
            kwargs["run_manager"] = run_manager
        return _result([self._call(prompt, stop=stop, **kwargs) for prompt in prompts])

    @classmethod
    def _find_hooks(cls) -> Hooks:
        hooks = Hooks.of(cls)
        return hooks._replace(
            agenerate=hooks.agenerate or defines(cls, "_acall"), generate=hooks.generate or defines(cls, "_call")
        )


def _result(texts: list[str]) -> LLMResult:
    return LLMResult(generations=[[Generation(text=text)] for text in texts])
