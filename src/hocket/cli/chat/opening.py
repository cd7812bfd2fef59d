"""From the command line to a session: which talk is gone on with, where this one is kept, and who answers it."""

import argparse
from typing import cast

from hocket.chat_history import BaseChatMessageHistory, InMemoryChatMessageHistory
from hocket.cli.chat.session import Kept, Model, Session, View
from hocket.cli.chat.talks import Talk, TalkSettings, find_last_talk, start_talk
from hocket.cli.choice import OpenModel, choose_model, open_first_model
from hocket.cli.history import open_kept_history
from hocket.cli.model_options import read_model_options
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
    if arguments.schema is not None and arguments.tool:
        raise InvalidInput("--schema and --tool do not go together: tools answer in text; give one of them")


def open_session(arguments: argparse.Namespace) -> Session:
    """Return the session that the command line describes.

    Raises:
        InvalidInput: an option is wrong, or there is no talk to go on with.
        HocketError: the model cannot be used, or the history cannot be read or written.
    """
    talk, settings = _find_talk(arguments)
    choose = _Chooser(arguments, settings)
    label, model = choose.first()
    history = _open_history(arguments, talk)
    kept = talk if arguments.is_kept else None
    view = View(
        reasoning=arguments.reasoning,
        stats=arguments.stats,
        debug=arguments.debug,
        as_json=arguments.json,
        is_object=arguments.schema is not None,
    )
    conversation = Conversation(model, history=history, system=settings.system)
    return Session(conversation, label, choose, view, Kept(kept, settings), arguments.attach)


def _find_talk(arguments: argparse.Namespace) -> tuple[Talk | None, TalkSettings]:
    """Return the talk that this is a part of, None if it is of none; and who is to be asked."""
    asked = TalkSettings(arguments.model, arguments.base_url, arguments.system)
    if not arguments.goes_on:
        is_talk = arguments.is_kept and arguments.history is None
        return start_talk() if is_talk else None, asked
    talk = find_last_talk()
    before = talk.settings
    is_elsewhere = asked.model is not None or asked.base_url is not None
    return talk, TalkSettings(
        asked.model if is_elsewhere else before.model,
        asked.base_url if is_elsewhere else before.base_url,
        before.system if asked.system is None else asked.system,
    )


def _open_history(arguments: argparse.Namespace, talk: Talk | None) -> BaseChatMessageHistory:
    """Return where the conversation is read from, and, unless it is not to be kept, written to."""
    if talk is None:
        return open_kept_history(arguments.history, arguments.session)
    if arguments.session is not None:
        raise InvalidInput("--session names a conversation in a history: say which one, with --history")
    history = talk.history
    messages = history.messages  # a damaged file is told before anything is asked
    return history if arguments.is_kept else InMemoryChatMessageHistory(messages)


class _Chooser:
    """Opens models by their names, and has them answer as the command line says."""

    def __init__(self, arguments: argparse.Namespace, settings: TalkSettings) -> None:
        self._settings = settings
        self._options = read_model_options(arguments)
        self._schema = None
        self._tools = cast("list[str]", arguments.tool)
        if arguments.schema is not None:
            from hocket.cli.chat.schemas import parse_schema

            self._schema = parse_schema(arguments.schema)

    def first(self) -> Model:
        """Return the model to begin with."""
        return self._shape(open_first_model(self._settings.model, self._settings.base_url, self._options))

    def __call__(self, name: str) -> Model:
        """Return the model of this name."""
        return self._shape(choose_model(name, self._settings.base_url, self._options))

    def _shape(self, opened: OpenModel) -> Model:
        if self._schema is not None:
            from hocket.cli.chat.schemas import answer_in_schema

            return opened.label, answer_in_schema(opened.model, self._schema)
        if self._tools:
            from hocket.cli.chat.tools import answer_with_tools

            return opened.label, answer_with_tools(opened.model, self._tools)
        return opened.label, opened.model
