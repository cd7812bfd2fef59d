"""The conversations of the page: each model and each agent that is asked has a history of its own, in this process."""

from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Mapping
from contextlib import aclosing
from typing import TYPE_CHECKING, Any, TypeAlias, cast

from hocket._runtime.clock import new_run_id
from hocket.agents.agent import Agent
from hocket.agents.approval import Resume
from hocket.agents.events import AgentEvent
from hocket.agents.model_call import list_models
from hocket.chat_history import InMemoryChatMessageHistory
from hocket.conversation import Conversation
from hocket.language_models import BaseChatModel
from hocket.messages import AIMessage, AIMessageChunk
from hocket.messages.content import Fields, FieldsView
from hocket.runnables import Runnable, RunnableConfig, RunnableGenerator
from hocket.serving.console.durable_chats import DurableChat
from hocket.serving.console.fair_share import FairShare
from hocket.serving.console.recorder import RunRecorder, RunWatcher
from hocket.serving.durable_agents import find_durable
from hocket.serving.pages.chat_input import ChatInput
from hocket.serving.refusals import Refusal

if TYPE_CHECKING:
    from hocket.durable import Durable

__all__ = ["Chats", "Served"]

Served: TypeAlias = "Runnable[Any, Any] | Durable[object, object]"  # it takes whatever a model or an agent takes
"""A model, an agent, or what is made of one."""

_MOST = 500  # conversations that are kept of all tenants together; the one that was used last goes last


class Chats:
    """Answers the page, and keeps what was said.

    Args:
        models: by the names that the page calls them.
        recorder: told of each run.
    """

    def __init__(self, models: Mapping[str, Served], recorder: RunRecorder) -> None:
        self._models = models
        self._recorder = recorder
        self._histories: FairShare[InMemoryChatMessageHistory] = FairShare(_MOST)
        self._durable: dict[str, DurableChat] = {}  # that answer now

    def answer(self, chat: ChatInput, tenant: str | None) -> AsyncIterable[object]:
        """Return the stream that answers: of what the page names as ``model`` in ``forwardedProps``.

        Raises:
            Refusal: there is no such model.
            InvalidInput: nothing is asked.
        """
        props: object = chat.extra.get("forwardedProps")
        name: object = cast(FieldsView, props).get("model") if isinstance(props, dict) else None
        if not isinstance(name, str) or name not in self._models:
            raise Refusal(
                status=404, message="there is no such model here: load the page again", code="model_not_found"
            )
        request = chat.run_id or str(new_run_id())
        metadata = {"request_id": request, **({} if tenant is None else {"tenant": tenant})}
        model = self._models[name]
        if (durable := find_durable(model)) is not None:
            made = DurableChat(name, durable, f"{tenant or ''}\n{chat.key}")
            return self._follow(chat.key, made, made.stream(chat.input, metadata))
        config: RunnableConfig = {
            "callbacks": [RunWatcher(self._recorder, name, request, tenant)],
            "metadata": metadata,
        }
        history = self._find_history(tenant, (chat.key, name))
        if isinstance(model, Agent):
            agent = cast("Agent[object]", model)
            context: Fields | None = None if agent.context_schema is None else {}
            return agent.astream(chat.input, config, history=history, context=context)
        question = chat.input
        if isinstance(question, Resume):
            raise Refusal(status=400, message=f"{name!r} is a model, and no call of it waits for a decision")
        return Conversation(_as_chat_model(cast(Runnable[object, object], model)), history=history).astream(
            question, config
        )

    def find_durable(self, key: str) -> DurableChat | None:
        """Return the conversation in which a durable run answers, or is about to; None: it is none."""
        return self._durable.get(key)

    async def _follow(
        self, key: str, chat: DurableChat, events: AsyncGenerator[AgentEvent]
    ) -> AsyncGenerator[AgentEvent]:
        self._durable[key] = chat
        try:
            async with aclosing(events):
                async for event in events:
                    yield event
        finally:
            if self._durable.get(key) is chat:
                del self._durable[key]

    def _find_history(self, tenant: str | None, key: tuple[str, str]) -> InMemoryChatMessageHistory:
        history = self._histories.find(tenant, key)
        history = InMemoryChatMessageHistory() if history is None else history
        self._histories.put(tenant, key, history)
        return history


def _as_chat_model(model: Runnable[object, object]) -> Runnable[object, AIMessage]:
    """Return a runnable that answers in messages: a text model, or a chain that ends in one, says texts."""
    chat_model = cast("Runnable[object, AIMessage]", model)
    if all(isinstance(one, BaseChatModel) for one in list_models(chat_model)):
        return chat_model

    async def as_messages(pieces: AsyncIterator[object]) -> AsyncIterator[AIMessageChunk]:
        async for piece in pieces:
            yield AIMessageChunk(piece) if isinstance(piece, str) else cast(AIMessageChunk, piece)

    return cast("Runnable[object, AIMessage]", model | RunnableGenerator(as_messages))
