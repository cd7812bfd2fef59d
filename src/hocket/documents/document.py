"""A piece of text that knows where it comes from."""

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from pydantic import ConfigDict

from hocket.documents.blob import BaseMedia
from hocket.load.serializable import StorableData

__all__ = ["Document"]


class Document(BaseMedia, StorableData):
    """A piece of text, and what is known about it.

    Args:
        page_content: the text. It may be given without its name: ``Document("Bleed the boiler in May.")``.
        metadata: facts about it. Loaders set ``source``, and ``page``, ``row`` or ``title``; splitters ``start_index``.
            Stores keep what JSON can say.
        id: its name in a store; a store gives one to a document that has none.
        score: how well it answers the search that found it, greater is better; None outside of a search. It is no part of
            the document: two that differ in nothing else are equal.

    Raises:
        ValidationError: of pydantic: a field is of another type, or there is none of that name.
    """

    model_config: ClassVar[ConfigDict] = ConfigDict(extra="forbid")

    page_content: str
    score: float | None = None
    type: Literal["Document"] = "Document"

    if TYPE_CHECKING:  # checkers see the first field without its name, too

        def __init__(
            self,
            page_content: str,
            *,
            metadata: dict[str, Any] = ...,
            id: str | None = ...,
            score: float | None = ...,
            type: Literal["Document"] = ...,
        ) -> None: ...

    else:

        def __init__(self, page_content: object = ..., /, **fields: object) -> None:
            if page_content is not ...:
                fields["page_content"] = page_content
            super().__init__(**fields)

    @classmethod
    def is_lc_serializable(cls) -> bool:
        """Documents travel as data."""
        return True

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Document):
            return NotImplemented
        return (self.page_content, self.metadata, self.id, type(self)) == (
            other.page_content,
            other.metadata,
            other.id,
            type(other),
        )

    __hash__ = None  # type: ignore[assignment]  # its metadata may change

    def __repr_args__(self) -> Iterable[tuple[str | None, Any]]:
        return [(name, value) for name, value in super().__repr_args__() if name != "type" and value is not None]

    def __str__(self) -> str:
        """Return text and metadata, and no id: what LangChain prints, and old prompts are made of."""
        shown = f"page_content={self.page_content!r}"
        return f"{shown} metadata={self.metadata!r}" if self.metadata else shown
