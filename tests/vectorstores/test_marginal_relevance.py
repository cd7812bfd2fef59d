"""Vectors picked by likeness to a question and unlikeness to one another."""

from hocket.vectorstores import maximal_marginal_relevance


def test_what_is_new_is_preferred_to_what_is_near() -> None:
    vectors = [[0.0, 1.0], [1.0, 0.0], [1.0, 0.01], [0.7, 0.7]]
    assert maximal_marginal_relevance([1.0, 0.0], vectors, 1.0, 2) == [1, 2]
    assert maximal_marginal_relevance([1.0, 0.0], vectors, 0.3, 2) == [1, 0]
    assert maximal_marginal_relevance([1.0, 0.0], [], k=2) == []
    assert len(maximal_marginal_relevance([1.0, 0.0], vectors, k=9)) == 4
