"""Which examples go into a prompt."""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar, Self

from pydantic import ConfigDict, Field, model_validator

from hocket._runtime.definitions import Twins
from hocket._runtime.mode import ASYNC
from hocket.load.serializable import Serializable
from hocket.prompts.message import StringPromptTemplate

__all__ = ["BaseExampleSelector", "LengthBasedExampleSelector"]


class BaseExampleSelector(Twins, ABC):
    """Chooses examples for the values of a call. Under an event loop, a sync selector runs in a worker thread."""

    @abstractmethod
    def add_example(self, example: dict[str, str]) -> Any:
        """Add an example to choose from."""

    async def aadd_example(self, example: dict[str, str]) -> Any:
        """Do as `add_example`, under an event loop."""
        return await ASYNC.call_sync(self.add_example, example)

    @abstractmethod
    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """Return the examples for the values of a call."""

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """Do as `select_examples`, under an event loop."""
        return await ASYNC.call_sync(self.select_examples, input_variables)


def _count_words(text: str) -> int:
    return len(re.split(r"[\n ]", text))


class LengthBasedExampleSelector(Serializable, BaseExampleSelector):
    """Chooses the first examples, as many as fit beside the values of the call.

    Args:
        examples: in the order of their worth.
        example_prompt: what an example looks like in the prompt.
        get_text_length: measures a text; words, unless given.
        max_length: of the examples and the values together.
        example_text_lengths: of each example; measured, unless given.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    examples: list[dict[str, Any]]
    example_prompt: StringPromptTemplate
    get_text_length: Callable[[str], int] = _count_words
    max_length: int = 2048
    example_text_lengths: list[int] = Field(default_factory=list[int])

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Examples travel as data."""
        return True

    @model_validator(mode="after")
    def _measure(self) -> Self:
        for example in self.examples[len(self.example_text_lengths) :]:
            self.example_text_lengths.append(self._length(example))
        return self

    def _length(self, example: dict[str, Any]) -> int:
        return self.get_text_length(self.example_prompt.format(**example))

    def add_example(self, example: dict[str, str]) -> None:
        """Add an example at the end."""
        self.example_text_lengths.append(self._length(example))
        self.examples.append(example)

    async def aadd_example(self, example: dict[str, str]) -> None:
        """Add an example at the end; no thread is needed."""
        self.add_example(example)

    def select_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """Return the first examples, as many as fit."""
        left = self.max_length - self.get_text_length(" ".join(map(str, input_variables.values())))
        chosen: list[dict[str, Any]] = []
        for example, length in zip(self.examples, self.example_text_lengths, strict=True):
            left -= length
            if left < 0:
                break
            chosen.append(example)
        return chosen

    async def aselect_examples(self, input_variables: dict[str, str]) -> list[dict[str, Any]]:
        """Return the first examples, as many as fit; no thread is needed."""
        return self.select_examples(input_variables)
