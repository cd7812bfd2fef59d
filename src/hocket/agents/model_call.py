"""One call of an agent's model, natively or in text: the innermost handler of `AgentMiddleware.wrap_model_call`.

The text style is a codec around the same call: the conversation is rendered, and the reply is read into a message with
tool calls. So the loop sees the same messages in both styles, and so does the history.
"""

from collections.abc import Awaitable, Mapping, Sequence
from typing import Any, cast

from hocket._runtime.mode import ASYNC
from hocket._runtime.sinks import RelaySink, Sink
from hocket.agents.events import AgentEvent, Backlog, ChunkEvent
from hocket.agents.limits import find_usages
from hocket.agents.middleware import ModelRequest, OfferedTool
from hocket.agents.state import CallIds, StreamedCallIds
from hocket.agents.structured import AnswerFormat
from hocket.agents.text_format import AnswerFilter, TextFormat
from hocket.errors import InvalidHook, InvalidInput, Unsupported
from hocket.language_models import BaseChatModel, BaseLLM
from hocket.language_models.structured.answers import CallAnswerReader
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, Collector, message_chunk_to_message
from hocket.messages.content import FieldsView
from hocket.messages.roles import calls_of
from hocket.runnables import Runnable, RunnableConfig
from hocket.runnables.base import RunnableWrapper
from hocket.tools import BaseTool

__all__ = [
    "FEEDBACK",
    "ModelCaller",
    "bind_tools",
    "choose_text_format",
    "leaves_cache_open",
    "list_models",
    "list_profiles",
]

FEEDBACK = "format_feedback"
"""Under this key of ``response_metadata`` a reply that could not be read has what the model is told. It is not stored."""


class ModelCaller:
    """Asks a model, for one run.

    Args:
        sink: takes the pieces of the answers; None: nobody wants them.
        typed: what the model answers with, a call; None: a text.
        holds: whether the pieces of an answer are held back until `release`.

    Attributes:
        call_ids: of the conversation.
    """

    def __init__(
        self,
        format: TextFormat | None,
        config: RunnableConfig,
        sink: Sink[AgentEvent] | None,
        typed: AnswerFormat | None = None,
        *,
        holds: bool = False,
    ) -> None:
        self._format = format
        self._holds = holds
        self._config = config
        self._usages = find_usages(config)
        self._sink = sink
        self._typed = typed
        self._answer: _ChunkSink | None = None  # the last one
        self._bound: tuple[object, object, object, Runnable[Any, AIMessage]] | None = None
        self.call_ids: CallIds = CallIds(())
        self._refuses_stop: object = None  # the model that has said that it takes no stop words

    @property
    def partial(self) -> AIMessage:
        """What has come of the answer for the user; of one that is not streamed, nothing. A typed answer is its JSON."""
        if self._answer is None or self._sink is None:
            return AIMessage("")
        chunks = self._answer.shown
        if self._sink.closed and isinstance(self._sink, Backlog):  # nobody will take those that are left
            chunks = chunks[: max(0, len(chunks) - self._sink.chunks)]
        shown = _fold(chunks)
        if self._typed is None or self._format is not None:
            return shown
        follows = [CallAnswerReader(name).follow() for name in self._typed.names]
        pieces = [follow(chunk) for chunk in chunks for follow in follows]
        return shown.model_copy(update={"content": shown.text + "".join(pieces)})

    async def release(self, reply: AIMessage) -> None:
        """Show the answer that was held back, as the hooks have returned it."""
        if self._holds and self._answer is not None:
            await self._answer.release(reply)

    async def ask(self, request: ModelRequest) -> AIMessage:
        """Return the model's answer."""
        if self._format is None:
            return await self._ask(self._bind(request), request.messages, request.options, self._make_sink(request))
        tools = _refuse_hosted(request.tools)
        messages = self._format.render(request.messages, tools)
        sink = self._make_sink(request, self._format.stream_filter())
        options: Mapping[str, Any] = {"stop": list(self._format.stop), **request.options}
        if self._refuses_stop is request.model or not _takes_stop(request.model):
            options = request.options
        try:
            reply = await self._ask(request.model, messages, options, sink)
        except Unsupported:  # before anything was sent: this model takes no stop words
            if options is request.options:
                raise
            self._refuses_stop = request.model
            reply = await self._ask(request.model, messages, request.options, sink)
        answer = self._format.read(reply, tools)
        if answer.feedback is not None:
            metadata = {**answer.message.response_metadata, FEEDBACK: answer.feedback}
            return answer.message.model_copy(update={"response_metadata": metadata})
        if sink is not None and not calls_of(answer.message):
            await sink.show_answer(answer.message.text)
        return answer.message

    def _make_sink(self, request: ModelRequest, stream_filter: AnswerFilter | None = None) -> "_ChunkSink | None":
        self._answer = None
        if self._sink is not None:
            self._answer = _ChunkSink(
                self._sink, request.step, stream_filter, self.call_ids.read_stream(), holds=self._holds
            )
        return self._answer

    def _bind(self, request: ModelRequest) -> Runnable[Any, AIMessage]:
        """Return the model with its tools. They are the same at each step, unless a middleware changes them."""
        last, asked = self._bound, (request.model, request.tools, request.tool_choice)
        if last is None or last[0] is not asked[0] or last[1] is not asked[1] or last[2] != asked[2]:
            self._bound = last = (*asked, bind_tools(*asked))
        return last[3]

    async def _ask(
        self,
        model: Runnable[Any, AIMessage],
        messages: Sequence[BaseMessage],
        options: Mapping[str, Any],
        sink: "_ChunkSink | None",
    ) -> AIMessage:
        asked, kwargs = [*messages], dict(options)
        heard = [one.heard for one in self._usages]
        if sink is None:
            reply = _read_reply(await model._invoke(ASYNC, asked, self._config, kwargs))  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
        else:
            await model._produce(ASYNC, asked, self._config, kwargs, sink)  # pyright: ignore[reportPrivateUsage]  # the hook of every Runnable
            reply = await sink.finish()
        # The run's own usage hears of nothing else meanwhile: where it heard nothing, a function has answered.
        if any(one.heard == before for one, before in zip(self._usages, heard, strict=True)):
            for one in self._usages:
                one.add_reply(reply)
        return cast(AIMessage, message_chunk_to_message(reply))


