"""One word, or the match of a pattern, in an answer."""

import re
from typing import ClassVar, Self

from pydantic import model_validator

from hocket.errors import OutputParserException
from hocket.errors.hints import excerpt
from hocket.output_parsers.base import BaseOutputParser
from hocket.output_parsers.list import Regex

__all__ = ["BooleanOutputParser", "RegexDictParser", "RegexParser"]


class BooleanOutputParser(BaseOutputParser[bool]):
    """Returns whether an answer says yes: it has to contain one of two words, in any case, and not the other.

    Args:
        true_val: the word for True; for "YES" stands "TRUE", too.
        false_val: the word for False; for "NO" stands "FALSE", too.
    """

    true_val: str = "YES"
    false_val: str = "NO"
    _type_name: ClassVar[str] = "boolean_output_parser"

    def parse(self, text: str) -> bool:
        """Return whether ``text`` says yes."""
        says_yes, says_no = (
            any(_has_word(text, one) for one in (word, *_SYNONYMS.get(word, ())))
            for word in (self.true_val, self.false_val)
        )
        if says_yes == says_no:
            found = "both" if says_yes else "neither"
            raise OutputParserException(
                f"the answer must say {self.true_val} or {self.false_val}, and says {found}: {excerpt(text, 200)}",
                llm_output=text,
            )
        return says_yes

    def get_format_instructions(self) -> str:
        """Return words that ask for one of the two."""
        return f"Answer with {self.true_val} or {self.false_val}, and with nothing else."


_SYNONYMS = {"YES": ("TRUE",), "NO": ("FALSE",)}


def _has_word(text: str, word: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text, re.IGNORECASE) is not None


class RegexParser(BaseOutputParser[dict[str, str]]):
    """Returns what the groups of a pattern find in an answer.

    Args:
        regex: the pattern; its first match counts.
        output_keys: a name for each of its groups, in their order.
        default_output_key: where there is no match, the whole answer goes under this name, and "" under the others.
            None: such an answer is an error.
    """

    regex: Regex
    output_keys: list[str]
    default_output_key: str | None = None
    _type_name: ClassVar[str] = "regex_parser"

    @model_validator(mode="after")
    def _count_groups(self) -> Self:
        groups = re.compile(self.regex).groups
        if groups < len(self.output_keys):
            raise ValueError(f"{self.regex!r} has {groups} groups, and output_keys names {len(self.output_keys)}")
        return self

    def parse(self, text: str) -> dict[str, str]:
        """Return the groups of the first match, by name; a group that took no part is ""."""
        match = re.search(self.regex, text)
        if match is not None:
            return {key: match[index] or "" for index, key in enumerate(self.output_keys, 1)}
        if self.default_output_key is None:
            raise OutputParserException(
                f"the answer does not match {self.regex!r}: {excerpt(text, 200)}", llm_output=text
            )
        return {key: text if key == self.default_output_key else "" for key in self.output_keys}

    def get_format_instructions(self) -> str:
        """Return words that ask for a match."""
        return f"Your answer must match this regular expression: {self.regex}"


class RegexDictParser(BaseOutputParser[dict[str, str]]):
    """Returns what stands behind labels (``Action: search``) in an answer.

    Args:
        regex_pattern: what finds a value; ``{}`` stands for the label.
        output_key_to_format: the label of each name. It must occur once.
        no_update_value: a value that counts as none: its name is left out.
    """

    regex_pattern: Regex = r"{}:\s?([^.'\n]*)\.?"
    output_key_to_format: dict[str, str]
    no_update_value: str | None = None
    _type_name: ClassVar[str] = "regex_dict_parser"

    def parse(self, text: str) -> dict[str, str]:
        """Return the values behind the labels, by name."""
        found: dict[str, str] = {}
        for key, label in self.output_key_to_format.items():
            values = [match[1] for match in re.finditer(self.regex_pattern.replace("{}", re.escape(label)), text)]
            if len(values) != 1:
                message = f"the answer must have {label!r} once, and has it {len(values)} times: {excerpt(text, 200)}"
                raise OutputParserException(message, llm_output=text)
            if values[0] != self.no_update_value:
                found[key] = values[0]
        return found

    def get_format_instructions(self) -> str:
        """Return words that ask for the labels."""
        lines = [f"{label}: <{key}>" for key, label in self.output_key_to_format.items()]
        return "\n".join(["Answer in these lines, and with nothing else:", *lines])
