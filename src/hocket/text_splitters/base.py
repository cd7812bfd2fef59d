"""What all splitters do: documents in, pieces of them out, each with a copy of what was known about the whole."""

import copy
from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, Callable, Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from functools import partial
from typing import Any, Protocol, Self, TypedDict

from hocket._runtime.stream import Sink, Stream
from hocket._runtime.thread_stream import from_thread
from hocket.documents import BaseDocumentTransformer, Document
from hocket.errors import InvalidInput
from hocket.errors.hints import bridge_hint, explain_arguments
from hocket.text_splitters.parts import KeepSeparator, LengthFunction
from hocket.tokens import Encoding, count_tokens, encoding_name_for_model, get_encoding
from hocket.tokens.counting import CountsTokens

__all__ = ["CountsText", "SplitterOptions", "TextSplitter", "find_encoding_of", "require_text"]

_FLAT = (str, int, float, bool, bytes, type(None))
"""Types that need not be copied, for they cannot change."""


class SplitterOptions(TypedDict, total=False):
    """What every splitter takes; see `TextSplitter`."""

    chunk_size: int
    chunk_overlap: int
    length_function: LengthFunction
    add_start_index: bool
    strip_whitespace: bool


class CountsText(Protocol):
    """What counts the tokens of a text, such as an `Encoding` or a `Tokenizer`."""

    @property
    def count(self) -> LengthFunction: ...


class TextSplitter(BaseDocumentTransformer, ABC):
    """Splits texts, and documents, into pieces. A subclass defines `split_text`.

    Args:
        chunk_size: how long a piece is at most, at least 1.
        chunk_overlap: how much of a piece, at most, the next one repeats: at least 0, and less than ``chunk_size``.
        length_function: how long a text is: in characters, unless another function says so.
        keep_separator: whether what pieces are split at stays, at the "start" (as if True) or the "end" of a part.
        add_start_index: whether a piece knows where it begins: ``text[start:start + len(piece)] == piece``, where
            ``start`` is its ``metadata["start_index"]``.
        strip_whitespace: whether pieces are without white space around them.

    Raises:
        InvalidInput: one of them is out of its range, or of another type.
    """

    @explain_arguments(chunk="chunk_size", overlap="chunk_overlap", size="chunk_size")
    def __init__(
        self,
        chunk_size: int = 4000,
        chunk_overlap: int = 200,
        length_function: LengthFunction = len,
        keep_separator: KeepSeparator = False,
        add_start_index: bool = False,
        strip_whitespace: bool = True,
    ) -> None:
        _check_sizes(chunk_size, chunk_overlap)
        if not callable(length_function):
            raise InvalidInput(f"length_function={length_function!r} is no function from a text to its length")
        if keep_separator not in (True, False, "start", "end"):
            raise InvalidInput(f"keep_separator={keep_separator!r} is none of True, False, 'start' and 'end'")
        self._chunk_size: int = chunk_size
        self._chunk_overlap: int = chunk_overlap
        self._length_function: LengthFunction = length_function
        self._keep_separator: KeepSeparator = keep_separator
        self._add_start_index: bool = add_start_index
        self._strip_whitespace: bool = strip_whitespace

    @classmethod
    def from_tokenizer(cls, tokenizer: str | CountsTokens | CountsText, **options: Any) -> Self:
        """Return a splitter that measures in tokens.

        Args:
            tokenizer: a model, or its name; or what has a method ``count``, such as an `Encoding` or a `Tokenizer`. For
                models whose tokenizer is not known the count is a guess: see `hocket.tokens`.
            options: what else the splitter takes.

        Raises:
            InvalidInput: it counts no tokens, or an option is out of its range.
        """
        if isinstance(tokenizer, str | CountsTokens):
            return cls(length_function=partial(count_tokens, tokenizer), **options)
        if not callable(getattr(tokenizer, "count", None)):
            raise InvalidInput(
                f"{type(tokenizer).__name__} is neither a model nor a name, nor has it a method count; for another"
                " tokenizer write length_function=lambda text: len(tokenizer.encode(text))"
            )
        return cls(length_function=tokenizer.count, **options)

    @classmethod
    def from_tiktoken_encoder(
        cls, encoding_name: str = "cl100k_base", model_name: str | None = None, **options: Any
    ) -> Self:
        """Return a splitter that measures in tokens of OpenAI's.

        Args:
            encoding_name: the encoding.
            model_name: a model, whose encoding is taken instead.
            options: what else the splitter takes.

        Raises:
            InvalidInput: there is no such encoding, or none is known for the model.
            MissingDependency: its tables are not on this machine.
        """
        return cls(length_function=find_encoding_of(encoding_name, model_name).count, **options)

    @abstractmethod
    def split_text(self, text: str) -> list[str]:
        """Return the pieces of a text, in order."""

    def _locate(self, text: str) -> Iterator[tuple[int, str]]:
        """Split a text into pieces, each with its place; -1: the piece is not in the text.

        What a custom splitter returns is searched for, from the place of the piece before.
        """
        at = -1
        for piece in self.split_text(text):
            place = -1
            if self._add_start_index:
                place = text.find(piece, at + 1)
                if place < 0:
                    place = text.find(piece)
                at = max(at, place)
            yield place, piece

    def create_documents(
        self, texts: Iterable[str], metadatas: Sequence[Mapping[str, Any]] | None = None
    ) -> list[Document]:
        """Return the pieces of some texts as documents.

        Args:
            texts: the texts.
            metadatas: what is known about each; every piece of a text gets a copy.

        Raises:
            InvalidInput: there are more or fewer ``metadatas`` than texts, or something else than a text.
        """
        if isinstance(texts, str):
            raise InvalidInput("create_documents takes a list of texts, and was given one text; write [text]")
        texts = list(texts)
        if metadatas and len(metadatas) != len(texts):
            raise InvalidInput(f"{len(metadatas)} metadatas for {len(texts)} texts; give one for each, or none")
        nothing: Mapping[str, Any] = {}
        facts = metadatas or [nothing] * len(texts)
        return [piece for text, known in zip(texts, facts, strict=True) for piece in self._split(text, known)]

    def split_documents(self, documents: Iterable[Document]) -> list[Document]:
        """Return the pieces of some documents, in order: see `lazy_split_documents`."""
        return list(self.lazy_split_documents(documents))

    def lazy_split_documents(self, documents: Iterable[Document]) -> Generator[Document, None, None]:
        """Split documents one after another, as they are asked for.

        A piece has a copy of its document's metadata, and neither id nor score. An iterator of documents, such as a
        loader's, is closed at the end, and where the pieces are left.

        Raises:
            InvalidInput: one of them is no document.
        """
        try:
            for document in documents:
                yield from self._split_document(document)
        finally:
            close = getattr(documents, "close", None)
            if close is not None and isinstance(documents, Iterator):
                close()

    def alazy_split_documents(self, documents: Iterable[Document] | AsyncIterable[Document]) -> Stream[Document]:
        """Return a stream of the pieces of some documents, which need never be in memory together.

        Long documents, and all that come from a sync iterable, are split in a worker thread. Leaving the stream closes an
        iterator of documents, such as a loader's stream.

        Raises:
            InvalidInput: one of them is no document; raised where the stream is read.
        """
        return Stream(partial(self._produce, documents))

    async def _produce(self, documents: Iterable[Document] | AsyncIterable[Document], sink: Sink[Document]) -> None:
        if not isinstance(documents, AsyncIterable):
            return await from_thread(partial(self._put_pieces, documents), sink.put)
        try:
            async for document in documents:
                if self._is_quick(_check_document(document).page_content):
                    for piece in self.lazy_split_documents([document]):  # a subclass may have its own
                        if (room := sink.put(piece)) is not None:
                            await room
                else:
                    await from_thread(partial(self._put_pieces, [document]), sink.put)
        finally:
            if (aclose := getattr(documents, "aclose", None)) is not None:
                await aclose()

    def _is_quick(self, text: str) -> bool:
        """Whether a text is split sooner than a thread answers; what a custom splitter does is not known."""
        return False

    def _put_pieces(self, documents: Iterable[Document], put: Callable[[Document], bool]) -> None:
        """Hand the pieces of documents over, until nobody listens any more."""
        with closing(self.lazy_split_documents(documents)) as pieces:
            for piece in pieces:
                if put(piece):
                    return

    def transform_documents(self, documents: Sequence[Document], **kwargs: object) -> Sequence[Document]:
        """Return the pieces of some documents: `split_documents`, under the name that all transformers share."""
        return self.split_documents(documents)

    def _split_document(self, document: Document) -> Iterator[Document]:
        _check_document(document)
        return self._split(document.page_content, document.metadata)

    def _split(self, text: str, metadata: Mapping[str, Any]) -> Iterator[Document]:
        require_text(text)
        is_flat = all(type(fact) in _FLAT for fact in metadata.values())
        for start, piece in self._locate(text):
            facts = dict(metadata) if is_flat else copy.deepcopy(dict(metadata))
            if self._add_start_index and start >= 0:
                facts["start_index"] = start
            yield Document(page_content=piece, metadata=facts)