def _refuse_hosted(tools: Sequence[OfferedTool]) -> list[BaseTool]:
    """Return tools that are run here, which is what the text style takes; others are refused."""
    for tool in tools:
        if not isinstance(tool, BaseTool):
            raise InvalidInput(
                f"{dict(tool)!r} is run by the provider, which takes native calls only, and not this style: leave out "
                "the tool, or style="
            )
    return cast("list[BaseTool]", [*tools])


def list_models(model: Runnable[Any, AIMessage]) -> list[Runnable[Any, AIMessage]]:
    """Return the models that may be asked: those inside retries, fallbacks and bindings, or the model itself."""
    if not isinstance(model, RunnableWrapper):
        return [model]
    wrapped: list[Runnable[Any, AIMessage]] = [*model._get_wrapped()]  # pyright: ignore[reportPrivateUsage]  # the hook of every wrapper
    return [one for inner in wrapped for one in list_models(inner)]


def list_profiles(model: Runnable[Any, Any]) -> list[FieldsView]:
    """Return what is known of the models that may be asked; of one without a profile, nothing."""
    return [getattr(one, "profile", None) or {} for one in list_models(model)]


def leaves_cache_open(model: Runnable[Any, AIMessage]) -> bool:
    """Whether each model that may answer has the option ``prompt_cache``, and neither it nor a binding says it."""
    if "prompt_cache" in getattr(model, "kwargs", {}):
        return False
    if not isinstance(model, RunnableWrapper):
        return getattr(model, "prompt_cache", False) is None
    return all(map(leaves_cache_open, model._get_wrapped()))  # pyright: ignore[reportPrivateUsage]  # the hook of every wrapper


def _takes_stop(model: Runnable[Any, AIMessage]) -> bool:
    """Whether stop words are an argument of a call, whichever model answers it. A function takes none."""
    models = list_models(model)
    return all(
        isinstance(one, BaseLLM) or (isinstance(one, BaseChatModel) and "stop" not in one._refused_options)  # pyright: ignore[reportPrivateUsage]  # what a server has no word for
        for one in models
    )


def bind_tools(
    model: Runnable[Any, AIMessage], tools: Sequence[OfferedTool], tool_choice: str | None = None
) -> Runnable[Any, AIMessage]:
    """Return a model with tools bound; the model itself if there are none."""
    if not tools:
        return model
    if not all(hasattr(one, "bind_tools") for one in list_models(model)):
        raise NotImplementedError(
            f"{type(model).__name__} cannot be given tools, since it has no bind_tools; with style='react' it is told of "
            "them in text"
        )
    bind: Any = getattr(model, "bind_tools")  # noqa: B009  # no method of every runnable
    return cast("Runnable[Any, AIMessage]", bind([*tools], tool_choice=tool_choice))


