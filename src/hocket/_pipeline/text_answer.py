"""Answers that are texts: texts in, candidate texts for each out."""

from collections.abc import Callable, Sequence
from typing import Any

from hocket._pipeline.answer import CACHE_HIT, CHUNK_SIZES, PARTIAL, AnswerFold, AnswerKind, Restored, take_sizes
from hocket._pipeline.replay_sizes import cut_by_lengths
from hocket._pipeline.request import CallRequest
from hocket.errors import EmptyResponse, InvalidHook
from hocket.messages import UsageMetadata
from hocket.messages.base import copy_containers
from hocket.messages.folding import merge_facts
from hocket.outputs import Generation, GenerationChunk, LLMResult, RunInfo
from hocket.outputs.copies import copy_of

__all__ = ["TEXT", "TextAnswer"]


class TextFold(AnswerFold):
    """What the chunks of a text have made so far."""

    def __init__(self, request: CallRequest, is_shared: bool) -> None:
        self.sizes: list[int] = []
        self._request = request
        self._is_shared = is_shared
        self._pieces: list[str] = []
        self._infos: list[dict[str, Any]] = []

    def add(self, chunk: Any) -> GenerationChunk | str:
        if not isinstance(chunk, GenerationChunk):
            raise InvalidHook(
                f"the stream hook of {self._request.class_name} yielded {type(chunk).__name__}; "
                "it must yield GenerationChunk(text=...)"
            )
        self._pieces.append(chunk.text)
        self.sizes.append(len(chunk.text))
        if chunk.generation_info:
            self._infos.append(copy_containers(chunk.generation_info))
        return chunk if self._is_shared else chunk.text

    def partial_message(self) -> str:
        return "".join(self._pieces)

    def partial_response(self) -> LLMResult:
        info = {**(self._info() or {}), PARTIAL: True}
        return LLMResult(generations=[[GenerationChunk(text=self.partial_message(), generation_info=info)]])

    def hit_chunk(self) -> None:
        return None

    def result(self) -> LLMResult:
        if not self._pieces:
            raise EmptyResponse(
                f"No generation chunks were returned: the stream of {self._request.class_name} ended without one"
            )
        return LLMResult(generations=[[Generation(text=self.partial_message(), generation_info=self._info())]])

    def _info(self) -> dict[str, Any] | None:
        return merge_facts(*self._infos) or None


class TextAnswer(AnswerKind[LLMResult, GenerationChunk]):
    """A text for each prompt."""

    start_event = "on_llm_start"
    takes_list = True

    def check(self, request: CallRequest, result: object, hook: str) -> LLMResult:
        name = f"{request.class_name}.{hook}"
        if not isinstance(result, LLMResult):
            raise InvalidHook(f"{name} returned {type(result).__name__}; it must return LLMResult(generations=[[...]])")
        if len(result.generations) != len(request.prompts):
            raise InvalidHook(
                f"{name} returned {len(result.generations)} lists of candidates for {len(request.prompts)} prompts"
            )
        if not all(result.generations):
            raise EmptyResponse(f"empty response: {name} returned no candidate for one of its prompts")
        return result

    # -- chunks

    def new_fold(self, request: CallRequest, is_shared: bool) -> TextFold:
        return TextFold(request, is_shared)

    def token_event_args(self, item: Any) -> tuple[str, GenerationChunk]:
        return item, GenerationChunk(text=item)

    def copy_shared_chunk(self, chunk: GenerationChunk, has_bill: Callable[[], bool]) -> GenerationChunk:
        return chunk  # only its text is handed out

    def make_chunks(self, result: LLMResult, sizes: Sequence[int]) -> list[GenerationChunk]:
        answer = result.generations[0][0]
        chunks = [GenerationChunk(text=text) for text in cut_by_lengths(answer.text, sizes) or [""]]
        chunks[-1].generation_info = answer.generation_info
        return chunks

    # -- results

    def finish(self, request: CallRequest, result: LLMResult) -> LLMResult:
        runs = [RunInfo(run_id=run_id) for run_id in request.run_ids]
        return LLMResult(generations=result.generations, llm_output=result.llm_output, run=runs)

    def make_responses(self, result: LLMResult, finished: LLMResult) -> list[LLMResult]:
        copies = [[copy_of(candidate) for candidate in candidates] for candidates in finished.generations]
        return LLMResult(generations=copies, llm_output=finished.llm_output).flatten()

    def failure_response(self, error: BaseException, fold: AnswerFold | None) -> LLMResult:
        return fold.partial_response() if fold else LLMResult(generations=[])

    def without_usage(self, response: LLMResult) -> LLMResult:
        copies = [[copy_of(one) for one in several] for several in response.generations]
        for one in (one for several in copies for one in several):
            one.generation_info = {**(one.generation_info or {}), CACHE_HIT: True}
        return LLMResult(generations=copies)

    def read_usage(self, result: LLMResult) -> UsageMetadata | None:
        """Return what ``llm_output`` says, in OpenAI's words, as LangChain's text models do."""
        told: object = (result.llm_output or {}).get("token_usage")
        match told:
            case {"prompt_tokens": int(read), "completion_tokens": int(written)}:
                return {"input_tokens": read, "output_tokens": written, "total_tokens": read + written}
            case _:
                return None

    # -- caching

    def candidates(self, result: LLMResult, sizes: Sequence[int]) -> list[Generation]:
        candidates = result.generations[0]
        if len(sizes) < 2:
            return list(candidates)
        info = {**(candidates[0].generation_info or {}), CHUNK_SIZES: list(sizes)}
        return [Generation(text=candidates[0].text, generation_info=info)]

    def restore(self, candidates: Sequence[Generation], *, cached: bool) -> Restored:
        copies: list[Generation] = []
        sizes: Sequence[int] = ()
        for candidate in candidates:
            info, sizes = take_sizes(candidate)
            if cached:
                info[CACHE_HIT] = True
            copies.append(Generation(text=candidate.text, generation_info=info or None))
        return Restored(LLMResult(generations=[copies], llm_output={}), sizes)

    def with_usage(self, result: LLMResult, sizes: Sequence[int]) -> LLMResult:
        own: LLMResult = self.restore(self.candidates(result, sizes), cached=False).result
        own.llm_output = copy_containers(result.llm_output)
        return own


TEXT = TextAnswer()
