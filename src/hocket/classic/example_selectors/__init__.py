"""Which examples go into a prompt: the first that fit, or those that are about the same. LangChain's names."""

from hocket.classic.example_selectors.by_meaning import (
    MaxMarginalRelevanceExampleSelector,
    SemanticSimilarityExampleSelector,
    sorted_values,
)
from hocket.prompts.example_selectors import BaseExampleSelector, LengthBasedExampleSelector

__all__ = [
    "BaseExampleSelector",
    "LengthBasedExampleSelector",
    "MaxMarginalRelevanceExampleSelector",
    "SemanticSimilarityExampleSelector",
    "sorted_values",
]
