"""A handler written for langchain-core works after changing its import: the same class, on every verb.

The class below is what tracing integrations look like: spans by run id, everything through ``**kwargs``, ``Optional``
arguments, properties for flags, chat models told of as prompts or as messages. It is written once, sync, and once async.
"""

import time
from collections.abc import AsyncIterator
from typing import Any, Optional
from uuid import UUID

import pytest

from hocket.callbacks import AsyncCallbackHandler, BaseCallbackHandler
from hocket.language_models import LLM, BaseChatModel, FakeListChatModel
from hocket.messages import AIMessageChunk, BaseMessage
from hocket.outputs import ChatGenerationChunk, LLMResult


class Tracer(BaseCallbackHandler):
    """Keeps a span for each run."""

    def __init__(self) -> None:
        super().__init__()
        self.spans: dict[str, dict[str, Any]] = {}
        self.order: list[str] = []

    @property
    def ignore_chain(self) -> bool:  # type: ignore[override]
        return True

    @property
    def always_verbose(self) -> bool:
        return True

    def _open(self, kind: str, serialized: dict, run_id: UUID, parent_run_id: Optional[UUID], **kwargs: Any) -> dict:  # noqa: UP045
        invocation = kwargs.get("invocation_params") or {}
        span = {
            "kind": kind,
            "name": kwargs.get("name") or (serialized or {}).get("name") or (serialized or {}).get("id", ["?"])[-1],
            "parent": str(parent_run_id) if parent_run_id else None,
            "model": (kwargs.get("metadata") or {}).get("ls_model_name") or invocation.get("model"),
            "type": invocation.get("_type"),
            "start": time.time(),
            "tokens": [],
        }
        self.spans[str(run_id)] = span
        self.order.append(kind)
        return span

    def on_llm_start(
        self,
        serialized: dict[str, Any],
        prompts: list[str],
        *,
        run_id: UUID,
        parent_run_id: Optional[UUID] = None,  # noqa: UP045
        tags: Optional[list[str]] = None,  # noqa: UP045
        metadata: Optional[dict[str, Any]] = None,  # noqa: UP045
        **kwargs: Any,
    ) -> None:
        span = self._open("llm", serialized, run_id, parent_run_id, metadata=metadata, **kwargs)
        span["input"] = prompts[0]

    def on_chat_model_start(
        self,
        serialized: dict[str, Any],
        messages: list[list[BaseMessage]],
        *,
        run_id: UUID,
        parent_run_id: Optional[UUID] = None,  # noqa: UP045
        tags: Optional[list[str]] = None,  # noqa: UP045
        metadata: Optional[dict[str, Any]] = None,  # noqa: UP045
        **kwargs: Any,
    ) -> None:
        span = self._open("chat", serialized, run_id, parent_run_id, metadata=metadata, **kwargs)
        span["input"] = [{"role": message.type, "content": message.content} for message in messages[0]]

    def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.spans[str(kwargs["run_id"])]["tokens"].append(token)

    def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        span = self.spans[str(kwargs["run_id"])]
        generation = response.generations[0][0]
        message = getattr(generation, "message", None)
        span["output"] = generation.text
        span["usage"] = getattr(message, "usage_metadata", None) or (response.llm_output or {}).get("token_usage")
        span["seconds"] = time.time() - span["start"]

    def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self.spans[str(kwargs["run_id"])]["error"] = repr(error)


class AsyncTracer(AsyncCallbackHandler):
    """The same, written for the event loop."""

    def __init__(self) -> None:
        super().__init__()
        self.tracer = Tracer()

    @property
    def spans(self) -> dict[str, dict[str, Any]]:
        return self.tracer.spans

    async def on_llm_start(self, serialized: dict[str, Any], prompts: list[str], **kwargs: Any) -> None:
        self.tracer.on_llm_start(serialized, prompts, **kwargs)

    async def on_chat_model_start(
        self, serialized: dict[str, Any], messages: list[list[BaseMessage]], **kwargs: Any
    ) -> Any:
        self.tracer.on_chat_model_start(serialized, messages, **kwargs)

    async def on_llm_new_token(self, token: str, **kwargs: Any) -> None:
        self.tracer.on_llm_new_token(token, **kwargs)

    async def on_llm_end(self, response: LLMResult, **kwargs: Any) -> None:
        self.tracer.on_llm_end(response, **kwargs)

    async def on_llm_error(self, error: BaseException, **kwargs: Any) -> None:
        self.tracer.on_llm_error(error, **kwargs)


