"""The conversation at a terminal: questions, commands and answers until Ctrl-D.

Answers go to standard output, and everything else to standard error, so that a session's output can be kept.
"""

import sys
from collections.abc import Callable
from typing import Any

from hocket.cli.conversation import Answer, ask, undo
from hocket.cli.exits import note, report
from hocket.cli.terminal import Printer, line_editing, read_question, whole
from hocket.conversation import Conversation
from hocket.language_models import BaseChatModel

__all__ = ["Session"]

HELP = '''/model NAME   ask another model from here on; without NAME, say which one is asked
/system TEXT  put instructions before the conversation; without TEXT, none
/clear        forget the conversation
/undo         forget the last question and its answer
/exit         end; so does Ctrl-D
Ctrl-C stops an answer. A line that ends with \\ goes on in the next; """ begins and ends a text of several lines.
A line that begins with a space is never a command.'''


class Session:
    """A conversation, its commands, and how it is shown.

    Args:
        conversation: what is said.
        name: the model's, as it was given.
        open_model: makes the model of a name.
        reasoning: whether reasoning is shown; None: on a terminal.
        stats: whether tokens and times are told after each answer.
        debug: whether errors are told with their traceback.
    """

    def __init__(
        self,
        conversation: Conversation,
        name: str,
        open_model: Callable[[str], BaseChatModel],
        *,
        reasoning: bool | None = None,
        stats: bool = False,
        debug: bool = False,
    ) -> None:
        self._conversation = conversation
        self._name = name
        self._open_model = open_model
        self._reasoning = reasoning
        self._stats = stats
        self._debug = debug
        self._commands: dict[str, Callable[[str], str]] = {
            "/help": lambda _: HELP,
            "/model": self._choose_model,
            "/system": self._set_system,
            "/clear": self._clear,
            "/undo": self._undo,
        }

    def answer(self, question: str) -> Answer:
        """Ask, and print the answer as it comes.

        Raises:
            Exception: what the model raises.
        """
        printer = Printer(sys.stdout, reasoning=self._reasoning)
        try:
            answer = ask(self._conversation, question, printer.show)
        finally:
            printer.end()
        if self._stats:
            note(answer.stats)
        if answer.message.response_metadata.get("finish_reason") == "length":
            note("the answer was cut short by the token limit; --max-tokens raises it")
        return answer

    def run(self) -> None:
        """Read questions and commands until the end of input. What goes wrong is told, and the conversation goes on.

        Raises:
            KeyboardInterrupt: Ctrl-C, twice, with nothing typed.
        """
        asks = sys.stdout.isatty()
        if asks:
            said = len(self._conversation.history.messages)
            before = f", and knows the {said} messages from before" if said else ""
            note(f"{self._name} is listening{before}; /help says what else there is")
        with line_editing() as editor:
            is_leaving = False
            while True:
                try:
                    entry = read_question(lambda prompt: input(prompt if asks else ""))
                except EOFError:
                    print(file=sys.stderr)
                    return
                except KeyboardInterrupt:
                    if is_leaving and not _typed(editor):
                        raise
                    print("\nhocket: Ctrl-C again, or Ctrl-D, ends", file=sys.stderr)
                    is_leaving = True
                    continue
                is_leaving = False
                if entry.strip() in ("/exit", "/quit"):
                    return
                self._take(whole(entry))

    def _take(self, entry: str) -> None:
        """Answer a question or obey a command, whatever happens."""
        try:
            if entry.startswith("/"):
                self._obey(entry)
            elif entry.strip() and self.answer(entry).interrupted:
                note("stopped")
        except KeyboardInterrupt:
            note("stopped")
        except BrokenPipeError:
            raise
        except Exception as error:
            report(error, debug=self._debug)

    def _obey(self, entry: str) -> None:
        name, _, argument = entry.strip().partition(" ")
        command = self._commands.get(name)
        if command is None:
            note(f"there is no command {name}; /help lists them, and a space before it makes it a question")
        else:
            print(command(argument.strip()), file=sys.stderr)

    def _choose_model(self, name: str) -> str:
        if name:
            self._conversation.model = self._open_model(name)
            self._name = name
        return f"{self._name} is asked"

    def _set_system(self, text: str) -> str:
        self._conversation.system = text or None
        return "the instructions are set" if text else "there are no instructions"

    def _clear(self, _: str) -> str:
        self._conversation.history.clear()
        return "the conversation is forgotten"

    def _undo(self, _: str) -> str:
        return "the last question is forgotten" if undo(self._conversation) else "there is no question to forget"


def _typed(editor: Any) -> str:
    """Return what stands in the line that Ctrl-C abandoned."""
    return editor.get_line_buffer() if editor is not None else ""
