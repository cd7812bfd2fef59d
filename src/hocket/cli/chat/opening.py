"""From the command line to a session: which talk is gone on with, where this one is kept, and who answers it."""

import argparse
from typing import cast

from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.cli.chat.session import Session, View
from hocket.cli.chat.talks import Talk, TalkSettings, find_last_talk, start_talk
from hocket.cli.choice import OpenModel, choose_model, open_first_model, reopen_model, strip_secrets
from hocket.cli.history import open_kept_history
from hocket.cli.model_options import read_model_options
from hocket.cli.schemas import answer_in_schema, parse_schema
from hocket.conversation import Conversation
from hocket.errors import InvalidInput

__all__ = ["check_options", "open_session"]


def check_options(arguments: argparse.Namespace) -> None:
    """Look whether the options go together.

    Raises:
        InvalidInput: they do not.
    """
    if arguments.goes_on and arguments.history is not None:
        raise InvalidInput("-c goes on with the last talk, and --history with another conversation; give one of them")
    if arguments.schema is not None and (arguments.tools or arguments.functions):
        raise InvalidInput("--schema and --tool do not go together: tools answer in text; give one of them")
    if arguments.extract is not None and (arguments.schema is not None or arguments.json):
        raise InvalidInput("-x takes code out of a text, and --json and --schema print an object; give one of them")


def open_session(arguments: argparse.Namespace) -> Session:
    """Return the session that the command line describes.

    Raises:
        InvalidInput: an option is wrong, or there is no talk to go on with.
        HocketError: the model cannot be used, or the history cannot be read or written.
    """
    before: list[str] = []
    if arguments.fragments:
        from hocket.cli.chat.fragments import read_fragments  # which loads what reads folders

        before = read_fragments(arguments.fragments)
    talk = _find_talk(arguments)
    choose = _Chooser(arguments, talk.settings if arguments.goes_on and talk else TalkSettings())
    model = choose.first()
    system = arguments.system
    if talk is not None:
        system = talk.settings.system if system is None else system
        base_url = choose.base_url and strip_secrets(choose.base_url)
        talk.settings = TalkSettings(model.name, base_url, system, model.address)
    view = View(
        reasoning=arguments.reasoning,
        stats=arguments.stats,
        debug=arguments.debug,
        as_json=arguments.json,
        is_object=arguments.schema is not None,
        code=arguments.extract,
    )
    conversation = Conversation(model.answers, history=_open_history(arguments, talk), system=system)
    return Session(conversation, model.label, choose, view, talk, arguments.attachments, before)


def _find_talk(arguments: argparse.Namespace) -> Talk | None:
    """Return the talk that this is a part of, None if it is of none."""
    if arguments.goes_on:
        return find_last_talk()
    is_talk = arguments.is_kept and arguments.history is None
    return start_talk() if is_talk else None


def _open_history(arguments: argparse.Namespace, talk: Talk | None) -> BaseChatMessageHistory:
    """Return where the conversation is read from, and, unless it is not to be kept, written to."""
    if talk is None or arguments.session is not None:  # a session is refused without a history
        return open_kept_history(arguments.history, arguments.session)
    history = talk.history
    messages = history.messages  # a damaged file is told before anything is asked
    return history if arguments.is_kept else InMemoryChatMessageHistory(messages)


class _Chooser:
    """Opens models by their names, and has them answer as the command line says.

    Args:
        arguments: of the command line.
        before: who was asked in the talk that goes on.

    Attributes:
        base_url: the server that the command line names, or named when the talk began.
    """

    def __init__(self, arguments: argparse.Namespace, before: TalkSettings) -> None:
        self._arguments = arguments
        self._before = before
        self._options = read_model_options(arguments)
        self._schema = None
        self._tools = cast("list[str]", arguments.tools)
        self._functions = cast("list[str]", arguments.functions)
        self.base_url: str | None = arguments.base_url or before.base_url
        if arguments.schema is not None:
            self._schema = parse_schema(arguments.schema)

    def first(self) -> OpenModel:
        """Return the model to begin with."""
        name: str | None = self._arguments.model
        before = self._before
        if self._arguments.base_url is None and before.model is not None:
            if name is not None:
                return self(name)
            return self._shape(reopen_model(before.model, before.address, self._options))
        return self._shape(open_first_model(name, self.base_url, self._options))

    def __call__(self, name: str) -> OpenModel:
        """Return the model of this name."""
        before = (self._before.model, self._before.address)
        return self._shape(choose_model(name, self.base_url, self._options, before))

    def _shape(self, opened: OpenModel) -> OpenModel:
        if self._schema is not None:
            return opened._replace(answers=answer_in_schema(opened.model, self._schema))
        if self._tools or self._functions:
            from hocket.cli.chat.tools import answer_with_tools

            return opened._replace(answers=answer_with_tools(opened.model, self._tools, self._functions))
        return opened
