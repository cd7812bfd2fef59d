"""Candidates and their chunks: text, info, sums, copies."""

import copy
import functools
import operator
import pickle
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.load import dumps, loads
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, ChatMessage, ChatMessageChunk, HumanMessageChunk
from hocket.outputs import ChatGeneration, ChatGenerationChunk, Generation, GenerationChunk
from hocket.outputs.copies import copy_of
from hocket.outputs.results import chat_generation, copy_lazily
from tests.kit import assert_linear

INFO = st.dictionaries(
    st.sampled_from(["finish_reason", "logprobs", "n"]),
    st.none() | st.sampled_from(["stop", "length"]) | st.integers() | st.lists(st.integers(), max_size=2),
    max_size=2,
)
TEXT_CHUNK = st.builds(GenerationChunk, text=st.text(max_size=3), generation_info=st.none() | INFO)
CHAT_CHUNK = st.builds(
    lambda text, info: ChatGenerationChunk(message=AIMessageChunk(text), generation_info=info),
    st.text(max_size=3),
    st.none() | INFO,
)


def state(generation: Generation) -> Any:
    """All that there is to a candidate."""
    return {
        "class": type(generation),
        "fields": list(vars(generation).items()),
        "given": generation.model_fields_set,
        "extra": generation.__pydantic_extra__,
        "private": generation.__pydantic_private__,
    }


# single candidates


@pytest.mark.parametrize(
    "generation",
    [
        Generation(text="a", generation_info={"finish_reason": "stop"}),
        GenerationChunk(text="a"),
        ChatGeneration(message=AIMessage("a", id="1"), generation_info={"finish_reason": "stop"}),
        ChatGeneration(message=ChatMessage("a", role="Moderator")),
        ChatGenerationChunk(message=AIMessageChunk("a")),
    ],
    ids=lambda generation: type(generation).__name__,
)
def test_candidates_survive_the_journey(generation: Generation) -> None:
    """By pickle and by `dumps`, copied and deeply copied."""
    assert generation.text == "a"
    assert pickle.loads(pickle.dumps(generation)) == generation
    assert loads(dumps(generation)) == generation
    assert copy.copy(generation) == copy.deepcopy(generation) == generation


@pytest.mark.parametrize(
    ("content", "text"),
    [
        ("a", "a"),
        ([], ""),
        (
            [
                "a",
                {"type": "text", "text": "b"},
                {"type": "image", "url": "u"},
                {"type": "reasoning", "reasoning": "r"},
            ],
            "ab",
        ),
        ([{"text": "a"}, {"text": None}, {"type": "text"}, {"type": None, "text": "b"}], "ab"),
    ],
)
def test_text_is_read_off_the_message(content: Any, text: str) -> None:
    """The whole text, that of untyped blocks too; a text that was passed does not count."""
    assert ChatGeneration(message=AIMessage(content)).text == text
    assert ChatGeneration(message=AIMessage(content), text="other").text == text
    assert ChatGenerationChunk(message=AIMessageChunk(content)).text == text


@pytest.mark.parametrize(
    ("cls", "message"), [(ChatGeneration, AIMessage("a")), (ChatGenerationChunk, AIMessageChunk([{"type": "text"}]))]
)
def test_the_short_cut_gives_what_validation_gives(cls: type[ChatGeneration], message: BaseMessage) -> None:
    """A candidate made from hocket's own message alone is the one that pydantic would have made."""
    quick, validated = cls(message=message), cls.model_validate({"message": message})
    assert state(quick) == state(validated)
    assert quick == validated == cls(message=message, generation_info=None)
    assert quick.message is message
    assert repr(quick) == repr(validated)
    assert quick.model_dump(exclude_unset=True) == validated.model_dump(exclude_unset=True)


@pytest.mark.parametrize("message", [None, "text", AIMessage("a"), {"content": 5}])
def test_what_is_no_chunk_of_a_message(message: Any) -> None:
    """A chunk of a candidate takes a chunk of a message, and the error says so."""
    with pytest.raises(ValueError, match="message"):
        ChatGenerationChunk(message=message)


def test_unknown_messages_are_candidates() -> None:
    """A message of a class of one's own is kept as it is."""

    class Mine(AIMessage, init=False):
        mood: str = "good"

    generation = ChatGeneration(message=Mine("a"))
    assert generation.message.model_dump()["mood"] == "good"
    assert generation.model_dump()["message"]["mood"] == "good"


# sums


