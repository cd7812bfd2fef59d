"""Personal data are taken out of what a model is sent, and of what it answers.

They are looked for wherever a message may hold a text: in its content, in blocks of any provider's shape, in the
arguments of calls, beside the content. So all strings are read but for those that can be no text: a list of the places of
texts would miss the next provider's.
"""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar, cast, get_args

from hocket._runtime.mode import ASYNC
from hocket.agents.middleware import AgentMiddleware, ModelRequest
from hocket.agents.pii_kinds import KINDS, STRATEGIES, Finder, Pattern, find_all, replace_all
from hocket.errors import ContentFiltered, InvalidInput, LLMError
from hocket.errors.hints import excerpt, explain_arguments, near_name_hint
from hocket.messages import AIMessage, BaseMessage
from hocket.messages.base import copy_message
from hocket.messages.roles import Role, role_of

__all__ = ["PIIMiddleware"]

Strategy = Literal["redact", "mask", "hash", "block"]

_FIELDS = ("content", "additional_kwargs", "tool_calls", "invalid_tool_calls")
_ARGUMENTS = frozenset({"args", "input", "arguments"})
"""Keys of a block under which all is the model's: any key and any number may be one that is looked for."""

_SIGNATURES = frozenset({"signature", "thought_signature", "thoughtSignature", "encrypted_content"})
"""Keys of a block under which a provider has sealed it: it does not hold for another text."""

_NO_TEXTS = _SIGNATURES | {
    *("type", "id", "index", "name", "role", "status", "format", "tool_call_id", "call_id", "mime_type", "media_type"),
    *("url", "image_url", "file_id", "file_uri", "fileUri", "base64", "data", "file_data"),
}
"""Keys of a block whose texts are names, addresses of media, or media."""

M = TypeVar("M", bound=BaseMessage)


class PIIMiddleware(AgentMiddleware):
    """Takes personal data out of what an agent's model is sent.

    What is stored stays as it is, the same data are taken out again at each call, and always in the same way. The system
    prompt is the application's, and is sent as it is. Put this last in ``middleware=``, so that it sees what the others add.

    Args:
        kinds: what is looked for: "email", "credit_card", "ip", "mac_address", "url"; or a pair of a name and a regular
            expression, as text or compiled. It has to be linear in time: nothing can stop Python's `re` in the middle.
        strategy: what becomes of it. "redact": ``[REDACTED_EMAIL]``; "mask": stars, but for the last letters and digits;
            "hash": ``<email_hash:...>``, the same for the same value; "block": nothing is sent.
        apply_to_input: whether it is taken out of what people said, and of earlier answers and their calls.
        apply_to_tool_results: whether it is taken out of results of tools.
        apply_to_output: whether it is taken out of each answer, the arguments of its calls included, before the answer is
            used, shown or stored. A stream shows no piece of an answer before it is whole.

    Raises:
        InvalidInput: there is no kind, or an unknown one, or two of one name; or a pattern does not compile.
        ContentFiltered: when it runs, with "block": something was found. The text does not repeat it.

    Examples:
        >>> from hocket import ScriptedChatModel, create_agent
        >>> model = ScriptedChatModel(script=["I will write there."])
        >>> agent = create_agent(model, middleware=[PIIMiddleware("email")])
        >>> result = agent.invoke("I am ada@example.com.")
        >>> model.requests[0].messages[-1].text
        'I am [REDACTED_EMAIL].'
    """

    @explain_arguments(detector="write PIIMiddleware(('name', regex))", pii_type="write PIIMiddleware('email')")
    def __init__(
        self,
        *kinds: str | tuple[str, str | Pattern],
        strategy: Strategy = "redact",
        apply_to_input: bool = True,
        apply_to_tool_results: bool = True,
        apply_to_output: bool = False,
    ) -> None:
        if strategy not in get_args(Strategy):
            raise InvalidInput(f"strategy is {excerpt(strategy)}; it is one of {', '.join(get_args(Strategy))}")
        self._kinds = _read_kinds(kinds)
        self._write = STRATEGIES.get(strategy, _block)
        self._roles: set[Role] = {"human", "ai", "chat"} if apply_to_input else set()
        self._roles |= {"tool", "function"} if apply_to_tool_results else set()
        self.holds_output: bool = apply_to_output

    async def wrap_model_call(self, request: ModelRequest, handler: Callable[[ModelRequest], Any]) -> AIMessage:
        """Ask with what may be sent, and return what may be shown."""
        messages = await ASYNC.call_sync(self._filter_request, request.messages)
        try:
            reply = cast(AIMessage, await handler(request.override(messages=messages)))
        except LLMError as error:
            error.partial = None if self.holds_output else error.partial  # half an address is found by nobody
            raise
        return await ASYNC.call_sync(self._filter_message, reply) if self.holds_output else reply

    def _filter_request(self, messages: Sequence[BaseMessage]) -> list[BaseMessage]:
        return [self._filter_message(one) if role_of(one) in self._roles else one for one in messages]

    def _filter_message(self, message: M) -> M:
        """Return a message without what is looked for: the same one, if there is nothing of it."""
        changes: dict[str, Any] = {}
        for name in _FIELDS:
            value = getattr(message, name, None)
            if value and (new := self._filter(value)) != value:
                changes[name] = new
        return copy_message(message, **changes) if changes else message

    def _filter(self, value: object, *, is_argument: bool = False) -> object:
        if isinstance(value, str):
            return replace_all(value, self._kinds, self._write)
        if isinstance(value, list | tuple):
            return [self._filter(one, is_argument=is_argument) for one in cast("Sequence[object]", value)]
        if isinstance(value, dict):
            items = cast("dict[str, object]", value).items()
            if is_argument:
                return {str(self._filter(key)): self._filter(one, is_argument=True) for key, one in items}
            return self._filter_block(dict(items))
        if is_argument and isinstance(value, int | float) and not isinstance(value, bool):
            return value if (new := self._filter(text := str(value))) == text else new
        return value

    def _filter_block(self, block: dict[str, object]) -> object:
        is_text = block.get("type") == "text"  # Anthropic's documents of plain text have it in ``data``
        new = {
            key: value
            if isinstance(value, str) and key in _NO_TEXTS and not (key == "data" and is_text)
            else self._filter(value, is_argument=key in _ARGUMENTS)
            for key, value in block.items()
        }
        return block if new == block else _unseal(new)


