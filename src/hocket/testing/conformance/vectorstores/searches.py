"""Searches: which documents, in what order, with what scores."""

import random

import pytest

from hocket.documents import Document
from hocket.embeddings.similarity import measure_cosine
from hocket.errors import InvalidInput
from hocket.testing.conformance.vectorstores.suite import ExamEmbeddings, VectorStoreSuite

__all__ = ["Searches"]

BOILER = [
    ("bleed", "In May the boiler is bled: open the valve until water comes."),
    ("fault", "The display shows ERR_CONN-17 when the sensor is not plugged in."),
    ("other", "The display shows ERR_CONN-18 when the sensor is too hot."),
    ("filter", "Clean the filter of the pump twice a year."),
    ("cafe", "The café is closed on Mondays."),
]
SYNTAX = ['"', "a OR b AND NOT (", "boiler*", "content:boiler", "NEAR(a b)", "^'; --", "%_&|!<->"]


class Searches(VectorStoreSuite):
    """Tests of searches."""

    async def test_scores_are_cosines(self) -> None:
        """The nearest come first, with the cosine as score, whatever the vectors' lengths."""
        chance = random.Random(1)
        rows = [[chance.gauss() for _ in range(12)] for _ in range(80)]
        scaled = [[number * scale for number in row] for row in rows for scale in [10 ** chance.uniform(-3, 3)]]
        store = self.store()
        await self.add_rows(store, scaled)
        question = [chance.gauss() * 50 for _ in range(12)]
        cosines = [measure_cosine(question, row) for row in rows]
        expected = sorted(range(len(rows)), key=lambda number: -cosines[number])
        for k in (1, 10, 80, 500):
            found = await store.asimilarity_search_by_vector(question, k)
            assert [one.id for one in found] == [str(number) for number in expected[:k]]
            scores = [cosines[number] for number in expected[:k]]
            assert all(self.is_near(one.score, score) for one, score in zip(found, scores, strict=True))

    async def test_scores_do_not_leave_their_range(self) -> None:
        """The best is 1 and the worst -1."""
        store = self.store()
        await self.add_rows(store, [[0.1, 0.2, 0.3], [-0.1, -0.2, -0.3], [0.3, 0.0, -0.1]])
        found = await store.asimilarity_search_by_vector([0.7, 1.4, 2.1])
        scores = [one.score for one in found if one.score is not None]
        assert all(map(self.is_near, scores, [1, 0, -1]))
        assert all(-1 <= score <= 1 for score in scores)

    async def test_equal_scores_come_in_the_order_in_which_they_were_added(self) -> None:
        """Also over several calls, and after one was replaced, which makes it the last."""
        store = self.store()
        await self.add_rows(store, [[1.0, 0.0]] * 12)
        await store.aadd_vectors([Document("more", id="more"), Document("again", id="3")], [[2.0, 0.0]] * 2)
        order = [*(str(number) for number in range(12) if number != 3), "more", "3"]
        for k in (1, 5, 14):
            found = await store.asimilarity_search_by_vector([1.0, 0.0], k)
            assert [one.id for one in found] == order[:k]

    async def test_a_text_is_nearest_to_itself(self) -> None:
        """By text, with its score beside it, or as a retriever: the searches agree."""
        store = self.store()
        await store.aadd_documents([Document(text, id=name) for name, text in BOILER])
        for name, text in BOILER:
            found = await store.asimilarity_search(text, k=3)
            assert (found[0].id, found[0].page_content) == (name, text)
            assert self.is_near(found[0].score, 1)
            pairs = await store.asimilarity_search_with_score(text, k=3)
            assert [(one.id, score) for one, score in pairs] == [(one.id, one.score) for one in found]
            assert await store.as_retriever(search_kwargs={"k": 3}).ainvoke(text) == found

    async def test_a_threshold_is_the_least_score(self) -> None:
        """A document with exactly that score is found, one below it is not."""
        store = self.store()
        await self.add_rows(store, [[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-1.0, 0.0]])
        for threshold, count in ((0.999, 1), (0.59, 2), (-0.1, 3), (-1.0, 4), (1.1, 0)):
            found = await store.asimilarity_search_by_vector([1.0, 0.0], score_threshold=threshold)
            assert [one.id for one in found] == ["0", "1", "2", "3"][:count]
        retriever = store.as_retriever(
            search_type="similarity_score_threshold", search_kwargs={"score_threshold": 0.999}
        )
        await store.adelete()
        await store.aadd_texts(["near", "something else"])
        assert [one.page_content for one in await retriever.ainvoke("near")] == ["near"]

    async def test_variety(self) -> None:
        """Of documents that say the same, `amax_marginal_relevance_search` picks one before it picks the next."""
        store = self.store()
        await self.add_rows(store, [[1.0, 0.1, 0.0], [1.0, 0.11, 0.0], [1.0, 0.12, 0.0], [0.8, 0.0, 0.6]])
        question = [1.0, 0.1, 0.0]
        search = store.amax_marginal_relevance_search_by_vector
        assert [one.id for one in await search(question, k=2, lambda_mult=0.3)] == ["0", "3"]
        assert [one.id for one in await search(question, k=4, lambda_mult=1)] == ["0", "1", "2", "3"]
        assert [one.id for one in await search(question, k=2, fetch_k=3, lambda_mult=0)] == ["0", "2"]
        found = await search(question, k=9)
        assert len(found) == 4
        assert self.is_near(found[0].score, 1)

    async def test_variety_by_text(self) -> None:
        """By text, with a filter, and as a retriever."""
        store = self.store()
        await store.aadd_documents(
            [Document(text, id=name, metadata={"short": len(text) < 50}) for name, text in BOILER]
        )
        found = await store.amax_marginal_relevance_search(BOILER[3][1], k=1, filter={"short": True})
        assert [one.id for one in found] == ["filter"]
        retriever = store.as_retriever(search_type="mmr", search_kwargs={"k": 2, "lambda_mult": 1.0})
        assert (await retriever.ainvoke(BOILER[0][1]))[0].id == "bleed"

    async def test_words_are_found(self) -> None:
        """Whole words, in any case, with or without accents; the document that has more of the rare ones comes first."""
        store = self.store()
        await store.aadd_documents([Document(text, id=name, metadata={"n": len(name)}) for name, text in BOILER])
        if not self.has_words:
            with pytest.raises(InvalidInput):
                await store.asearch_words("boiler", 4)
            return
        asked = {
            "ERR_CONN-17": ["fault", "other"],
            "err_conn-18": ["other", "fault"],
            "what is CONN?": None,
            "boiler": ["bleed"],
            "BOILER valve": ["bleed"],
            "cafe": ["cafe"],
            "Café": ["cafe"],
            "boil": [],
            "nothing here about it": [],
            "!? … --": [],
            "": [],
        }
        for query, names in asked.items():
            found = await store.asearch_words(query, 9)
            if names is None:
                assert {one.document.id for one in found} >= {"fault", "other"}
            else:
                assert [one.document.id for one in found] == names, query
            assert all(one.score > 0 for one in found)
            assert [one.score for one in found] == sorted((one.score for one in found), reverse=True)
        assert [one.document.id for one in await store.asearch_words("ERR_CONN-17", 1)] == ["fault"]
        assert {one.document.id for one in await store.asearch_words("display", 9, {"n": 5})} == {"fault", "other"}
        assert await store.asearch_words("display", 9, {"n": 6}) == []

    @pytest.mark.parametrize("query", SYNTAX)
    async def test_words_are_no_syntax(self, query: str) -> None:
        """A question is words, whatever they would mean to a database."""
        store = self.store()
        await store.aadd_documents([Document(text, id=name) for name, text in BOILER])
        if self.has_words:
            found = await store.asearch_words(query, 9)
            assert ("bleed" in [one.document.id for one in found]) is ("boiler" in query)

    async def test_hybrid_finds_what_vectors_cannot(self) -> None:
        """An error code among texts that are alike is found by its words; without a weight for words it is as before."""
        embedding = ExamEmbeddings()
        store = self.store(embedding)
        codes = [Document(f"The display shows E{4000 + 7 * number}: call us.", id=str(number)) for number in range(60)]
        await store.aadd_documents(codes)
        if not self.has_words:
            with pytest.raises(InvalidInput):
                await store.ahybrid_search("E4210")
            return
        found = await store.ahybrid_search("what does error E4210 mean?", k=3)
        assert found[0].id == "30"
        scores = [one.score for one in found if one.score is not None]
        assert scores == sorted(scores, reverse=True)
        assert all(0 <= score <= 1 for score in scores)
        near = await store.asimilarity_search("what does error E4210 mean?", k=3)
        assert [one.id for one in await store.ahybrid_search("what does error E4210 mean?", k=3, words=0)] == [
            one.id for one in near
        ]
        assert await store.ahybrid_search("E4210", filter={"missing": 1}) == []
        assert await store.ahybrid_search("E4210", score_threshold=1.01) == []
        cosines = {one.id: one.score or 0.0 for one in await store.asimilarity_search("error E4210", k=len(codes))}
        least = sorted(cosines.values())[len(codes) // 2]
        blended = await store.ahybrid_search("error E4210", k=len(codes))
        assert [one.id for one in await store.ahybrid_search("error E4210", k=len(codes), score_threshold=least)] == [
            one.id for one in blended if cosines[one.id] >= least
        ]
        retriever = store.as_retriever(search_type="hybrid", search_kwargs={"k": 1})
        assert [one.id for one in await retriever.ainvoke("error E4210")] == ["30"]
        assert len(embedding.embedded) == len(codes) or not self.keeps_vectors
