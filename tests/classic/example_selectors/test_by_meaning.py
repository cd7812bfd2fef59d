"""Examples that are about what a call is about."""

import pytest

from hocket.classic.example_selectors import (
    MaxMarginalRelevanceExampleSelector,
    SemanticSimilarityExampleSelector,
    sorted_values,
)
from hocket.embeddings import DeterministicFakeEmbedding
from hocket.errors import InvalidInput
from hocket.prompts import FewShotPromptTemplate, PromptTemplate
from hocket.vectorstores import InMemoryVectorStore

EXAMPLES = [{"word": "tall", "opposite": "short"}, {"word": "happy", "opposite": "sad"}]
MODEL = DeterministicFakeEmbedding(size=8)


async def test_the_nearest_examples_are_chosen() -> None:
    selector = await SemanticSimilarityExampleSelector.afrom_examples(
        EXAMPLES, MODEL, InMemoryVectorStore, k=1, input_keys=["word"], example_keys=["opposite"]
    )
    assert await selector.aselect_examples({"word": "happy", "more": "x"}) == [{"opposite": "sad"}]
    await selector.aadd_example({"word": "new", "opposite": "old"})
    assert await selector.aselect_examples({"word": "new"}) == [{"opposite": "old"}]
    with pytest.raises(InvalidInput, match="no 'word' to compare"):
        await selector.aselect_examples({"other": "x"})


def test_sync_code_chooses_and_adds() -> None:
    selector = SemanticSimilarityExampleSelector.from_examples(EXAMPLES, MODEL, InMemoryVectorStore, k=1)
    assert selector.select_examples({"word": "happy", "opposite": "sad"}) == [EXAMPLES[1]]
    assert isinstance(selector.add_example({"word": "x", "opposite": "y"}), str)


async def test_unlike_examples_are_chosen() -> None:
    selector = await MaxMarginalRelevanceExampleSelector.afrom_examples(
        [*EXAMPLES, EXAMPLES[1]], MODEL, InMemoryVectorStore, k=2, fetch_k=3
    )
    assert selector.fetch_k == 3
    assert await selector.aselect_examples(EXAMPLES[1]) == EXAMPLES[::-1]


async def test_a_few_shot_prompt_has_what_was_chosen() -> None:
    selector = await SemanticSimilarityExampleSelector.afrom_examples(
        EXAMPLES, MODEL, InMemoryVectorStore, k=1, input_keys=["word"]
    )
    prompt = FewShotPromptTemplate(
        example_selector=selector,
        example_prompt=PromptTemplate.from_template("{word}: {opposite}"),
        suffix="{word}:",
        example_separator="\n",
    )
    assert await prompt.aformat(word="happy") == "happy: sad\nhappy:"


def test_values_stand_in_the_order_of_their_keys() -> None:
    assert sorted_values({"b": 2, "a": 1}) == [1, 2]


def test_at_least_one_is_looked_for() -> None:
    with pytest.raises(InvalidInput, match="k is 0"):
        SemanticSimilarityExampleSelector(InMemoryVectorStore(MODEL), 0)
