"""What a model behind HTTP is asked besides: the format of its server, so that the exam can misbehave in its words."""

import re
from collections.abc import AsyncGenerator, Generator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

from hocket.language_models import BaseChatModel
from hocket.language_models.base import LanguageModelInput
from hocket.messages import AIMessage
from hocket.runnables import Runnable
from hocket.testing.conformance.suite import Suite
from hocket.testing.server import Format, ReceivedRequest, Reply, Script, Server, serve

__all__ = ["VERBS", "RemoteSuite", "ask"]

VERBS = ("ainvoke", "astream")
"""The verbs that each question of the exam is asked with."""

QUESTION = re.compile(rb"Question (\d+)")


class RemoteSuite(Suite):
    """What the provider says of its model behind HTTP, besides what `Suite` has.

    Attributes:
        format: how its server words replies, streams and errors: an object of a class that derives from
            `hocket.testing.server.Format`.
        api_key: for `make` to give to the model; the exam looks where else it appears.
        has_key: whether it is sent to the server.
        has_system: whether system messages are taken; if not, they are refused.
        has_call_ids: whether the format says by an id which call a tool's result answers; if not, by name or by order.
        has_names: whether the format has a place for the ``name`` of who speaks, which then is sent.
        has_reasoning: whether answers may have reasoning, which the format sends where a reply has some.
        length_word: the server's own word for an answer that was cut off at its limit of tokens.
        server: the server of the test, once there is one.
    """

    format: Format
    api_key: str = "sk-canary-4f1c9b7e2d"
    has_key: bool = True
    has_system: bool = True
    has_call_ids: bool = True
    has_names: bool = False
    has_reasoning: bool = True
    length_word: str = "length"
    server: Server

    def make(self, server_url: str) -> BaseChatModel:
        """Return a new model that asks the server at ``server_url``, with `api_key` and otherwise as a user has it."""
        raise NotImplementedError(f"{type(self).__name__} must define make(server_url)")

    @asynccontextmanager
    async def serving(self, script: Script) -> AsyncGenerator[BaseChatModel]:
        """Return a context with a model whose server follows ``script``."""
        async with serve(self.format, script) as self.server:
            with self._blame_the_right_one():
                yield self.make(self.server.url)

    @asynccontextmanager
    async def answering(self) -> AsyncGenerator[BaseChatModel]:
        """Return a context with a model whose server answers every question."""
        async with self.serving(_answer_by_number) as model:
            yield model

    @contextmanager
    def answering_threads(self) -> Generator[BaseChatModel]:
        """Return the same, with the server in a thread."""
        with serve(self.format, _answer_by_number) as self.server, self._blame_the_right_one():
            yield self.make(self.server.url)

    @contextmanager
    def _blame_the_right_one(self) -> Generator[None]:
        """Return a context that tells a problem of the exam's own server from a fault of the model.

        Such a server answers 500, which the model rightly raises as an error of its server's.

        Raises:
            AssertionError: the server had a problem, whatever the model made of it.
        """
        try:
            yield
        except Exception as error:
            self._check_server(error)
            raise
        self._check_server(None)

    def _check_server(self, cause: Exception | None) -> None:
        if self.server.problems:
            raise AssertionError(
                f"the exam's own server could not play its part, so that this says nothing of the model; mend "
                f"{type(self.format).__name__}, or what the model asks for: {self.server.problems[0]!r}"
            ) from cause

    def check_calls(self, count: int) -> None:
        """Look whether so many requests have come: nothing is sent twice behind the caller's back."""
        assert len(self.server.requests) == count


def _answer_by_number(request: ReceivedRequest) -> Reply:
    """Answer with the number of the question, so that answers can be told apart; some words come again and again."""
    numbers = QUESTION.findall(request.body)
    return Reply(f"Answer {int(numbers[-1]) if numbers else 0}: air scatters blue light more, more, more than red.")


async def ask(
    model: Runnable[LanguageModelInput, AIMessage],
    verb: str,
    question: LanguageModelInput,
    pieces: list[str],
    /,
    **options: Any,
) -> str:
    """Return the text of an answer, whole or streamed; ``pieces`` gets what is handed out, also if it fails then."""
    if verb == "ainvoke":
        pieces.append((await model.ainvoke(question, **options)).text)
    else:
        async for chunk in model.astream(question, **options):
            pieces.append(chunk.text)
    return "".join(pieces)