TRACERS = pytest.mark.parametrize("made", [Tracer, AsyncTracer])


class Chat(BaseChatModel):
    """Streams its answer, with usage."""

    model: str = "chat-1"

    @property
    def _llm_type(self) -> str:
        return "chat"

    @property
    def _identifying_params(self) -> dict[str, Any]:
        return {"model": self.model}

    async def _astream(self, messages: Any, stop: Any = None, **kwargs: Any) -> AsyncIterator[ChatGenerationChunk]:
        if messages[-1].content == "fail":
            raise ConnectionError("lost")
        for text in ("a", "b"):
            yield ChatGenerationChunk(message=AIMessageChunk(text))
        usage: Any = {"input_tokens": 1, "output_tokens": 2, "total_tokens": 3}
        yield ChatGenerationChunk(message=AIMessageChunk(content="", usage_metadata=usage))


class Text(LLM):
    """Says the prompt in capitals."""

    @property
    def _llm_type(self) -> str:
        return "text"

    async def _acall(self, prompt: str, stop: Any = None, **kwargs: Any) -> str:
        return prompt.upper()


def one(tracer: Any) -> dict[str, Any]:
    (span,) = tracer.spans.values()
    assert tracer.errors == 0
    return span  # type: ignore[no-any-return]


def check_chat(span: dict[str, Any]) -> None:
    assert (span["kind"], span["name"], span["model"], span["type"]) == ("chat", "Chat", "chat-1", "chat")
    assert span["input"] == [{"role": "human", "content": "hello"}]
    assert span["output"] == "ab"
    assert span["usage"]["total_tokens"] == 3
    assert span["seconds"] >= 0 and "error" not in span


@TRACERS
async def test_ainvoke(made: type[Any]) -> None:
    """A span with input, output, model and usage."""
    tracer = made()
    await Chat().ainvoke("hello", config={"callbacks": [tracer]})
    check_chat(one(tracer))


@TRACERS
async def test_astream(made: type[Any]) -> None:
    """With the tokens, each once."""
    tracer = made()
    async for _ in Chat().astream("hello", config={"callbacks": [tracer]}):
        pass
    check_chat(one(tracer))
    assert "".join(one(tracer)["tokens"]) == "ab"


@TRACERS
async def test_abatch(made: type[Any]) -> None:
    """A span for each item, failing ones included."""
    tracer = made()
    inputs = ["hello", "fail", "hello"]
    outcomes = await Chat().abatch(inputs, {"callbacks": [tracer]}, return_exceptions=True)
    assert isinstance(outcomes[1], ConnectionError)
    spans = sorted(tracer.spans.values(), key=lambda span: "error" in span)
    assert len(spans) == 3
    check_chat(spans[0])
    check_chat(spans[1])
    assert spans[2]["error"] == "ConnectionError('lost')"


@TRACERS
async def test_text_models(made: type[Any]) -> None:
    """A span for each prompt."""
    tracer = made()
    await Text(callbacks=[tracer]).ainvoke("hello")
    span = one(tracer)
    assert (span["kind"], span["input"], span["output"], span["type"]) == ("llm", "hello", "HELLO", "text")
    tracer.spans.clear()
    await Text().agenerate(["a", "b"], callbacks=[tracer])
    assert [(span["input"], span["output"]) for span in tracer.spans.values()] == [("a", "A"), ("b", "B")]


@TRACERS
def test_sync_verbs(made: type[Any]) -> None:
    """invoke, stream and batch, of models with async hooks and with sync ones."""
    tracer = made()
    Chat().invoke("hello", config={"callbacks": [tracer]})
    check_chat(one(tracer))
    tracer.spans.clear()
    list(Chat().stream("hello", config={"callbacks": [tracer]}))
    check_chat(one(tracer))
    tracer.spans.clear()
    FakeListChatModel(responses=["hi"]).batch(["a", "b"], {"callbacks": [tracer]})
    assert [span["output"] for span in tracer.spans.values()] == ["hi", "hi"]
    assert tracer.errors == 0
