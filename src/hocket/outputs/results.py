"""What a call returns: a candidate answer, a piece of one, and the candidates for one prompt or for each of several.

A hook wraps every chunk of every stream in a candidate, so that three paths are short-cut. Each stores less than all
fields in the instance, and `LazyFields` makes the rest when another field is first read; property tests compare the
outcome to that of validation.

- Built from one of hocket's own messages alone, a candidate is not validated, and stores the message. Its text is read
  off the message later.
- The sum of two chunks stores the sum of their messages, which is lazy too, and a pair of their infos (`_INFOS`), so that
  adding up a stream is linear.
- A copy for handlers (`copy_lazily`) stores the original message (`_ORIGINAL`) and copies it when it is first read.
"""

from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, cast
from uuid import UUID

from pydantic import SerializeAsAny, model_validator

from hocket.load.late_build import LateModel
from hocket.load.lazy_fields import ALL_FIELDS, AllFields, LazyFields
from hocket.load.serializable import Serializable, allocate, construct, get_fields, set_fields
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, BaseMessageChunk
from hocket.messages.base import copy_message
from hocket.messages.content import Fields
from hocket.messages.folding import leaves, merge_facts
from hocket.messages.pieces import copy_containers
from hocket.outputs.generation import Generation, GenerationChunk

__all__ = [
    "ChatGeneration",
    "ChatGenerationChunk",
    "ChatResult",
    "LLMResult",
    "RunInfo",
    "chat_generation",
    "chat_result",
    "copy_lazily",
    "llm_result",
    "merge_chat_generation_chunks",
]

_INFOS = "_infos"  # the key under which a sum that has not been read yet holds the infos of its operands
_ORIGINAL = "_original"  # the key under which a lazy copy holds the message to copy
_NOT_SUMMED = ("text", "generation_info", ALL_FIELDS)  # what a sum does not take over from its first addend


class ChatGeneration(LazyFields, Generation):
    """One candidate answer of a chat model.

    Args:
        message: the answer; ``text`` is read off it.
        generation_info: what the provider said about it.
    """

    _last_field: ClassVar = "type"
    _first_fields: ClassVar = frozenset({"text", "generation_info", "message"})

    text: str = ""
    message: SerializeAsAny[BaseMessage]
    type: Literal["ChatGeneration"] = "ChatGeneration"  # type: ignore[assignment]

    if not TYPE_CHECKING:

        def __init__(self, *, message: Any = ..., **values: Any) -> None:
            """Build from a message alone, as every hook does for every chunk, without the validator (see below)."""
            if not values and _short_cuts.get(type(message)) is type(self):
                set_fields(self, {"generation_info": None, "message": message})
            else:
                super().__init__(**(values if message is ... else {**values, "message": message}))

        def _make_fields(self, held: Fields) -> AllFields:
            if "text" in held:  # from `chat_generation`
                made = {"text": held["text"], "generation_info": held["generation_info"], "type": "ChatGeneration"}
                made["message"] = held["message"]
                return made, set(made), None
            return self._of(held["message"], held["generation_info"])

        def _of(self, message: BaseMessage, info: Fields | None) -> AllFields:
            kind = type(self).__name__
            made = {"text": message.text, "generation_info": info, "type": kind, "message": message}
            return made, {"message"}, None

    @model_validator(mode="after")
    def _read_text(self) -> Self:
        fields = get_fields(self)
        if "text" in fields:  # else it is read at the first look
            fields["text"] = self.message.text
        return self


class ChatGenerationChunk(ChatGeneration):
    """A piece of a chat model's answer as it streams in."""

    _last_field: ClassVar = "text"  # a sum has a type, its first addend's
    _first_fields: ClassVar = frozenset({"generation_info", "message", _INFOS, _ORIGINAL})

    message: SerializeAsAny[BaseMessageChunk]  # pyright: ignore[reportIncompatibleVariableOverride]
    type: Literal["ChatGenerationChunk"] = "ChatGenerationChunk"  # type: ignore[assignment]

    def __add__(self, other: Any) -> Self:
        """Return the answer so far: this chunk and then ``other``, a chunk or a list of chunks.

        Messages are added up, and of the infos a later value replaces an earlier one; None replaces nothing.

        Raises:
            TypeError: ``other`` is something else.
        """
        chunks = cast("list[Any]", other) if isinstance(other, list | tuple) else (other,)
        message, infos = self.message, _infos(self)
        for chunk in chunks:
            if not isinstance(chunk, ChatGenerationChunk):
                raise TypeError(f"cannot add {type(chunk).__name__} to {type(self).__name__}: it is no such chunk")
            message, infos = message + chunk.message, (infos, _infos(chunk))
        cls = type(self)
        total = cls.__new__(cls)
        fields = {name: value for name, value in get_fields(self).copy().items() if name not in _NOT_SUMMED}
        set_fields(total, {**fields, "message": message, _INFOS: infos})
        return total

    if not TYPE_CHECKING:

        def _make_fields(self, held: Fields) -> AllFields:
            if _ORIGINAL in held:
                return self._of(copy_message(held[_ORIGINAL]), None)
            if _INFOS not in held:
                return super()._make_fields(held)
            made, _, extra = self._of(held["message"], merge_facts(*leaves(held[_INFOS])) or None)
            others = held.copy()  # in one step: another thread may look first too
            del others[_INFOS]
            return {**made, **others}, set(type(self).__pydantic_fields__), extra

        def _others(self, held: Fields) -> Fields:
            return {} if _INFOS in held else super()._others(held)  # `_make_fields` has them


def chat_generation(message: BaseMessage, info: Fields | None, like: ChatGeneration | None = None) -> ChatGeneration:
    """Return a candidate of valid parts, all of them given, without the validator; its text is that of ``like``."""
    text = None if like is None else get_fields(like).get("text")
    made: ChatGeneration = allocate(ChatGeneration)
    text = (message if like is None else like.message).text if text is None else text
    set_fields(made, {"text": text, "generation_info": info, "message": message})
    return made


def copy_lazily(message: BaseMessageChunk) -> ChatGenerationChunk:
    """Return a chunk with a copy of ``message``, whose containers are all its own, which is made at the first look.

    Handlers are given one for every chunk of every stream, and most of them only want its text.
    """
    made: ChatGenerationChunk = allocate(ChatGenerationChunk)
    set_fields(made, {_ORIGINAL: message})
    return made


def _infos(chunk: ChatGenerationChunk) -> Any:
    fields = get_fields(chunk)
    return fields[_INFOS] if _INFOS in fields else copy_containers(fields["generation_info"])


_short_cuts = {AIMessage: ChatGeneration, AIMessageChunk: ChatGenerationChunk}
"""Which class may take which message, by their exact types, without a look."""


def merge_chat_generation_chunks(chunks: list[ChatGenerationChunk]) -> ChatGenerationChunk | None:
    """Return the sum of ``chunks``; None, if there are none."""
    return chunks[0] + chunks[1:] if len(chunks) > 1 else chunks[0] if chunks else None


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


class RunInfo(LateModel):
    """Which run an answer came from."""

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