def _unseal(block: Mapping[str, object]) -> dict[str, object]:
    """Return a block that was changed without the signature of what it was."""
    kept = {key: value for key, value in block.items() if key not in _SIGNATURES}
    if isinstance(extras := kept.get("extras"), dict):
        kept["extras"] = _unseal(cast("dict[str, object]", extras))
    return kept


def _block(kind: str, value: str) -> str:
    raise ContentFiltered(
        f"{kind!r} was found, and strategy='block' lets none pass to the model or from it; take it out of the conversation, "
        "or choose 'redact', 'mask' or 'hash'"
    )


def _read_kinds(kinds: Sequence[object]) -> dict[str, Finder]:
    found: dict[str, Finder] = {}
    for kind in kinds:
        name, *own = cast("tuple[object, ...]", kind) if isinstance(kind, tuple) else (kind,)
        if not isinstance(name, str) or not name.isidentifier() or len(own) != isinstance(kind, tuple):
            raise InvalidInput(f"a kind is {kind!r:.100}; it is a name, or a pair of a name and a regular expression")
        if name in found:
            raise InvalidInput(f"two kinds are called {name!r}; name each once")
        if not own and name not in KINDS:
            raise InvalidInput(f"there is no kind {name!r}: {near_name_hint(name, KINDS)}; or ('name', regex)")
        try:
            found[name] = find_all(cast(Pattern, own[0])) if own else KINDS[name]
            list(found[name](""))  # a pattern that was made of bytes finds nothing in a text
        except (re.error, TypeError, AttributeError, OverflowError, RecursionError) as error:
            raise InvalidInput(f"the pattern of {name!r} does not compile for texts: {error}") from error
    if not found:
        raise InvalidInput(f"PIIMiddleware is given no kind; known are: {', '.join(KINDS)}")
    return found
