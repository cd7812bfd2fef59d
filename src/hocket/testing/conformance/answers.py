"""What a model answers: whole, in pieces, many at once, in sync code; and what it says that it cannot."""

import pickle
from typing import Any

import anyio
import pytest
from pydantic import ValidationError

from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from hocket.testing.conformance.suite import IMAGE, REFUSALS, TOOL, Ends, Suite

__all__ = ["Answers"]


class Answers(Suite):
    """Tests of answers."""

    async def test_an_answer_is_a_message(self) -> None:
        """`ainvoke` returns an `AIMessage`, not a chunk, that says something and has an id."""
        async with self.answering() as model:
            reply = await model.ainvoke(self.question)
        assert type(reply) is AIMessage
        assert reply.id
        assert reply.text or reply.tool_calls, "the answer says nothing"

    async def test_a_stream_folds_to_the_answer(self) -> None:
        """The chunks of `astream` add up to what `ainvoke` returns: nothing is lost, doubled or made up on the way."""
        async with self.answering() as model:
            async with model.astream(self.question) as stream:
                chunks = [chunk async for chunk in stream]
            whole = await model.ainvoke(self.question)

        total = chunks[0]
        for chunk in chunks[1:]:
            total = total + chunk
        assert all(isinstance(chunk, AIMessageChunk) for chunk in chunks)
        assert not any(chunk.chunk_position for chunk in chunks[:-1]), "a chunk is marked as the last, and is not"
        assert _essence_of(total) == _essence_of(stream.message)
        if self.repeatable:
            assert _essence_of(stream.message) == _essence_of(whole)

    async def test_a_stream_comes_in_pieces(self) -> None:
        """`astream` hands out an answer as it comes, or, where the model says that it cannot, in one chunk."""
        async with self.answering() as model:
            chunks = [chunk async for chunk in model.astream(self.question)]
        if self.streams:
            assert sum(bool(chunk.text) for chunk in chunks) > 1, "all of the answer came in one chunk"
        else:
            assert len(chunks) == 1, "streams = False, but the answer came in several chunks"

    async def test_a_batch_answers_in_order(self) -> None:
        """Answer i of `abatch` is that to question i, however many are asked at once; so says each index, too."""
        questions = [f"{self.question} Question {number}." for number in range(8)]
        async with self.answering() as model:
            replies = await model.abatch(questions)
            indexed = dict([pair async for pair in model.abatch_as_completed(questions)])
            alone = [(await model.ainvoke(question)).text for question in questions] if self.repeatable else []
        assert len(replies) == len(indexed) == len(questions)
        assert all(isinstance(reply, AIMessage) for reply in replies)
        if self.repeatable:
            assert [reply.text for reply in replies] == alone
            assert [indexed[index].text for index in range(len(questions))] == alone

    def test_sync_verbs_answer_too(self) -> None:
        """`invoke`, `stream` and `batch` need no event loop, and answer as their async twins do."""
        with self.answering_threads() as model:
            reply = model.invoke(self.question)
            with model.stream(self.question) as stream:
                text = "".join(chunk.text for chunk in stream)
            batched = model.batch([self.question])
            twins = anyio.run(_ask_whole_and_streamed, model, self.question) if self.repeatable else None
        assert type(reply) is type(batched[0]) is AIMessage and reply.text
        assert text == stream.message.text != ""
        if twins is not None:
            assert (reply.text, text) == twins

    async def test_usage(self) -> None:
        """An answer says what it has cost, and the total is input and output; or the model says that it does not know."""
        async with self.answering() as model:
            usage = (await model.ainvoke(self.question)).usage_metadata
        assert (usage is not None) == self.has_usage
        if usage is not None:
            assert usage["output_tokens"] > 0
            assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]

    async def test_usage_of_a_stream(self) -> None:
        """A streamed answer says what it has cost, counted once; or the model says that it does not know."""
        async with self.answering() as model:
            async with model.astream(self.question) as stream:
                async for _ in stream:
                    pass
            usage, whole = stream.message.usage_metadata, (await model.ainvoke(self.question)).usage_metadata
        assert (usage is not None) == self.has_stream_usage
        if usage is not None:
            assert usage["total_tokens"] == usage["input_tokens"] + usage["output_tokens"]
            if self.repeatable and whole is not None:
                assert _read_counts(usage) == _read_counts(whole)

    async def test_tools_are_taken_or_refused(self) -> None:
        """`bind_tools` gives a model that answers; or it says that there are no tools."""
        async with self.answering() as model:
            if self.has_tools:
                assert isinstance(await model.bind_tools([TOOL]).ainvoke(self.question), AIMessage)
            else:
                with pytest.raises(REFUSALS):
                    await model.bind_tools([TOOL]).ainvoke(self.question)

    async def test_images_are_read_or_refused(self) -> None:
        """A message with an image is answered; or the model says that it reads none."""
        question = HumanMessage([{"type": "text", "text": self.question}, IMAGE])
        await self._check_taken_or_refused(self.has_images, [question])

    async def test_stop_is_kept_or_refused(self) -> None:
        """A call with ``stop`` is answered; or the model says that it cannot. It is never dropped in silence."""
        await self._check_taken_or_refused(self.has_stop, [HumanMessage(self.question)], stop=["\n\n\n"])

    async def _check_taken_or_refused(self, can: bool, messages: list[BaseMessage], **options: Any) -> None:
        async with self.answering() as model:
            if can:
                assert isinstance(await model.ainvoke(messages, **options), AIMessage)
                return
            with pytest.raises(REFUSALS):
                await model.ainvoke(messages, **options)
            with pytest.raises(REFUSALS):
                await anext(model.astream(messages, **options))

    async def test_the_callers_messages_are_left_alone(self) -> None:
        """A model neither edits nor keeps what it is given: the same messages can be sent again."""
        messages: list[BaseMessage] = [
            HumanMessage(self.question),
            AIMessage("I do not know."),
            HumanMessage(self.question),
        ]
        before = [message.model_copy(deep=True) for message in messages]
        async with self.answering() as model:
            await model.ainvoke(messages)
        assert messages == before

    async def test_every_run_ends_once(self) -> None:
        """Handlers hear of one start and one end for each answer, whole or streamed."""
        handler = Ends()
        async with self.answering() as model:
            await model.ainvoke(self.question, {"callbacks": [handler]})
            async for _ in model.astream(self.question, {"callbacks": [handler]}):
                pass
        assert handler.noted == ["started", "ended"] * 2

    async def test_an_unknown_option_is_refused(self) -> None:
        """A misspelt field is an error when the model is made, not an option that has no effect."""
        async with self.answering() as model:
            fields: dict[str, Any] = {name: getattr(model, name) for name in model.model_fields_set} | {
                "no_such_option": 1
            }
            with pytest.raises(ValidationError, match="no_such_option"):
                type(model)(**fields)

    async def test_a_model_travels(self) -> None:
        """A model is configuration: it can be pickled, in use or not, and answers where it is loaded."""
        async with self.answering() as model:
            await model.ainvoke(self.question)
            travelled: BaseChatModel = pickle.loads(pickle.dumps(model))
            assert isinstance(await travelled.ainvoke(self.question), AIMessage)


async def _ask_whole_and_streamed(model: BaseChatModel, question: str) -> tuple[str, str]:
    reply = await model.ainvoke(question)
    return reply.text, "".join([chunk.text async for chunk in model.astream(question)])


def _essence_of(message: AIMessage) -> Any:
    """What an answer says, whichever way it came; not the places that its parts had in a stream."""
    reason = message.response_metadata.get("finish_reason")
    blocks = [{name: value for name, value in block.items() if name != "index"} for block in message.content_blocks]
    return message.text, message.tool_calls, blocks, reason


def _read_counts(usage: Any) -> tuple[int, int]:
    return usage["input_tokens"], usage["output_tokens"]
