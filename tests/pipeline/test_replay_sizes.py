"""Answers cut as they were streamed: the pieces have those lengths, and fold to the answer, whatever the lengths are."""

from typing import Any

from hypothesis import given, strategies as st

from hocket._pipeline.replay_sizes import cut, cut_by_lengths, length_of
from hocket.caches import InMemoryCache
from hocket.messages import AIMessageChunk
from hocket.testing import ScriptedChatModel, Turn

text = st.text(max_size=12)
lengths = st.lists(st.integers(-1, 6), max_size=8)


@st.composite
def contents(draw: st.DrawFn) -> Any:
    """Return a text, or blocks, some of which can be cut."""
    blocks = []
    for index in range(draw(st.integers(0, 4))):
        block: dict[str, Any] = draw(
            st.sampled_from([{"type": "text", "text": "x"}, {"type": "reasoning", "reasoning": "x"}, {"type": "image"}])
        )
        block = {name: draw(text) if name in ("text", "reasoning") else value for name, value in block.items()}
        if draw(st.booleans()):
            block["extras"] = {"signature": "s"}
        blocks.append({**block, "index": index} if draw(st.booleans()) else block)
    return draw(st.one_of(text, st.just(blocks)))


def folded(pieces: list[Any], content: Any) -> Any:
    """Return what chunks with these contents make, the last of them empty."""
    whole = AIMessageChunk(type(content)())
    for piece in pieces:
        whole = whole + AIMessageChunk(piece)
    return whole.content


@given(contents(), lengths)
def test_the_pieces_fold_to_the_content(content: Any, lengths: list[int]) -> None:
    """Also when the lengths are those of something else."""
    before = repr(content)
    assert folded(cut(content, lengths), content) == content
    assert repr(content) == before


@given(text, lengths)
def test_the_pieces_of_a_text_have_the_lengths(whole: str, lengths: list[int]) -> None:
    """In their order, as far as the text goes; a last piece has the rest."""
    pieces = cut_by_lengths(whole, lengths)
    assert "".join(pieces) == whole
    assert all(pieces)
    wanted = [length for length in lengths if length > 0]
    assert [len(piece) for piece in pieces[:-1]] == wanted[: max(0, len(pieces) - 1)]


def test_only_what_finds_together_again_is_cut() -> None:
    """Blocks without an index would become several."""
    assert cut([{"type": "text", "text": "abcd"}], [2, 2]) == [[{"type": "text", "text": "abcd"}]]
    assert length_of([{"type": "text", "text": "abcd"}, "abc", {"type": "image", "index": 0}]) == 0
    assert length_of([{"type": "text", "text": "abcd", "index": 0}]) == length_of("abcd") == 4


async def test_reasoning_and_text_are_replayed_as_they_came() -> None:
    """Block by block, piece by piece; what belongs to a block once comes with its first piece."""
    model = ScriptedChatModel(script=[Turn(text=["Hel", "lo"], reasoning="hmm")], cache=InMemoryCache())
    first = [chunk.content async for chunk in model.astream("hi")]
    second = [chunk.content async for chunk in model.astream("hi")]
    assert [piece for piece in second if piece] == [piece for piece in first if piece]
    assert len([piece for piece in second if piece]) == 3