def find_encoding_of(encoding_name: str, model_name: str | None) -> Encoding:
    """Return the encoding of a model of OpenAI's, or if none is named, the one of this name."""
    if model_name is None:
        return get_encoding(encoding_name)
    known = encoding_name_for_model(model_name)
    if known is None:
        raise InvalidInput(f"no encoding is known for the model {model_name!r}; give encoding_name=... instead")
    return get_encoding(known)


def require_text(text: object) -> None:
    """Refuse what is no text.

    Raises:
        InvalidInput: it is none.
    """
    if not isinstance(text, str):
        raise InvalidInput(f"{text!r:.80} is no text, but {type(text).__name__}")


def _check_document(document: object) -> Document:
    if not isinstance(document, Document):
        hint = bridge_hint(document) or "; texts are split by create_documents or split_text"
        raise InvalidInput(f"{document!r:.80} is no Document{hint}")
    return document


def _check_sizes(size: int, overlap: int) -> None:
    for name, number in (("chunk_size", size), ("chunk_overlap", overlap)):
        if type(number) is not int:
            raise InvalidInput(f"{name}={number!r} is no whole number")
    if size < 1:
        raise InvalidInput(f"chunk_size={size}: a piece needs room for a character; it must be at least 1")
    if overlap < 0:
        raise InvalidInput(f"chunk_overlap={overlap}: it must be at least 0")
    if overlap >= size:
        raise InvalidInput(
            f"chunk_overlap={overlap} is not less than chunk_size={size}, so that no piece would go on;"
            " give a smaller chunk_overlap (it is 200 by default), or a larger chunk_size"
        )
