"""One format for both ways: the prompt that asks for replies in text, and the parser that reads them."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, cast

from hocket.agents.react.arguments import WRITTEN_NAMES, find_cut_json, find_written_names, make_tool_call
from hocket.agents.react.forms import Code
from hocket.agents.react.parse import ReActReply, ReadReply, read_text_reply
from hocket.agents.react.render import (
    describe_tools,
    find_question,
    translate_failure,
    write_example,
    write_turns,
)
from hocket.agents.react.stream_filter import FinalAnswerFilter
from hocket.agents.react.text_calls import is_finish, is_none
from hocket.agents.react.words import LANGUAGES, Failure, Language, Words
from hocket.agents.text_format import FEEDBACK_NAME
from hocket.errors import InvalidInput
from hocket.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, message_chunk_to_message
from hocket.messages.base import Content
from hocket.messages.content import Fields
from hocket.prompts.formats import compile_template, render
from hocket.tools import BaseTool

__all__ = ["ReActAnswer", "ReActFormat"]

_NEEDED: Final = frozenset({"tools", "input", "agent_scratchpad"})
_KNOWN: Final = _NEEDED | {"tool_names", "chat_history", "format", "action", "answer", "begin"}


@dataclass(frozen=True, slots=True)
class ReActAnswer:
    """A reply in text as a message of the conversation.

    Attributes:
        message: to be stored. Its content is the thought, if it has calls, else the answer; a reply that could not be
            read is as it came.
        code: why it could not be read; None: it was.
        feedback: tells the model what to do then.
    """

    message: AIMessage
    code: Code | None = None
    feedback: str | None = None


@dataclass(frozen=True)
class ReActFormat:
    """How a model that cannot call tools natively is asked to call them in its text, and how its replies are read.

    It is configuration: any number of runs may share one.

    Args:
        language: of instructions, labels and feedback. Replies are read in both.
        template: of the prompt, with ``{name}`` for variables, as LangChain's: ``tools``, ``input`` (the question) and
            ``agent_scratchpad`` (what was done since) are needed; ``tool_names``, ``chat_history`` (what was said
            before), ``format`` (the instructions), ``action`` and ``answer`` (the examples in them alone) and ``begin``
            (the invitation to think) may be there. Default: that of the language. The last call, without tools,
            always has hocket's own.

    Raises:
        InvalidInput: the language is unknown; the template cannot be read, lacks a variable, or has one that is unknown.

    Examples:
        >>> reply = ReActFormat().parse("Thought: look it up\\nAction: search\\nAction Input: Volga")
        >>> reply.calls
        [{'tool': 'search', 'input': 'Volga'}]
    """

    language: Language = "en"
    template: str | None = None

    def __post_init__(self) -> None:
        """Check the arguments."""
        if self.language not in LANGUAGES:
            raise InvalidInput(f"language is {self.language!r}; it must be one of {', '.join(LANGUAGES)}")
        if self.template is None:
            return
        variables = set(compile_template(self.template, "f-string").variables)
        if missing := sorted(_NEEDED - variables):
            raise InvalidInput(f"the template lacks {', '.join(f'{{{name}}}' for name in missing)}")
        if unknown := sorted(variables - _KNOWN):
            raise InvalidInput(
                f"the template has the unknown variables {', '.join(unknown)}; known are {', '.join(sorted(_KNOWN))}"
            )

    @property
    def stop(self) -> tuple[str, ...]:
        """The words at which the model should stop: what follows is the tool's to say."""
        return self._words.stop

    @property
    def _words(self) -> Words:
        return LANGUAGES[self.language]

    # -- what is sent

    def render(self, messages: Sequence[BaseMessage], tools: Sequence[BaseTool]) -> list[BaseMessage]:
        """Return what is sent to the model: its system messages, and one message with all the rest.

        Args:
            messages: of the conversation, in native form. What follows the last question is the run: results belong to
                their calls by id. A human message named ``format_feedback`` is no question: it says what was
                wrong with the reply before.
            tools: that may be called. Without any, only the answer is asked for.

        Raises:
            InvalidInput: a tool has a name that means something else in text, such as "finish".
        """
        _check_names(tools)
        heads = next((i for i, one in enumerate(messages) if not isinstance(one, SystemMessage)), len(messages))
        rest = messages[heads:]
        place = find_question(rest)
        question = None if place is None else cast(HumanMessage, rest[place])
        earlier = write_turns(rest[:place] if place is not None else [], self._words, tools)
        exchanges = write_turns(rest if place is None else rest[place + 1 :], self._words, tools)
        text = self._fill(earlier, question.text if question else "", exchanges, tools)
        return [*messages[:heads], HumanMessage(_join_blocks(text, question))]

    def _fill(self, earlier: str, question: str, exchanges: str, tools: Sequence[BaseTool]) -> str:
        words = self._words
        action, answer = write_example(words, tools)
        template = (self.template or words.template) if tools else words.last_template
        history = f"{words.earlier}\n{earlier}\n\n" if earlier else ""
        has_history = "chat_history" in compile_template(template, "f-string").variables
        values = {
            "tools": describe_tools(words, tools),
            "tool_names": ", ".join(tool.name for tool in tools),
            "format": words.format.format(action=action, answer=answer) if tools else answer,
            "action": action,
            "answer": answer,
            "chat_history": history,
            "input": question if has_history else history + question,
            "agent_scratchpad": f"{exchanges}\n\n" if exchanges else "",
            "begin": words.begin,
        }
        return render(template, "f-string", values)

    # -- what comes back

    def parse(self, text: str) -> ReActReply:
        """Return what a reply asks for. It never raises, and takes time in proportion to the text."""
        return read_text_reply(text).reply

    def read(self, reply: AIMessage, tools: Sequence[BaseTool]) -> ReActAnswer:
        """Return a reply as a message of the conversation, with its calls in native form.

        The calls have new ids. A JSON object is a call's arguments as it is; a text becomes the first argument of the
        tool, typed by its schema; arguments in call syntax go by their names, or in order. Usage, id, metadata and
        reasoning of the reply are kept. A reply that has native calls is returned as it is.

        Args:
            tools: that may be called. Without any, a reply without labels is the answer, and calls are left out.
        """
        message = cast(AIMessage, message_chunk_to_message(reply))
        if message.tool_calls or message.invalid_tool_calls:
            return ReActAnswer(message)
        reading = read_text_reply(message.text)
        if not tools:
            return ReActAnswer(_replace_text(message, _find_last_answer(reading, message.text)))
        if reading.reply.kind == "finish" and reading.reply.output:
            return ReActAnswer(_replace_text(message, reading.reply.output))
        fault = next((fault for call in reading.calls if (fault := find_cut_json(call, tools))), None)
        code = "invalid_json" if fault else "empty" if reading.reply.kind == "finish" else reading.reply.code
        if code:
            feedback = self._words.feedback[code].replace("{detail}", fault or reading.reply.detail)
            return ReActAnswer(message, code, feedback)
        calls = [make_tool_call(call, tools) for call in reading.calls]
        changes: dict[str, object] = {"tool_calls": calls}
        if names := find_written_names(calls, reading.calls):
            changes["response_metadata"] = {**message.response_metadata, WRITTEN_NAMES: names}
        return ReActAnswer(_replace_text(message, reading.reply.thought, **changes))

    def stream_filter(self) -> FinalAnswerFilter:
        """Return what shows, of one reply that comes in pieces, the final answer alone."""
        return FinalAnswerFilter()

    # -- what else the model is told

    def feedback_message(self, answer: ReActAnswer) -> HumanMessage:
        """Return the feedback to a reply that could not be read, as a message that `render` tells from a question."""
        return HumanMessage(answer.feedback or "", name=FEEDBACK_NAME)

    def describe_failure(self, kind: Failure, tool: str, detail: str) -> str:
        """Return what the model is told of a call that failed.

        Args:
            kind: as ``response_metadata["tool_error"]`` of the result says.
            tool: the name that was called.
            detail: what happened, in hocket's own English words; in English they are the text.
        """
        return translate_failure(self._words, kind, tool, detail)

    def summarize_thought(self, tools: Sequence[str]) -> str:
        """Return the text that stands for a long thought, when the conversation has to become shorter.

        Args:
            tools: the names of the tools that were called after it.
        """
        words = self._words
        return words.summary.replace("{name}", ", ".join(tools)) if tools else words.plain_summary


