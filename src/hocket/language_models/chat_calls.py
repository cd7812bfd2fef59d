"""From the arguments of a chat model's verb to calls that are complete: input read, options checked, runs described."""

import functools
from abc import ABC
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, Literal, cast

from hocket._pipeline.cache_access import CacheKey
from hocket._pipeline.cache_key import prompt_key
from hocket._pipeline.call import Call
from hocket._pipeline.chat_answer import CHAT
from hocket._pipeline.lazy_copies import LazyCopies
from hocket._pipeline.request import CallRequest
from hocket._pipeline.runs import NO_RUNS, CallRuns, StartEvent
from hocket._runtime.mode import Mode
from hocket.callbacks.run_facts import describe_server
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint
from hocket.language_models.base import BaseLanguageModel
from hocket.language_models.call_parts import STRUCTURED_KEYS, configure_manager
from hocket.load.serializable import get_fields
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolMessage, convert_to_messages
from hocket.messages.base import copy_containers, rebuild
from hocket.prompt_values import PromptValue

__all__ = ["ChatCalls", "prepare_messages"]

_NO_LISTS = (str, BaseMessage, PromptValue, Mapping)  # although they can be iterated
_PLAIN = frozenset({HumanMessage, AIMessage, SystemMessage, ToolMessage})


class ChatCalls(BaseLanguageModel[AIMessage], ABC):
    """The half of `BaseChatModel` that makes calls."""

    disable_streaming: bool | Literal["tool_calling"] = False

    _ls_model_type: ClassVar[str] = "chat"

    _needs_messages: ClassVar[bool] = False
    """Whether a conversation without a message is refused before a hook is asked."""

    def _open_calls(
        self,
        mode: Mode,
        conversations: Sequence[Sequence[BaseMessage]],
        stop: list[str] | None,
        config: Mapping[str, Any],
        params: dict[str, Any],
    ) -> list[Call]:
        """Return a call for each conversation; ``config`` has the run id of the first."""
        if isinstance(conversations, str | BaseMessage | PromptValue):
            raise InvalidInput(f"generate takes a list of conversations, not {type(conversations).__name__}")
        run_ids = (config["run_id"], *[None] * len(conversations))
        parts = [
            self._make_request(mode, (messages,), (run_id,), stop, params, messages, config.get("metadata"))
            for messages, run_id in zip(map(self._prepare, conversations), run_ids, strict=False)
        ]
        requests: list[CallRequest] = [request for request, _ in parts]
        runs: Sequence[CallRuns] = [NO_RUNS] * len(parts)
        if parts and self._has_listeners(config["callbacks"]):
            runs = self._make_runs(mode, requests, parts[0][1], params, config)
        return [
            Call(CHAT, request, mode, self._make_limits(params), own)
            for request, own in zip(requests, runs, strict=True)
        ]

    def _prepare(self, value: object) -> list[BaseMessage]:
        """Return what this model is asked as a new list of messages: `prepare_messages`.

        Raises:
            InvalidInput: they are no messages; or there are none, and this model needs some.
        """
        messages = prepare_messages(value)
        if self._needs_messages and not messages:
            raise InvalidInput("there are no messages to answer: the input is empty")
        return messages

    def _make_runs(
        self,
        mode: Mode,
        requests: Sequence[CallRequest],
        dropped: Sequence[str],
        params: Mapping[str, Any],
        config: Mapping[str, Any],
    ) -> Sequence[CallRuns]:
        """Return the runs of calls that have all but their messages in common."""
        facts = self._make_tracing_facts(requests[0], dropped)
        callbacks, tags, metadata = config.get("callbacks"), config.get("tags"), config.get("metadata")
        manager = configure_manager(mode, self.__dict__, callbacks, tags, metadata, facts)
        if not manager.handlers:
            return [NO_RUNS] * len(requests)
        runs: list[CallRuns] = []
        for request in requests:
            describe = functools.partial(self._describe_start, request, params, config, len(requests))
            runs.append(CallRuns(mode, CHAT.start_event, request.run_ids, (manager,), describe))
        return runs

    def _describe_start(
        self,
        request: CallRequest,
        params: Mapping[str, Any],
        config: Mapping[str, Any],
        batch_size: int,
        index: int,
    ) -> StartEvent:
        """Return what handlers are told at the start: the model, the messages, and how it is called.

        That is, the hook's arguments, and some that the hook does not see.
        """
        options: dict[str, Any] = {"stop": None if request.stop is None else copy_containers(request.stop)}
        if params:
            for name in STRUCTURED_KEYS:
                if params.get(name):
                    options["ls_structured_output_format"] = copy_containers(params[name])
        details: dict[str, object] = {
            "invocation_params": copy_containers(self._get_invocation_params(stop=request.stop, **request.params)),
            "options": options,
            "name": config.get("run_name") or self.name,
            "batch_size": batch_size,
            "stream": request.streaming,
            **describe_server(self.__dict__.get("base_url")),
        }
        return (self._serialize_for_handlers(), [LazyCopies(request.prompts[0])]), details

    def _should_stream(self, *, async_api: bool, run_manager: Any = None, **kwargs: Any) -> bool:
        """Whether this call goes to a stream hook, if there is one: LangChain's rule, less its look at the handlers.

        A field ``streaming`` that was set to False has streams come in one piece, as ``disable_streaming`` does.

        Args:
            async_api: whether an async verb was called.
            run_manager: LangChain's; not used.
            kwargs: arguments of the call; ``stream`` is among those of `astream` and `stream`.
        """
        if self.disable_streaming is True:
            return False
        if self.disable_streaming == "tool_calling" and kwargs.get("tools", getattr(self, "tools", None)):
            return False
        asked = bool(kwargs.get("stream"))
        if not self._has_streaming_switch or ("stream" in kwargs and not asked):
            return asked
        if self.streaming:  # type: ignore[attr-defined]  # of a subclass
            return True
        return asked and "streaming" not in self.model_fields_set

    def _make_cache_key(self, request: CallRequest) -> CacheKey:
        return prompt_key(request.prompts[0]), self._get_llm_string(request.stop, **request.params)


def prepare_messages(value: object) -> list[BaseMessage]:
    """Return what a chat model is asked as a new list of messages, with content in standard blocks.

    Args:
        value: an iterable of messages and message-likes. Neither it nor they are changed.

    Raises:
        InvalidInput: they are no messages. Whether there may be none is for the hook to say.
    """
    kind = type(value)
    if kind is not list and (isinstance(value, _NO_LISTS) or not isinstance(value, Iterable)):
        hint = bridge_hint(value)  # pyright: ignore[reportUnknownArgumentType]  # anything
        raise InvalidInput(f"a conversation is a list of messages, not {kind.__name__}; put it in a list{hint}")
    messages: list[Any] = list(cast("Iterable[object]", value))
    for message in messages:
        if type(message) not in _PLAIN or get_fields(message)["content"].__class__ is not str:
            return [_standardise(one) for one in convert_to_messages(messages)]
    return messages


def _standardise(message: BaseMessage) -> BaseMessage:
    from hocket.messages.formats import normalize_input_content  # loaded with the first list of blocks

    content = message.content
    standard = normalize_input_content(content)
    if standard is content:
        return message
    return rebuild(message, {**message.__dict__, "content": standard}, type(message))
