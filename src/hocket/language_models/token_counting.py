"""How a model counts tokens, and what a call of it may use at most: for users, and for limits and budgets.

A need is estimated before an attempt is made. The prompt is counted by the model's own tokenizer where there is one, in a
worker thread, since that may load tables; else by rule of thumb, and the upper end of the estimate is taken. The answer is
as long as it may be: ``max_tokens``, or what is known of the model.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, Field

from hocket._metering.attempt import TokenNeed
from hocket._pipeline.request import CallRequest
from hocket._runtime.mode import Mode
from hocket.messages import AIMessage, BaseMessage
from hocket.profiles import ModelProfile

if TYPE_CHECKING:
    from hocket.tokens import Tokenizer

__all__ = ["TokenCountingMixin"]

_LIMITS = ("max_tokens", "max_completion_tokens", "max_output_tokens", "num_predict")
"""The names of the limit on an answer, in the order in which they count."""

_THOUGHTS = ("reasoning_content", "reasoning", "thinking")
"""Where an answer has its thoughts beside its content, by server."""

_CANDIDATES = ("n", "candidate_count")


class TokenCountingMixin(BaseModel, defer_build=True):
    """What lets a model count tokens."""

    custom_get_token_ids: Callable[[str], list[int]] | None = Field(default=None, exclude=True, repr=False)

    def _find_tokenizer(self) -> "Tokenizer | None":
        """Return how this model splits text into tokens; None: that is not known here. A hook, for providers to override.

        May load tables: where an event loop runs, `hocket.tokens.acount_tokens` calls it in a worker thread.
        """
        from hocket.tokens.counting import Tokenizer, name_of, tokenizer_of  # few programs count

        if self.custom_get_token_ids is not None:
            return Tokenizer(self.custom_get_token_ids)
        cls: Any = type(self)
        if cls.get_token_ids is not TokenCountingMixin.get_token_ids:
            return Tokenizer(self.get_token_ids)
        return tokenizer_of(name_of(self))

    def get_token_ids(self, text: str) -> list[int]:
        """Return the tokens of ``text``.

        Raises:
            InvalidInput: this model's tokenizer is not known, and it has no ``custom_get_token_ids``.
            MissingDependency: it is one of OpenAI's, and the extra ``tokens`` is not installed.
        """
        from hocket.tokens.counting import token_ids

        return token_ids(self._find_tokenizer(), text, self)

    def get_num_tokens(self, text: str) -> int:
        """Return how many tokens ``text`` has, as a `TokenCount`: exact with a tokenizer, else 1 for 4 Latin characters."""
        from hocket.tokens.counting import count_text

        return count_text(self._find_tokenizer(), text)

    def get_num_tokens_from_messages(self, messages: Sequence[BaseMessage], tools: Sequence[Any] | None = None) -> int:
        """Return how many tokens ``messages`` have, and ``tools`` with them, as a `TokenCount`, which may be approximate.

        `hocket.tokens.count_tokens` tells when. With ``custom_get_token_ids``, each message is counted as text with its
        role in front, as in LangChain.
        """
        from hocket.tokens.counting import count_messages

        return count_messages(self._find_tokenizer(), messages, tools)

    # -- what a call may use

    async def _estimate_need(self, request: CallRequest, mode: Mode) -> TokenNeed:
        """Return what an attempt of a call may use at most (`hocket._pipeline.reservations.MeteredModel`)."""
        from hocket.tokens.counting import has_tokenizer

        if has_tokenizer(self):
            tokens = await mode.call_sync(self._count_input, request)
        else:
            tokens = self._count_input(request)
        return TokenNeed(tokens, self._find_output_limit(request))

    async def _estimate_answer(self, answer: BaseMessage | str, mode: Mode) -> int:
        """Return about how many tokens a part of an answer has: its text and thoughts by the tokenizer, if there is one."""
        from hocket.tokens.approximate import count_tokens_approximately
        from hocket.tokens.counting import has_tokenizer

        message = AIMessage(answer) if isinstance(answer, str) else answer
        text = message.text
        beside = count_tokens_approximately([message]) - count_tokens_approximately([AIMessage(text)])
        text += next((kept for name in _THOUGHTS if isinstance(kept := message.additional_kwargs.get(name), str)), "")
        counted = await mode.call_sync(self.get_num_tokens, text) if has_tokenizer(self) else self.get_num_tokens(text)
        return beside + counted

    def _estimate_roughly(self, request: CallRequest, answer: BaseMessage | str | None) -> tuple[int, int]:
        """Return about how many tokens a request, and a part of its answer, have: by rule of thumb, without any table."""
        from hocket.tokens.approximate import count_tokens_approximately
        from hocket.tokens.counting import count_messages, count_text

        tools = request.params.get("tools")
        read = sum(
            count_text(None, prompt) if isinstance(prompt, str) else count_messages(None, prompt, tools)
            for prompt in request.prompts
        )
        if answer is None:
            return read, 0
        message = AIMessage(answer) if isinstance(answer, str) else answer
        return read, count_tokens_approximately([message]) - count_tokens_approximately([AIMessage("")])

    def _count_input(self, request: CallRequest) -> int:
        tools = request.params.get("tools")
        total = 0
        for prompt in request.prompts:
            if isinstance(prompt, str):
                counted = self.get_num_tokens(prompt)
            else:
                counted = self.get_num_tokens_from_messages(prompt, **({"tools": tools} if tools else {}))
            total += getattr(counted, "high", counted)
        return total

    def _find_output_limit(self, request: CallRequest) -> int | None:
        """Return how many tokens the answers to all prompts may have, all candidates together; None: nobody knows."""
        profile: ModelProfile | None = getattr(self, "profile", None)
        limit = self._read_option(request.params, _LIMITS) or (profile or {}).get("max_output_tokens")
        if limit is None:
            return None
        return limit * (self._read_option(request.params, _CANDIDATES) or 1) * len(request.prompts)

    def _read_option(self, params: Mapping[str, Any], names: Sequence[str]) -> int | None:
        """Return the first of these options that is a number above 0: the call's, else the model's."""
        for source in (params, vars(self)):
            for name in names:
                value = source.get(name)
                if isinstance(value, int) and value > 0:
                    return value
        return None
