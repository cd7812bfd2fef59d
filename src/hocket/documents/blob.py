"""Bytes or text before anybody has read them as documents, from memory or from a file. LangChain's names."""

import io
import mimetypes
import os
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, ClassVar, Self, TypeAlias

from pydantic import ConfigDict, Field, model_validator

from hocket.errors import DocumentError, InvalidInput
from hocket.load.serializable import Serializable

__all__ = ["BaseMedia", "Blob", "FilePath"]

FilePath: TypeAlias = str | os.PathLike[str]
"""The path of a file."""


class BaseMedia(Serializable):
    """What a store may keep: a document, or what one is read from.

    Args:
        id: its name in a store.
        metadata: facts about it.
    """

    id: str | None = Field(default=None, coerce_numbers_to_str=True)
    metadata: dict[str, Any] = Field(default_factory=dict)


class Blob(BaseMedia):
    """Bytes or a text, or the file that holds them, which is read when it is asked for. It cannot be changed.

    Args:
        data: the bytes or the text; None: they are in the file.
        path: of the file; beside data only a name for where they come from.
        mimetype: what they are, such as ``text/html``.
        encoding: of a text.
        id, metadata: see `BaseMedia`. ``metadata["source"]`` says where they come from, if it is not the path.

    Raises:
        ValidationError: of pydantic: there is neither data nor a path, or there is no field of a name.

    Example:
        >>> blob = Blob.from_data("Bleed the boiler in May.", metadata={"source": "rules.txt"})
        >>> blob.source, blob.as_bytes()
        ('rules.txt', b'Bleed the boiler in May.')
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid", frozen=True, arbitrary_types_allowed=True)

    data: bytes | str | None = None
    mimetype: str | None = None
    encoding: str = "utf-8"
    path: FilePath | None = None

    @model_validator(mode="after")
    def _check_place(self) -> Self:
        if self.data is None and self.path is None:
            raise ValueError("a blob has data, or the path of a file")
        return self

    @classmethod
    def from_path(
        cls,
        path: FilePath,
        *,
        encoding: str = "utf-8",
        mime_type: str | None = None,
        guess_type: bool = True,
        metadata: dict[str, Any] | None = None,
    ) -> Self:
        """Return the blob of a file, which is not opened yet.

        Args:
            path: of the file.
            encoding: of its text.
            mime_type: what it is.
            guess_type: tell that by the suffix, if it is not given.
            metadata: facts about it.
        """
        if mime_type is None and guess_type:
            mime_type = mimetypes.guess_type(path)[0]
        return cls(path=path, encoding=encoding, mimetype=mime_type, metadata=metadata or {})

    @classmethod
    def from_data(
        cls,
        data: str | bytes,
        *,
        encoding: str = "utf-8",
        mime_type: str | None = None,
        path: str | None = None,
        metadata: dict[str, Any] | None = None,
    ) -> Self:
        """Return the blob of what is in memory; the arguments are those of the class."""
        return cls(data=data, encoding=encoding, mimetype=mime_type, path=path, metadata=metadata or {})

    @property
    def source(self) -> str | None:
        """Where it comes from: what the metadata say, else the path, else None."""
        if "source" in self.metadata:
            source: str | None = self.metadata["source"]
            return source
        return None if self.path is None else os.fspath(self.path)

    def as_string(self) -> str:
        """Return the text; that of a file with ``\\n`` as the end of each line.

        Raises:
            DocumentError: the file cannot be read, or something is not in the encoding.
        """
        if isinstance(self.data, str):
            return self.data
        data = self.as_bytes()
        try:
            text = data.decode(self.encoding)
        except (UnicodeError, LookupError) as error:
            raise DocumentError(self._name(), f"it is no text in {self.encoding} ({error}); give encoding=") from error
        return text if self.data is not None else text.replace("\r\n", "\n").replace("\r", "\n")

    def as_bytes(self) -> bytes:
        """Return the bytes.

        Raises:
            DocumentError: the file cannot be read.
        """
        if isinstance(self.data, str):
            return self.data.encode(self.encoding)
        if self.data is not None:
            return self.data
        with self.as_bytes_io() as file:
            return file.read()

    @contextmanager
    def as_bytes_io(self) -> Generator[io.BytesIO | io.BufferedReader]:
        """Open the bytes for reading, in a block.

        Raises:
            DocumentError: the file cannot be read.
            InvalidInput: the data is a text.
        """
        if isinstance(self.data, str):
            raise InvalidInput("the blob is a text, not a stream of bytes: use as_bytes() or as_string()")
        if self.data is not None:
            yield io.BytesIO(self.data)
            return
        try:
            file = Path(self._name()).open("rb")  # noqa: SIM115  # below; what the block raises is not of the opening
        except OSError as error:
            raise DocumentError(
                self._name(), f"it cannot be read ({error.strerror or error}); check the path"
            ) from error
        with file:
            yield file

    def _name(self) -> str:
        return "a blob" if self.path is None else os.fspath(self.path)

    def __repr__(self) -> str:
        """Return its address in memory and its source, and nothing of the data."""
        return f"Blob {id(self)}" + (f" {self.source}" if self.source else "")

    __str__ = __repr__