def _check_names(tools: Sequence[BaseTool]) -> None:
    for tool in tools:
        if is_finish(tool.name) or is_none(tool.name):
            raise InvalidInput(
                f"a tool called {tool.name!r} cannot be called in text, where the word says that the run ends, or that "
                "there is no action: give it another name"
            )


def _join_blocks(text: str, question: HumanMessage | None) -> Content:
    """Return the text of the prompt, with the blocks of the question that are no text."""
    if question is None or isinstance(question.content, str):
        return text
    others = [block for block in question.content if isinstance(block, dict) and block.get("type") != "text"]
    return [{"type": "text", "text": text}, *others] if others else text


def _find_last_answer(reading: ReadReply, text: str) -> str:
    reply = reading.reply
    return reply.output if reply.kind == "finish" else reply.thought if reply.kind == "action" else text


def _replace_text(message: AIMessage, text: str, **changes: object) -> AIMessage:
    """Return the message with another text; what else its content holds, such as reasoning, is kept."""
    content: Content = text
    if not isinstance(message.content, str):
        others = [one for one in message.content if isinstance(one, dict) and not _is_text(one)]
        content = [*others, *([{"type": "text", "text": text}] if text else [])] if others else text
    return message.model_copy(update={"content": content, **changes})


def _is_text(block: Fields) -> bool:
    from hocket.messages.formats import text_of_content

    return block.get("type") == "text" or bool(text_of_content([block]))
