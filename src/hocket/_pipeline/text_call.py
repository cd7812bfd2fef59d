"""A call of a text model: texts in, candidate texts for each out."""

from collections.abc import Callable, Sequence
from typing import Any

from hocket._pipeline.cache_key import prompt_key
from hocket._pipeline.call import CACHE_HIT, CHUNK_SIZES, PARTIAL, Call
from hocket._pipeline.replay_sizes import cut_text
from hocket.errors import EmptyResponse, InvalidHook
from hocket.messages.base import copy_containers
from hocket.messages.folding import merge_facts
from hocket.outputs import Generation, GenerationChunk, LLMResult, RunInfo
from hocket.outputs.copies import copy_of

__all__ = ["TextCall"]


class TextCall(Call):
    """One call of a text model's hook, for all of ``prompts``; each of them is a run."""

    start_event = "on_llm_start"

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._pieces: list[str] = []
        self._infos: list[dict[str, Any]] = []

    # -- asking the hook

    def asked(self) -> tuple[Any, ...]:
        return (list(self.prompts),)

    def asked_to_stream(self) -> tuple[Any, ...]:
        return (self.prompts[0],)

    def told(self, index: int) -> tuple[Any, ...]:
        return self.model._told(), [self.prompts[index]]

    def only(self, indexes: Sequence[int]) -> "TextCall":
        """Return the call for some of the prompts."""
        call = TextCall(
            self.model,
            [self.prompts[index] for index in indexes],
            self.stop,
            self.params,
            self.runtime,
            [self.run_ids[index] for index in indexes],
        )
        call.timeout, call.retry, call.ends_at = self.timeout, self.retry, self.ends_at
        if self.managers:
            call.managers = [self.managers[index] for index in indexes]
            call.details = lambda index: {**self.details(indexes[index]), "batch_size": len(indexes)}
        return call

    # -- chunks

    def received(self, chunk: Any) -> Any:
        if not isinstance(chunk, GenerationChunk):
            raise InvalidHook(
                f"the stream hook of {type(self.model).__name__} yielded {type(chunk).__name__}; "
                "it must yield GenerationChunk(text=...)"
            )
        self._pieces.append(chunk.text)
        self.sizes.append(len(chunk.text))
        if chunk.generation_info:
            self._infos.append(copy_containers(chunk.generation_info))
        return chunk if self.is_raw else chunk.text

    def shared(self, chunk: GenerationChunk, bills: Callable[[Call], bool]) -> GenerationChunk:
        return chunk  # only its text is handed out

    @property
    def has_begun(self) -> bool:
        return bool(self._pieces)

    def restart(self) -> None:
        self._pieces.clear()
        self._infos.clear()
        self.sizes.clear()

    def gathered(self) -> str:
        return "".join(self._pieces)

    def shown(self, item: Any) -> tuple[str, GenerationChunk]:
        return item, GenerationChunk(text=item)

    def last_chunk(self) -> None:
        return None

    # -- results

    def streamed(self) -> LLMResult:
        if not self._pieces:
            raise EmptyResponse(
                f"No generation chunks were returned: the stream of {type(self.model).__name__} ended without one"
            )
        return LLMResult(generations=[[Generation(text=self.gathered(), generation_info=self._info())]])

    def checked(self, result: Any, hook: str) -> LLMResult:
        name = f"{type(self.model).__name__}.{hook}"
        if not isinstance(result, LLMResult):
            raise InvalidHook(f"{name} returned {type(result).__name__}; it must return LLMResult(generations=[[...]])")
        if len(result.generations) != len(self.prompts):
            raise InvalidHook(
                f"{name} returned {len(result.generations)} lists of candidates for {len(self.prompts)} prompts"
            )
        if not all(result.generations):
            raise EmptyResponse(f"empty response: {name} returned no candidate for one of its prompts")
        return result

    def finished(self, result: LLMResult) -> LLMResult:
        runs = [RunInfo(run_id=run_id) for run_id in self.run_ids]
        return LLMResult(generations=result.generations, llm_output=result.llm_output, run=runs)

    def partial(self) -> LLMResult:
        info = {**(self._info() or {}), PARTIAL: True}
        return LLMResult(generations=[[GenerationChunk(text=self.gathered(), generation_info=info)]])

    def unbilled(self, response: LLMResult) -> LLMResult:
        made = [[copy_of(one) for one in several] for several in response.generations]
        for one in (one for several in made for one in several):
            one.generation_info = {**(one.generation_info or {}), CACHE_HIT: True}
        return LLMResult(generations=made)

    def _info(self) -> dict[str, Any] | None:
        return merge_facts(*self._infos) or None

    def responses(self, result: LLMResult) -> list[LLMResult]:
        copies = [[copy_of(candidate) for candidate in candidates] for candidates in result.generations]
        return LLMResult(generations=copies, llm_output=result.llm_output).flatten()

    # -- caching

    def key(self) -> tuple[str, str]:
        return prompt_key(self.prompts[0]), self.model._get_llm_string(self.stop, **self.params)

    def candidates(self, result: LLMResult) -> list[Generation]:
        candidates = result.generations[0]
        if len(self.sizes) < 2:
            return list(candidates)
        info = {**(candidates[0].generation_info or {}), CHUNK_SIZES: self.sizes}
        return [Generation(text=candidates[0].text, generation_info=info)]

    def result(self, candidates: Sequence[Generation], *, cached: bool) -> LLMResult:
        made: list[Generation] = []
        for candidate in candidates:
            info = self.without_sizes(candidate)
            if cached:
                info[CACHE_HIT] = True
            made.append(Generation(text=candidate.text, generation_info=info or None))
        return LLMResult(generations=[made], llm_output={})

    def chunks(self, result: LLMResult) -> list[GenerationChunk]:
        answer = result.generations[0][0]
        pieces, self.sizes = cut_text(answer.text, self.sizes), []
        chunks = [GenerationChunk(text=text) for text in pieces or [""]]
        chunks[-1].generation_info = answer.generation_info
        return chunks
