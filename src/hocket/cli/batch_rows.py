"""The rows of ``hocket batch``: lines of a file, checked before anything is sent."""

import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from typing import IO, Any, cast

from hocket._json import JSONObject
from hocket.errors import HocketError, InvalidInput
from hocket.language_models import BaseChatModel
from hocket.messages import BaseMessage, MessageLikeRepresentation, SystemMessage, convert_to_messages
from hocket.runnables import Runnable, RunnableLambda

__all__ = ["InputFile"]

_SHOWN = 3  # lines with mistakes that an error names


class InputFile:
    """A file whose lines are rows: JSON texts, ``{"id", "input"}`` or ``{"id", "messages"}``; empty lines are none.

    Args:
        path: of the file; ``-`` is standard input, which is copied to the disk: it is read twice.
        system: instructions that come before each row; None: none.

    Attributes:
        count: rows; known after `check`.
    """

    def __init__(self, path: str, system: str | None) -> None:
        self.path: str = path
        self._name = "standard input" if path == "-" else path
        self._copy: IO[bytes] | None = None
        self.count: int = 0
        self._system = system

    def check(self) -> None:
        """Read the whole file.

        Raises:
            InvalidInput: it cannot be read, or lines are no rows; the first ones are named.
        """
        mistakes: list[str] = []
        for number, line in self._lines():
            try:
                self._read_row(line)
            except (HocketError, ValueError) as error:
                mistakes.append(f"line {number}: {error}")
            self.count += 1
        if mistakes:
            more = f"; and {len(mistakes) - _SHOWN} more" if len(mistakes) > _SHOWN else ""
            raise InvalidInput(f"{self._name}: {'; '.join(mistakes[:_SHOWN])}{more}")
        if not self.count:
            raise InvalidInput(f"{self._name} has no rows")

    def read(self) -> Iterator[dict[str, object]]:
        """Yield the rows: ``id``, and ``messages``."""
        for _, line in self._lines():
            yield self._read_row(line)

    def find_id(self, row: dict[str, object]) -> object:
        """Return a row's own id; None: it has none."""
        return row["id"]

    def prepare(self, model: BaseChatModel, schema: JSONObject | None) -> Runnable[dict[str, object], object]:
        """Return what is asked for each row; with a schema, it answers with data."""
        asked = model if schema is None else model.with_structured_output(cast("dict[str, object]", schema))

        async def ask(row: dict[str, object]) -> object:
            return await asked.ainvoke(cast("list[BaseMessage]", row["messages"]))

        return RunnableLambda(ask)

    def _lines(self) -> Iterator[tuple[int, str]]:
        try:
            with open(self._find(), encoding="utf-8-sig") as file:
                for number, line in enumerate(file, start=1):
                    if line.strip():
                        yield number, line
        except OSError as error:
            raise InvalidInput(f"{self._name} cannot be read: {error.strerror}") from error
        except UnicodeDecodeError as error:
            raise InvalidInput(f"{self._name} cannot be read: {error}") from error

    def _find(self) -> str | int:
        """Return the path of the file; where rows are piped in, a descriptor of their copy, at its beginning."""
        if self.path != "-":
            return self.path
        if self._copy is None:
            self._copy = tempfile.TemporaryFile()  # noqa: SIM115  (as long as the rows are read)
            shutil.copyfileobj(sys.stdin.buffer, self._copy)
            self._copy.flush()
        self._copy.seek(0)
        return os.dup(self._copy.fileno())

    def _read_row(self, line: str) -> dict[str, object]:
        try:
            data: Any = json.loads(line)
        except (ValueError, RecursionError):
            raise InvalidInput('it is no JSON; a text is written in quotes: "like this"') from None
        match data:
            case str(text) if text:
                return {"id": None, "messages": self._begin(text)}
            case {"input": str(text), **more} if text and more.keys() <= {"id"}:
                return {"id": more.get("id"), "messages": self._begin(text)}
            case {"messages": list(), **more} if data["messages"] and more.keys() <= {"id"}:
                return {"id": more.get("id"), "messages": self._begin(data["messages"])}
            case _:
                raise InvalidInput('it is neither a text nor {"id": …, "input": "…"} nor {"id": …, "messages": […]}')

    def _begin(self, asked: str | Sequence[MessageLikeRepresentation]) -> list[BaseMessage]:
        messages = convert_to_messages([asked] if isinstance(asked, str) else asked)
        return messages if self._system is None else [SystemMessage(self._system), *messages]
