"""Where in a model's answer the object is: in its text, or in the arguments of the call that it was to make."""

from abc import ABC, abstractmethod
from collections.abc import Callable

from hocket.errors import ContentFiltered, OutputParserException
from hocket.errors.hints import excerpt
from hocket.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage, ToolMessage
from hocket.output_parsers.json_document import JSONDocument

__all__ = ["AnswerReader", "CallAnswerReader", "TextAnswerReader", "find_obstacle"]


class AnswerReader(ABC):
    """Reads the object out of an answer; knows where in it the object is."""

    @abstractmethod
    def value(self, message: AIMessage) -> object:
        """Return the value that the answer's JSON says.

        Raises:
            OutputParserException: nothing, or no JSON; ``observation`` says what is wrong in words for the model.
        """

    @abstractmethod
    def follow(self) -> Callable[[AIMessageChunk], str]:
        """Return a function for one stream: it takes each chunk and returns the part of the object's text in it."""

    @abstractmethod
    def correction(self, message: AIMessage, observation: str) -> list[BaseMessage]:
        """Return the messages that ask the model to correct an answer; ``observation`` says what is wrong with it."""


class TextAnswerReader(AnswerReader):
    """The text is the object, alone or in a fence of backticks."""

    def value(self, message: AIMessage) -> object:
        if message.tool_calls and not message.text:
            names = ", ".join(repr(call["name"]) for call in message.tool_calls)
            raise OutputParserException(f"the model called {names} instead of answering", llm_output="")
        document = JSONDocument()
        document.feed(message.text)
        try:
            return document.close()
        except OutputParserException as error:
            error.observation = f"This is not JSON: {error}"
            raise

    def follow(self) -> Callable[[AIMessageChunk], str]:
        return _text

    def correction(self, message: AIMessage, observation: str) -> list[BaseMessage]:
        answer: list[BaseMessage] = [message] if message.text else []
        return [*answer, HumanMessage(f"{observation}\nAnswer again, with the corrected JSON and nothing else.")]


def _text(chunk: AIMessageChunk) -> str:
    return chunk.text


class CallAnswerReader(AnswerReader):
    """The arguments of the first call of ``name`` are the object."""

    def __init__(self, name: str) -> None:
        self.name = name

    def value(self, message: AIMessage) -> object:
        for call in message.tool_calls:
            if call["name"] == self.name:
                return call["args"]
        broken = next((call for call in message.invalid_tool_calls if call["name"] == self.name), None)
        if broken is not None:
            problem = f"the arguments of {self.name} are not JSON: {broken.get('error') or broken['args']!r}"
            raise OutputParserException(problem, observation=f"{problem}.", llm_output=broken["args"])
        others = [str(call["name"]) for call in (*message.tool_calls, *message.invalid_tool_calls)]
        did = (
            f"called {', '.join(others)}"
            if others
            else f"said {excerpt(message.text, 200) if message.text else 'nothing'}"
        )
        problem = f"the model did not call {self.name}: it {did}"
        raise OutputParserException(problem, observation=f"You did not call {self.name}.", llm_output=message.text)

    def follow(self) -> Callable[[AIMessageChunk], str]:
        return _Arguments(self.name).piece

    def correction(self, message: AIMessage, observation: str) -> list[BaseMessage]:
        request = f"{observation}\nCall {self.name} again, with corrected arguments."
        calls = [*message.tool_calls, *message.invalid_tool_calls]
        if not calls:
            return [*([message] if message.text else []), HumanMessage(request)]
        return [message, *(ToolMessage(request, tool_call_id=call["id"] or "", status="error") for call in calls)]


class _Arguments:
    """Finds the arguments of one call among the chunks of a stream."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._index: object = None
        self._found = False

    def piece(self, chunk: AIMessageChunk) -> str:
        text = ""
        for call in chunk.tool_call_chunks:
            if not self._found and call["name"] == self._name:
                self._found, self._index = True, call.get("index")
            elif not self._found or call.get("index") != self._index or call["name"]:
                continue
            text += call["args"] or ""
        return text


def find_obstacle(message: AIMessage) -> OutputParserException | ContentFiltered | None:
    """Return why an answer that cannot be read is as it is, if the provider says why; None: it does not."""
    facts = message.response_metadata
    finish = facts.get("normalized_finish_reason") or facts.get("finish_reason") or facts.get("stop_reason")
    refusal = message.additional_kwargs.get("refusal")
    if refusal or finish in ("content_filter", "refusal"):
        why = f"the model refuses: {refusal}" if refusal else f"the answer was stopped (finish reason {finish!r})"
        provider, model = facts.get("model_provider"), facts.get("model_name")
        return ContentFiltered(why, provider=provider, model=model, partial=message)
    if finish in ("length", "max_tokens"):
        usage = message.usage_metadata
        after = f" after {usage['output_tokens']} tokens" if usage else ""
        cut = OutputParserException(
            f"the answer was cut short{after} (finish reason {finish!r}): allow more with max_tokens, or ask for less",
            llm_output=message.text,
        )
        cut.raw = message
        return cut
    return None