@given(st.lists(TEXT_CHUNK, min_size=1) | st.lists(CHAT_CHUNK, min_size=1))
def test_chunks_add_up(chunks: list[Any]) -> None:
    """One by one and as a list: texts joined, infos by key, None replacing nothing; nobody is changed."""
    before = copy.deepcopy(chunks)
    total = functools.reduce(operator.add, chunks)
    assert total.text == "".join(chunk.text for chunk in chunks)
    rest = chunks[1:]
    assert chunks[0] + rest == operator.add(total, []) == chunks[0] + tuple(rest)
    for key in ("finish_reason", "n"):
        given = [chunk.generation_info[key] for chunk in chunks if (chunk.generation_info or {}).get(key) is not None]
        assert (total.generation_info or {}).get(key) == (given[-1] if given else None)
    if len(chunks) > 1 and total.generation_info:
        total.generation_info["mine"] = 1
    assert chunks == before


def test_log_probabilities_are_collected() -> None:
    """Every chunk brings those of its own tokens; a finish reason stays when a later chunk carries null."""
    infos: list[Any] = [{"logprobs": {"content": [1]}, "finish_reason": "stop"}, {"logprobs": {"content": [2]}}]
    infos.append({"finish_reason": None})
    expected = {"logprobs": {"content": [1, 2]}, "finish_reason": "stop"}
    texts = [GenerationChunk(text="a", generation_info=info) for info in infos]
    chats = [ChatGenerationChunk(message=AIMessageChunk("a"), generation_info=info) for info in infos]
    assert functools.reduce(operator.add, texts).generation_info == expected
    assert functools.reduce(operator.add, chats).generation_info == expected


def test_no_info_is_none() -> None:
    """As long as nobody has said anything."""
    chunk = ChatGenerationChunk(message=AIMessageChunk("a"), generation_info={})
    assert (chunk + chunk).generation_info is None
    assert (GenerationChunk(text="a") + GenerationChunk(text="b")).generation_info is None


@pytest.mark.parametrize(
    "other", [None, "a", AIMessageChunk("a"), Generation(text="a"), [GenerationChunk(text="a"), 1]]
)
def test_only_chunks_add_up(other: Any) -> None:
    """Anything else is a TypeError that names it."""
    for chunk in (GenerationChunk(text="a"), ChatGenerationChunk(message=AIMessageChunk("a"))):
        with pytest.raises(TypeError, match=f"cannot add .* to {type(chunk).__name__}"):
            chunk + other
    with pytest.raises(TypeError, match="cannot add GenerationChunk to ChatGenerationChunk"):
        ChatGenerationChunk(message=AIMessageChunk("a")) + GenerationChunk(text="a")


def test_sums_keep_their_classes() -> None:
    """Subclasses and their fields survive, and so do the classes of the messages."""

    class Mine(ChatGenerationChunk):
        rank: int = 0

    total = Mine(message=AIMessageChunk("a"), rank=3) + ChatGenerationChunk(message=AIMessageChunk("b"))
    assert isinstance(total, Mine)
    assert (total.rank, total.text) == (3, "ab")
    role = ChatMessageChunk("a", role="Moderator")
    chat = ChatGenerationChunk(message=role) + ChatGenerationChunk(message=role)
    assert chat.message == ChatMessageChunk("aa", role="Moderator")
    human = ChatGenerationChunk(message=HumanMessageChunk("a"))
    assert (human + human).message == HumanMessageChunk("aa")


def summed() -> ChatGenerationChunk:
    chunk = ChatGenerationChunk(message=AIMessageChunk("a"), generation_info={"finish_reason": None})
    return chunk + ChatGenerationChunk(message=AIMessageChunk("b"), generation_info={"finish_reason": "stop"})


SETTLED = ChatGenerationChunk(
    message=AIMessageChunk("a") + AIMessageChunk("b"), generation_info={"finish_reason": "stop"}
)
LOOKS: dict[str, Callable[[ChatGenerationChunk], Any]] = {
    "repr": repr,
    "itself": lambda chunk: chunk,
    "text": lambda chunk: chunk.text,
    "info": lambda chunk: chunk.generation_info,
    "message": lambda chunk: chunk.message,
    "vars": lambda chunk: list(vars(chunk).items()),
    "iteration": list,
    "model_dump": lambda chunk: list(chunk.model_dump().items()),
    "model_dump_json": lambda chunk: chunk.model_dump_json(),
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    "model_copy": lambda chunk: chunk.model_copy(update={"generation_info": None}),
    "pickle": lambda chunk: pickle.loads(pickle.dumps(chunk)),
    "dumps": dumps,
    "loads": lambda chunk: loads(dumps(chunk)),
    "copy_of": copy_of,
    "copy_of with changes": lambda chunk: copy_of(chunk, id="1"),
    "model_validate": ChatGenerationChunk.model_validate,
    "missing attribute": lambda chunk: hasattr(chunk, "nothing"),
}


