"""Words in PostgreSQL: hocket's own, in a tsvector, and BM25 over them.

PostgreSQL's parsers and dictionaries are left out: a question finds the same documents here as in every other store, with
the same scores. A tsvector keeps where a word is; here the positions only count: a word that is there three times has 1, 2
and 3. PostgreSQL's own ranking does not know how rare a word is, so that an error code would weigh no more than "what".
"""

from collections import Counter
from collections.abc import Iterable
from typing import Final

from hocket.vectorstores.words import split_words

__all__ = ["SEARCH_WORDS", "count_words", "join_words", "quote_word"]

_MOST: Final = 255
"""Positions that a tsvector keeps of a word."""

_ROOM: Final = 2**19
"""Bytes of words in a tsvector, which takes twice as much in all."""

SEARCH_WORDS: Final = """
    WITH whole AS (
        SELECT count(*)::float8 AS there, sum(length)::float8 / count(*) AS average FROM {documents}
    ), asked AS MATERIALIZED (
        SELECT word, place, (SELECT count(*) FROM {documents} WHERE words @@ query::tsquery)::float8 AS have
        FROM unnest(%s::text[], %s::text[]) WITH ORDINALITY AS given (word, query, place)
    ), weighed AS MATERIALIZED (
        SELECT word, place, CASE
            WHEN (there - have + 0.5) / (have + 0.5) > 1 THEN ln((there - have + 0.5) / (have + 0.5)) ELSE 1e-6
        END AS weight, average
        FROM asked, whole WHERE have > 0
    ), best AS (
        SELECT number, sum(
            weight * cardinality(positions) * 2.2::float8
            / (cardinality(positions) + 1.2::float8 * (0.25::float8 + 0.75::float8 * length / average)) ORDER BY place
        ) AS score
        FROM {documents} CROSS JOIN LATERAL unnest(ts_filter(setweight(words, 'A', %s::text[]), '{{a}}')) AS one
        JOIN weighed ON word = lexeme
        WHERE words @@ %s::tsquery AND {condition}
        GROUP BY number ORDER BY score DESC, number LIMIT %s
    )
    SELECT id, content, metadata::text, vector, score
    FROM best JOIN {documents} USING (number) JOIN {vectors} USING (hash) ORDER BY score DESC, number
"""
"""Values: the words, the same quoted, the words again, all of them joined by ``|``, what the condition binds, and how many
documents. The weight A is for the words that are asked for: to look at all words of a document takes four times as long.

The formula is that of SQLite's FTS5, with its constants: a word that more than half of the documents have counts next to
nothing. It is summed in the order of the words, for a sum of floats depends on the order.
"""


def count_words(text: str) -> tuple[str, int]:
    """Return the words of a text as a tsvector is written, and how many there are.

    The tsvector of a text with a hundred thousand different words has those that come first.
    """
    words = split_words(text)
    parts: list[str] = []
    room = _ROOM
    for word, count in Counter(words).items():
        room -= len(word.encode()) + 2 * min(count, _MOST) + 8
        if room < 0:
            break
        parts.append(f"{quote_word(word)}:{','.join(map(str, range(1, min(count, _MOST) + 1)))}")
    return " ".join(parts), len(words)


def quote_word(word: str) -> str:
    """Return a word as it is written in a tsvector or a tsquery."""
    escaped = word.replace("\\", "\\\\").replace("'", "''")
    return f"'{escaped}'"


def join_words(words: Iterable[str]) -> str:
    """Return a tsquery for any of some words."""
    return " | ".join(map(quote_word, words))
