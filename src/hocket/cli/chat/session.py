"""The conversation at a terminal: questions, commands and answers until Ctrl-D.

Answers go to standard output, and everything else to standard error, so that a session's output can be kept.
"""

import json
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Self

from hocket.cli.chat.answering import Outcome, ask_and_show, undo
from hocket.cli.chat.attachments import attach_files, read_attachment
from hocket.cli.chat.talks import Talk
from hocket.cli.choice import OpenModel
from hocket.cli.code_blocks import Which, show_code
from hocket.cli.exits import report
from hocket.cli.output import find_size, note, print_lines, wrap_line
from hocket.cli.printer import Printer, read_reasoning
from hocket.cli.standard_input import replace_undecodable
from hocket.cli.terminal import edit_lines, read_lines
from hocket.conversation import Conversation
from hocket.messages import UsageMetadata

__all__ = ["Session", "View"]

_HELP = '''/model NAME   ask another model from here on; without NAME, say which one is asked
/system TEXT  put instructions before the conversation; without TEXT, none
/attach FILE  attach a file to the next question
/clear        forget the conversation
/undo         forget the last question and its answer
/exit         end; so does Ctrl-D
Ctrl-C stops an answer. A line that ends with \\ goes on in the next; """ begins and ends a text of several lines.
A line that begins with a space is never a command.'''


@dataclass(frozen=True)
class View:
    """How answers are shown.

    Attributes:
        reasoning: whether reasoning is shown; None: on a terminal.
        stats: whether tokens and times are told after each answer.
        debug: whether errors are told with their traceback.
        as_json: whether an answer is one JSON object, at its end.
        is_object: whether the answer's text is an object, in JSON.
        code: which block of code of an answer is shown alone; None: it is shown as a whole.
    """

    reasoning: bool | None = None
    stats: bool = False
    debug: bool = False
    as_json: bool = False
    is_object: bool = False
    code: Which | None = None


class Session:
    """A conversation, its commands, and how it is shown.

    Args:
        conversation: what is said.
        label: what the model is called on the screen.
        choose_model: opens the model of a name.
        view: how answers are shown.
        talk: what the conversation is kept as; None: it is none.
        attached: files for the first question.
        before: texts that come before it.
    """

    def __init__(
        self,
        conversation: Conversation,
        label: str,
        choose_model: Callable[[str], OpenModel],
        view: View,
        talk: Talk | None,
        attached: Sequence[str] = (),
        before: Sequence[str] = (),
    ) -> None:
        self._conversation = conversation
        self._label = label
        self._choose_model = choose_model
        self._view = view
        self._talk = talk
        self._attached = [*attached]
        self._before = [*before]
        self._commands: dict[str, Callable[[str], str]] = {
            "/help": _lay_out_help,
            "/model": self._set_model,
            "/system": self._set_system,
            "/attach": self._attach,
            "/clear": self._clear,
            "/undo": self._undo,
        }

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exc: object) -> None:
        self._conversation.history.close()

    def answer(self, question: str) -> Outcome:
        """Ask, and print the answer as it comes.

        Raises:
            Exception: what the model raises.
        """
        asked = attach_files(question, self._attached, self._before)
        if self._view.as_json:
            answer = ask_and_show(self._conversation, asked, lambda _: None)
            print_lines([self._write_json(answer)])
        else:
            view = self._view
            is_prose = not view.is_object and view.code is None
            reasoning = view.reasoning if view.code is None else False
            with (
                Printer(sys.stdout, reasoning=reasoning, is_prose=is_prose) as printer,
                show_code(printer.show, view.code) as show,
            ):
                answer = ask_and_show(self._conversation, asked, show)
        self._attached.clear()
        self._before.clear()
        if self._view.stats:
            note(answer.stats)
        if answer.message.response_metadata.get("finish_reason") == "length":
            note("the answer was cut short by the token limit; --max-tokens raises it")
        return answer

    def _write_json(self, answer: Outcome) -> str:
        """Return an answer as a line of JSON, with escapes, so that no character of it is lost."""
        message = answer.message
        usage: UsageMetadata | None = message.usage_metadata
        shown = {
            "model": self._label,
            "answer": json.loads(message.text) if self._view.is_object and not answer.is_interrupted else message.text,
            "reasoning": read_reasoning(message) or None,
            "finish_reason": message.response_metadata.get("finish_reason"),
            "usage": usage,
            "seconds": round(answer.seconds, 3),
        }
        return json.dumps(shown)

    def run(self) -> None:
        """Read questions and commands until the end of input. What goes wrong is told, and the conversation goes on.

        Raises:
            KeyboardInterrupt: Ctrl-C, twice, with nothing typed.
        """
        has_prompt = sys.stdout.isatty()
        if has_prompt:
            count = len(self._conversation.history.messages)
            before = f", and knows the {count} messages from before" if count else ""
            note(f"{self._label} is listening{before}; /help lists the commands, Ctrl-D ends")
        with edit_lines() as find_typed:
            is_leaving = False
            while True:
                try:
                    entry = read_lines(lambda prompt: input(prompt if has_prompt else ""))
                except EOFError:
                    print_lines([""], is_answer=False)  # the shell's prompt begins a line
                    return
                except KeyboardInterrupt:
                    if is_leaving and not find_typed():
                        raise
                    print_lines([""], is_answer=False)
                    note("Ctrl-C again, or Ctrl-D, ends")
                    is_leaving = True
                    continue
                is_leaving = False
                if entry.strip() in ("/exit", "/quit"):
                    return
                self._take(replace_undecodable(entry))

    def _take(self, entry: str) -> None:
        """Answer a question or obey a command, whatever happens."""
        try:
            if entry.startswith("/"):
                self._obey(entry)
            elif entry.strip() and self.answer(entry).is_interrupted:
                note("stopped")
        except KeyboardInterrupt:
            note("stopped")
        except BrokenPipeError:
            raise
        except Exception as error:
            report(error, debug=self._view.debug)

    def _obey(self, entry: str) -> None:
        name, _, argument = entry.strip().partition(" ")
        command = self._commands.get(name)
        if command is None:
            note(f"there is no command {name}; /help lists them, and a space before it makes it a question")
        else:
            print_lines([command(argument.strip())], is_answer=False)

    def _set_model(self, name: str) -> str:
        if name:
            model = self._choose_model(name)
            self._label, self._conversation.model = model.label, model.answers
            if self._talk is not None:
                self._talk.settings = replace(self._talk.settings, model=model.name, address=model.address)
        return f"{self._label} is asked"

    def _set_system(self, text: str) -> str:
        self._conversation.system = text or None
        if self._talk is not None:
            self._talk.settings = replace(self._talk.settings, system=text or None)
        return "the instructions are set" if text else "there are no instructions"

    def _attach(self, name: str) -> str:
        if not name:
            self._attached.clear()
            return "nothing is attached"
        read_attachment(name)  # what cannot be read is told now
        self._attached.append(name)
        return f"to the next question is attached: {', '.join(self._attached)}"

    def _clear(self, _: str) -> str:
        self._conversation.history.clear()
        return "the conversation is forgotten"

    def _undo(self, _: str) -> str:
        return "the last question is forgotten" if undo(self._conversation) else "there is no question to forget"


def _lay_out_help(_: str) -> str:
    columns = find_size(sys.stderr).columns
    lines = ((line, _HELP.index("ask") if line.startswith("/") else 0) for line in _HELP.splitlines())
    return "\n".join(row for line, indent in lines for row in wrap_line(line, columns, indent))
