"""What `ReActFormat` says, in each of its languages: labels, instructions, and what the model is told when it went wrong."""

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, get_args

from hocket._runtime.data_files import read_data_file
from hocket.agents.react.forms import Code

__all__ = ["LANGUAGES", "Failure", "Language", "Words", "translate_sentences"]

Language = Literal["en", "zh"]
"""The languages that the format is spoken in: English and Chinese."""

Failure = Literal[
    "unknown_tool",
    "invalid_arguments",
    "retry",
    "timeout",
    "cancelled",
    "stopped",
    "failed",
    "limit",
    "rejected",
    "undecided",
    "unknown_outcome",
]
"""How a call of a tool failed, or why it was not made: the words of `arun_tool_calls`, and those of agents, in
``response_metadata["tool_error"]``."""


@dataclass(frozen=True, slots=True)
class Words:
    """The texts of one language.

    Attributes:
        question, thought, action, action_input, observation, final: labels, with their colons. Without a label for the
            input of an action, a call is written as ``name(input)``.
        stop: what a model that stops at words has to stop at.
        template: of the prompt.
        last_template: of the prompt when no tools may be called any more.
        format: of a reply; ``{action}`` and ``{answer}`` are examples.
        example_thought, example_final_thought, example_answer: what the examples say.
        earlier: stands above what was said before the question.
        begin: the invitation to think.
        parameters, no_parameters, optional, separator: of the list of tools.
        feedback: by the code of an error.
        failures: what a model is told of calls that failed; those that are not there are told in hocket's words.
        sentences: what hocket says in English, as patterns, in this language.
        summary, plain_summary: stand for a long thought before a call, and for one before none.
    """

    question: str
    thought: str
    action: str
    observation: str
    final: str
    stop: tuple[str, ...]
    template: str
    last_template: str
    format: str
    example_thought: str
    example_final_thought: str
    example_answer: str
    earlier: str
    begin: str
    parameters: str
    no_parameters: str
    optional: str
    separator: str
    feedback: Mapping[Code, str]
    summary: str
    plain_summary: str
    action_input: str | None = None
    failures: Mapping[str, str] = field(default_factory=dict[str, str])
    sentences: Mapping[str, str] = field(default_factory=dict[str, str])


_STOP: Final = ("\nObservation", "\n观察")


def _read_words(language: Language) -> Words:
    return Words(stop=_STOP, **tomllib.loads(read_data_file("hocket.agents.react", f"{language}.toml")))


LANGUAGES: Final[Mapping[Language, Words]] = {language: _read_words(language) for language in get_args(Language)}
"""The words of the format, by language: those of ``en.toml`` and ``zh.toml``."""


def translate_sentences(text: str, sentences: Mapping[str, str]) -> str:
    """Return a text with the sentences that are known in another language."""
    for english, other in sentences.items():
        text = re.sub(english, other, text)
    return text