@pytest.mark.parametrize("look", LOOKS)
def test_a_sum_looks_like_a_chunk_made_at_once(look: str) -> None:
    """Whatever is looked at first; and no look leaves a trace."""
    looked_at = summed()
    assert LOOKS[look](looked_at) == LOOKS[look](SETTLED)
    assert looked_at == SETTLED == summed()
    assert repr(looked_at) == repr(SETTLED)


def original() -> AIMessageChunk:
    return AIMessageChunk("ab", id="m", response_metadata={"headers": {"x": ["y"]}})


@pytest.mark.parametrize("look", LOOKS)
def test_a_chunk_copied_when_seen_looks_like_one_made_at_once(look: str) -> None:
    """Whatever is looked at first; and the copy is its own, all the way down."""
    message = original()
    seen, plain = copy_lazily(message), ChatGenerationChunk(message=original())
    assert LOOKS[look](seen) == LOOKS[look](plain)
    assert seen == plain
    assert repr(seen) == repr(plain)
    assert (seen + seen).message == (plain + plain).message
    seen.message.response_metadata["headers"]["x"].append("HACK")
    seen.text = "HACK"
    assert message == original()


def test_setting_a_field_of_a_sum() -> None:
    """What is set stays, and goes into the next sum."""
    chunk = summed()
    chunk.generation_info = {"mine": 1}
    assert (chunk.text, chunk.generation_info) == ("ab", {"mine": 1})
    assert (chunk + summed()).generation_info == {"mine": 1, "finish_reason": "stop"}


@pytest.mark.parametrize(
    "chunk",
    [
        ChatGenerationChunk(message=AIMessageChunk("word "), generation_info={"logprobs": {"content": [1]}}),
        ChatGenerationChunk(
            message=AIMessageChunk("", tool_call_chunks=[{"name": None, "args": "word ", "id": None, "index": 0}])
        ),
    ],
    ids=["text", "tool arguments"],
)
def test_adding_is_linear(chunk: ChatGenerationChunk) -> None:
    """Four times the chunks take about four times the time."""

    def add_up(count: int) -> None:
        assert functools.reduce(operator.add, [chunk] * count).message.tool_calls is not None

    assert_linear(add_up, 10_000)


# copies


@pytest.mark.parametrize(
    "generation",
    [
        Generation(text="a", generation_info={"b": [1]}),
        ChatGeneration(message=AIMessage([{"type": "text", "text": "a"}]), generation_info={"b": [1]}),
        ChatGenerationChunk(message=AIMessageChunk("a"), generation_info={"b": [1]}),
    ],
    ids=lambda generation: type(generation).__name__,
)
def test_a_copy_shares_no_container(generation: Any) -> None:
    """Editing the copy leaves the candidate as it was; changes are those of its message."""
    before = copy.deepcopy(generation)
    copied = copy_of(generation)
    assert (copied, type(copied)) == (generation, type(generation))
    copied.generation_info["b"].append(2)
    if isinstance(copied, ChatGeneration):
        copied.message.response_metadata["c"] = 1
        assert copy_of(generation, id="2").message.id == "2"
    assert generation == before


# made at the first look


def test_a_candidate_of_the_pipeline_was_given_all_that_it_holds() -> None:
    """A dump of what was given leaves out nothing that the provider said."""
    message = AIMessage("a")
    made = chat_generation(message, {"finish_reason": "stop"})
    message.content = "b"
    assert made.text == "a"
    assert made.model_fields_set == {"text", "generation_info", "type", "message"}
    assert made.model_dump(exclude_unset=True)["generation_info"] == {"finish_reason": "stop"}


def test_a_candidate_like_another_keeps_its_text() -> None:
    """Whoever put other words there meant them to be told."""
    candidate = ChatGeneration(message=AIMessage("a"))
    assert chat_generation(AIMessage("b"), None, candidate).text == "a"
    candidate.text = "c"
    assert chat_generation(AIMessage("b"), None, candidate).text == "c"


def test_attributes_that_are_no_fields_stay_when_a_candidate_is_made() -> None:
    """On candidates, their chunks, and sums of these."""
    chunk = ChatGenerationChunk(message=AIMessageChunk("a"))
    for candidate in (
        ChatGeneration(message=AIMessage("a")),
        chunk,
        chunk + chunk,
        copy_lazily(AIMessageChunk("a")),
    ):
        candidate._seen = True  # type: ignore[attr-defined]
        assert candidate.text
        assert candidate._seen  # type: ignore[attr-defined]
