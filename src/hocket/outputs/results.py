"""What a call returns: the candidates for one prompt, or for each of several."""

from typing import TYPE_CHECKING, Any, ClassVar, Literal
from uuid import UUID

from pydantic import BaseModel, ConfigDict, SerializeAsAny

from hocket.load.construct import allocate, construct, set_fields
from hocket.load.lazy_fields import AllFields, LazyFields
from hocket.load.serializable import Serializable
from hocket.messages.content import Fields
from hocket.messages.pieces import copy_containers
from hocket.outputs.chat_generation import ChatGeneration, ChatGenerationChunk
from hocket.outputs.generation import Generation, GenerationChunk

__all__ = ["ChatResult", "LLMResult", "RunInfo", "chat_result", "llm_result"]

if TYPE_CHECKING:
    _Candidate = Generation
else:  # a dumped candidate is read back as what it was
    _Candidate = SerializeAsAny[Generation | ChatGeneration | GenerationChunk | ChatGenerationChunk]


class ChatResult(LazyFields, Serializable):
    """What a chat model's hook returns for one prompt.

    Args:
        generations: the candidates, in the provider's order.
        llm_output: what the provider said about the call as a whole.
    """

    _last_field: ClassVar = "llm_output"
    _first_fields: ClassVar = frozenset({"generations"})

    generations: list[ChatGeneration]
    llm_output: Fields | None = None

    if not TYPE_CHECKING:

        def __init__(self, *, generations: Any = ..., **values: Any) -> None:
            """Build from candidates alone, as every hook does for every call, without the validator."""
            if not values and type(generations) is list and type(self) is ChatResult:
                for candidate in generations:
                    if type(candidate) is not ChatGeneration:
                        break
                else:
                    set_fields(self, {"generations": generations})
                    return
            super().__init__(**(values if generations is ... else {**values, "generations": generations}))

        def _make_fields(self, held: Fields) -> AllFields:
            return {"generations": held["generations"], "llm_output": None}, {"generations"}, None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Results travel as data."""
        return True


class RunInfo(BaseModel):
    """Which run an answer came from."""

    model_config: ClassVar[ConfigDict] = ConfigDict(defer_build=True)  # as with `Serializable`

    run_id: UUID


class LLMResult(LazyFields, Serializable):
    """The answers to several prompts.

    Args:
        generations: one list of candidates a prompt, in the order of the prompts.
        llm_output: what the provider said about the call as a whole.
        run: one entry a prompt.
    """

    _last_field: ClassVar = "type"
    _first_fields: ClassVar = frozenset({"generations", "llm_output"})

    generations: list[list[_Candidate]]
    llm_output: Fields | None = None
    run: list[RunInfo] | None = None
    type: Literal["LLMResult"] = "LLMResult"

    if not TYPE_CHECKING:

        def _make_fields(self, held: Fields) -> AllFields:
            made = {**held, "run": None, "type": "LLMResult"}
            return made, set(made), None

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Results travel as data."""
        return True

    def flatten(self) -> list["LLMResult"]:
        """Return one result a prompt. Token usage stays with the first and is blank in the rest: it counts once."""
        results: list[LLMResult] = []
        for index, candidates in enumerate(self.generations):
            output = copy_containers(self.llm_output)
            if index and output and "token_usage" in output:
                output["token_usage"] = {}
            results.append(LLMResult(generations=[candidates], llm_output=output))
        return results

    def __eq__(self, other: object) -> bool:
        """Two results are equal when their answers are: the runs they came from do not count, as in LangChain."""
        if not isinstance(other, LLMResult):
            return NotImplemented
        return self.generations == other.generations and self.llm_output == other.llm_output

    __hash__ = None  # type: ignore[assignment]


def chat_result(generations: list[ChatGeneration], llm_output: Fields | None) -> ChatResult:
    """Return a result of valid candidates, without the validator."""
    return construct(ChatResult, generations=generations, llm_output=llm_output)


def llm_result(generations: list[list[Generation]], llm_output: Fields | None) -> LLMResult:
    """Return a result of valid candidates, without the validator."""
    made: LLMResult = allocate(LLMResult)
    set_fields(made, {"generations": generations, "llm_output": llm_output})
    return made