def choose_text_format(style: object, model: Runnable[Any, Any], tools: Sequence[OfferedTool]) -> TextFormat | None:
    """Return the format of the text style, or None for native calls; what the model cannot is refused."""
    if style not in ("auto", "native", "react"):
        if not all(hasattr(style, name) for name in ("stop", "render", "read", "stream_filter")):
            raise InvalidInput(f"style is {style!r}; it is 'auto', 'native', 'react' or a ReActFormat")
        chosen: TextFormat | None = cast(TextFormat, style)
    elif style == "native" and any(isinstance(one, BaseLLM) for one in list_models(model)):
        raise InvalidInput(f"{model.get_name()} is a text model, which has no tool calls: leave out style='native'")
    elif style == "native" or (style == "auto" and _takes_tools(model, tools)):
        bind_tools(model, tools)
        chosen = None
    else:
        from hocket.agents.react import ReActFormat  # which a model with tools need not load

        chosen = ReActFormat()
    if chosen is not None:
        _refuse_hosted(tools)
    return chosen


def _takes_tools(model: Runnable[Any, Any], tools: Sequence[OfferedTool]) -> bool:
    """Whether each model that may answer can be given tools: by its profile, or else by its `bind_tools`."""
    can = [profile.get("tool_calling") for profile in list_profiles(model)]
    if None not in can or False in can:
        return all(can)
    try:
        bind_tools(model, tools)
    except NotImplementedError:
        return False
    return True


_SAID = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls")


class _ChunkSink(RelaySink[AgentEvent]):
    """A sink that shows the pieces of an answer, as far as they are for the user, and puts them together.

    Attributes:
        shown: the pieces for the user.
    """

    def __init__(
        self,
        sink: Sink[AgentEvent],
        step: int,
        stream_filter: AnswerFilter | None,
        call_ids: StreamedCallIds,
        *,
        holds: bool,
    ) -> None:
        super().__init__(sink)
        self.shown: list[AIMessageChunk] = []
        self._held: list[AIMessageChunk] | None = [] if holds else None  # the pieces that are held back
        self._step = step
        self._filter = stream_filter
        self._call_ids = call_ids
        self._collector = Collector()
        self._whole: AIMessage | None = None

    def put(self, item: AIMessage | str) -> Awaitable[None] | None:
        """Take a piece; of a runnable that does not stream, the whole answer."""
        item = AIMessageChunk(item) if isinstance(item, str) else _read_reply(item)
        if isinstance(item, AIMessageChunk):
            self._collector.add(item)
            shown = (
                self._call_ids.rename(item) if self._filter is None else _make_text_chunk(self._filter.feed(item.text))
            )
        else:
            self._whole = item
            shown = _make_text_chunk(item.text if self._filter is None else self._filter.feed(item.text))
        return self._emit_chunk(shown)

    async def finish(self) -> AIMessage:
        """Show what was held back, and return the whole answer."""
        if self._filter is not None:
            await self._show(self._filter.close())
        return self._collector.message() if self._whole is None else self._whole

    async def show_answer(self, text: str) -> None:
        """Show an answer of which the filter let nothing through: it could not know that it is one."""
        if not (self.shown or self._held):
            await self._show(text)

    async def release(self, reply: AIMessage) -> None:
        """Show what was held back, if the reply says the same, or else the reply's text."""
        held, self._held = self._held or [], None
        is_text = self._filter is not None  # else the pieces have calls and thoughts as well
        said = _fold(held) if is_text else self._whole or self._collector.message()
        if any(getattr(said, name) != getattr(reply, name) for name in (("text",) if is_text else _SAID)):
            held = [chunk for chunk in [_make_text_chunk(reply.text)] if chunk]
        for chunk in held:
            if (waiting := self._emit_chunk(chunk)) is not None:
                await waiting

    async def _show(self, text: str) -> None:
        waiting = self._emit_chunk(_make_text_chunk(text))
        if waiting is not None:
            await waiting

    def _emit_chunk(self, chunk: AIMessageChunk | None) -> Awaitable[None] | None:
        if chunk is None:
            return None
        if self._held is not None:
            self._held.append(chunk)
            return None
        self.shown.append(chunk)
        return self._sink.put(ChunkEvent(step=self._step, chunk=chunk))


def _fold(chunks: Sequence[AIMessageChunk]) -> AIMessage:
    collector = Collector()
    for chunk in chunks:
        collector.add(chunk)
    return collector.message()


def _read_reply(reply: object) -> AIMessage:
    """Return the message that a reply is: that of a text model, or of a function, may be a text."""
    if isinstance(reply, str):
        return AIMessage(reply)
    if not isinstance(reply, AIMessage):
        raise InvalidHook(
            f"the model returned {type(reply).__name__}; an agent's model returns an AIMessage, or a text"
        )
    return reply


def _make_text_chunk(text: str) -> AIMessageChunk | None:
    return AIMessageChunk(text) if text else None
