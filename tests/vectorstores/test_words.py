"""What the words of a text are, and how well a text answers a question by them."""

import random
import sqlite3

import pytest
from hypothesis import given, strategies as st

from hocket.documents import Document
from hocket.vectorstores.memory import WordIndex
from hocket.vectorstores.words import split_query, split_words

WORDS = "CREATE VIRTUAL TABLE words USING fts5(text, tokenize=\"ascii tokenchars '-._'\")"

TEXTS = [
    ("Bleed the Boiler!", "bleed the boiler"),
    ("Café, e\u0301tude, Straße, Ελλάδα, ﬁne ½ \uff21\uff22\uff23", "cafe etude strasse ελλαδα fine 1 2 abc"),
    ("E4711: ERR_CONN-17.", "e4711 err_conn-17 err conn 17"),
    ("v1.2.3 of well-known foo_bar", "v1.2.3 v1 2 3 of well known foo_bar foo bar"),
    ("__init__ -- ... a_ _b", "init a b"),
    ("हिन्दी भाषा", "हिन्दी भाषा"),
    ("你好吗 hello", "你 好 吗 你好 好吗 hello"),
    ("東京2020年", "東 京 東京 2020 年"),
    ("학교에", "학 교 에 학교 교에"),
    ("!? … \u200b\U0001f388", ""),
    ("x" * 500, "x" * 200),
]


@pytest.mark.parametrize(("text", "words"), TEXTS, ids=lambda value: value[:20])
def test_the_words_of_a_text(text: str, words: str) -> None:
    """Case and accents do not count; codes are words as a whole and in parts; Chinese is read in characters and pairs."""
    assert split_words(text) == words.split()


@given(st.text())
def test_words_are_words_again(text: str) -> None:
    """A word has neither spaces nor upper case in it, so that a database can keep words in one text."""
    words = split_words(text)
    assert " ".join(words).split() == words
    assert all(word.isprintable() or not word.isascii() for word in words)


@given(st.text(max_size=30))
def test_a_database_finds_each_word(text: str) -> None:
    """FTS5 takes the words as they are, whatever writing they are in."""
    connection = sqlite3.connect(":memory:")
    connection.execute(WORDS)
    connection.execute("INSERT INTO words (text) VALUES (?)", (" ".join(split_words(text)),))
    for word in split_query(text):
        assert connection.execute("SELECT count(*) FROM words WHERE words MATCH ?", (f'"{word}"',)).fetchone() == (1,)
    connection.close()


def test_a_question_asks_each_word_once() -> None:
    """However long it is."""
    assert split_query("to be, or not TO BE") == ["to", "be", "or", "not"]
    assert len(split_query(" ".join(map(str, range(5_000))))) == 200


ALPHABET = ["a", "b", "the", "THE", "x", "é", "E4711", "你", "err_1-2", "word"]


@given(
    texts=st.lists(st.lists(st.sampled_from(ALPHABET), max_size=12).map(" ".join), max_size=15),
    query=st.lists(st.sampled_from(ALPHABET), max_size=4).map(" ".join),
    deleted=st.sets(st.integers(0, 14)),
)
def test_scores_are_those_of_sqlite(texts: list[str], query: str, deleted: set[int]) -> None:
    """The formula is FTS5's: the same texts are found, with the same scores; deleted ones do not count."""
    index = WordIndex()
    documents = [Document(text) for text in texts]
    index.follow(documents[:3], len(documents[:3]))
    index.follow(documents, len(documents))
    alive = bytes(number not in deleted for number in range(len(texts)))
    found = index.search(split_query(query), 99, alive, alive)

    connection = sqlite3.connect(":memory:")
    connection.execute(WORDS)
    for number, text in enumerate(texts):
        if alive[number]:
            connection.execute("INSERT INTO words (rowid, text) VALUES (?, ?)", (number, " ".join(split_words(text))))
    asked = " OR ".join(f'"{word}"' for word in split_query(query)) or '""'
    rows = connection.execute("SELECT rowid, -bm25(words) FROM words WHERE words MATCH ?", (asked,)).fetchall()
    connection.close()
    assert dict(found) == pytest.approx(dict(rows))
    assert [score for _, score in found] == sorted((score for _, score in found), reverse=True)


def test_common_words_are_passed_over_and_change_nothing() -> None:
    """Where rare words have found enough, only these documents are looked at; the best are those of a search for all."""
    chance = random.Random(1)
    for _ in range(10):
        texts = [" ".join(chance.choices("abcdef", weights=[32, 16, 8, 4, 2, 1], k=4)) for _ in range(200)]
        index = WordIndex()
        index.follow([Document(text) for text in texts], len(texts))
        alive = bytes(chance.random() < 0.9 for _ in texts)
        wanted = bytes(one and chance.random() < 0.7 for one in alive)
        everything = index.search([*"abcdef"], len(texts), alive, wanted)
        for k in range(1, 60, 3):
            assert index.search([*"abcdef"], k, alive, wanted) == everything[:k]
